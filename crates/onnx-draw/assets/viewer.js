// Generated from web/src by `npm run build` in web.
"use strict";
(() => {
  // src/dom.ts
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.filter((child) => child !== void 0));
    return made;
  }
  function button(text2, onClick, attributes = {}) {
    const made = element("button", { type: "button", ...attributes }, text2);
    made.addEventListener("click", onClick);
    return made;
  }
  function picks(input, take) {
    input.addEventListener("change", () => {
      const files = [...input.files ?? []];
      input.value = "";
      if (files.length > 0) take(files);
    });
  }
  var LONG = 16;
  function breakable(text2) {
    if (text2.length < LONG) return document.createTextNode(text2);
    const made = document.createDocumentFragment();
    for (const part of text2.split(/(?<=[/._*+,)×])/)) made.append(part, element("wbr"));
    return made;
  }
  function table(rows, head, numbers = [], most = Infinity) {
    const kind = (index) => numbers.includes(index) ? { class: "number" } : {};
    const made = element("table");
    const body = element("tbody");
    const show = (rows2) => {
      for (const row of rows2) {
        body.append(element("tr", {}, ...row.map((cell, index) => element("td", kind(index), typeof cell === "string" ? breakable(cell) : cell))));
      }
    };
    show(rows.slice(0, most));
    let rest = rows.slice(most);
    const foot = element("tfoot");
    const complete = () => {
      foot.remove();
      show(rest);
      rest = [];
    };
    if (head) {
      const cells = head.map((text2, index) => {
        const cell = element("th", { scope: "col", ...kind(index) });
        const sorted = () => {
          complete();
          sort(body, cell, index, numbers.includes(index));
        };
        cell.append(button(text2, sorted, { class: "sort" }));
        return cell;
      });
      made.append(element("thead", {}, element("tr", {}, ...cells)));
    }
    made.append(body);
    if (rest.length > 0) {
      foot.append(element("tr", {}, element("td", { colspan: String(rows[0]?.length ?? 1) }, button(`Show ${rest.length} more`, complete, { class: "more" }))));
      made.append(foot);
    }
    return made;
  }
  function sort(body, head, column, isNumber) {
    const first = isNumber ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? isNumber ? "ascending" : "descending" : first;
    for (const other of head.parentElement?.children ?? []) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const text2 = (row) => row.children[column]?.textContent ?? "";
    const number = (row) => {
      const found = /^-?[\d.]+(e[+-]?\d+)?/i.exec(text2(row).replace(/[\s\u202f]/g, ""));
      return found ? Number(found[0]) : -Infinity;
    };
    const compare = isNumber ? (a, b) => number(a) - number(b) : (a, b) => text2(a).localeCompare(text2(b), "en", { numeric: true });
    const sign = order === "ascending" ? 1 : -1;
    body.append(...[...body.children].sort((a, b) => sign * compare(a, b)));
  }
  function download(name, contents2, type) {
    const url = URL.createObjectURL(new Blob([contents2], { type }));
    element("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 6e4);
  }

  // src/zip.ts
  var MOST_DIRECTORY = 256e6;
  var DEFLATED = 8;
  var DAMAGED = "the zip archive is damaged";
  var [ELSEWHERE, ELSEWHERE_COUNT] = [4294967295, 65535];
  var wide = (view, at) => Number(view.getBigUint64(at, true));
  async function directoryOf(file) {
    const tail = new DataView(await file.slice(Math.max(0, file.size - 65557)).arrayBuffer());
    let at = tail.byteLength - 22;
    while (at >= 0 && tail.getUint32(at, true) !== 101010256) at -= 1;
    if (at < 0) throw new Error("this is not a zip archive, or it is damaged");
    const found = { count: tail.getUint16(at + 10, true), length: tail.getUint32(at + 12, true), start: tail.getUint32(at + 16, true) };
    const isWide = found.count === ELSEWHERE_COUNT || found.length === ELSEWHERE || found.start === ELSEWHERE;
    if (!isWide || at < 20 || tail.getUint32(at - 20, true) !== 117853008) return found;
    const place2 = wide(tail, at - 12);
    const end = new DataView(await file.slice(place2, place2 + 56).arrayBuffer());
    if (end.byteLength < 56 || end.getUint32(0, true) !== 101075792) throw new Error(DAMAGED);
    return { count: wide(end, 32), length: wide(end, 40), start: wide(end, 48) };
  }
  function widened(numbers, view, from, to) {
    if (!numbers.includes(ELSEWHERE)) return numbers;
    for (let at = from; at + 4 <= to; ) {
      const [kind, length] = [view.getUint16(at, true), view.getUint16(at + 2, true)];
      const end = at + 4 + length;
      if (kind === 1 && end <= to) {
        let next = at + 4;
        return numbers.map((number) => {
          if (number !== ELSEWHERE) return number;
          if (next + 8 > end) throw new Error(DAMAGED);
          next += 8;
          return wide(view, next - 8);
        });
      }
      at = end;
    }
    return numbers;
  }
  async function archived(file, folder, most) {
    const { count, length, start: start2 } = await directoryOf(file);
    if (length > MOST_DIRECTORY) throw new Error(DAMAGED);
    if (count > most) throw new Error(`the archive has ${count} files, more than the ${most} that are read: unpack it, and drop the model with its external data`);
    const directory = new DataView(await file.slice(start2, start2 + length).arrayBuffer());
    const decoder = new TextDecoder();
    const sources = [];
    let entry = 0;
    for (let index = 0; index < count; index += 1) {
      if (entry + 46 > directory.byteLength || directory.getUint32(entry, true) !== 33639248) throw new Error(DAMAGED);
      const [flags, method] = [directory.getUint16(entry + 8, true), directory.getUint16(entry + 10, true)];
      const crc = directory.getUint32(entry + 16, true);
      const [name, extra, comment] = [directory.getUint16(entry + 28, true), directory.getUint16(entry + 30, true), directory.getUint16(entry + 32, true)];
      const fields = entry + 46 + name;
      if (fields + extra > directory.byteLength) throw new Error(DAMAGED);
      const numbers = [24, 20, 42].map((at) => directory.getUint32(entry + at, true));
      const [size, packed, offset] = widened(numbers, directory, fields, fields + extra);
      const path = decoder.decode(new Uint8Array(directory.buffer, entry + 46, name));
      entry += 46 + name + extra + comment;
      if (path.endsWith("/") || path.startsWith("__MACOSX/")) continue;
      sources.push({ path: folder + path, size, file, entry: { offset, packed, method, crc, isEncrypted: (flags & 1) === 1 } });
    }
    return sources;
  }
  var GZIP = new Uint8Array([31, 139, DEFLATED, 0, 0, 0, 0, 0, 0, 255]);

  // src/files.ts
  var MODEL = /\.(onnx|onnxtxt|ort|pb|textproto|pbtxt|prototxt|json)$/i;
  var MOST_FILES = 2e4;
  function models(sources) {
    const found = sources.filter((source) => MODEL.test(source.path));
    const onnx = found.filter((source) => /\.onnx(txt)?$/i.test(source.path));
    return onnx.length > 0 ? onnx : found.length > 0 ? found : sources.length === 1 ? sources : [];
  }
  function beside(model, sources) {
    const folder = model.path.slice(0, model.path.lastIndexOf("/") + 1);
    const data = /* @__PURE__ */ new Map();
    for (const source of sources) {
      if (source !== model && source.size > 0 && source.path.startsWith(folder)) data.set(source.path.slice(folder.length), source);
    }
    return { name: model.path.slice(folder.length), model, data };
  }
  function ofFile(file, path) {
    return { path, size: file.size, file };
  }
  async function chosen(files) {
    const sources = [];
    for (const file of files) await add(sources, file, file.webkitRelativePath || file.name);
    return sources;
  }
  async function dropped(transfer) {
    const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? void 0);
    const files = [...transfer.files];
    const sources = [];
    if (entries.every((entry) => entry === void 0)) return chosen(files);
    for (const entry of entries) if (entry) await walk(sources, entry, "");
    return sources;
  }
  async function walk(sources, entry, folder) {
    const path = folder + entry.name;
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      await add(sources, file, path);
      return;
    }
    const reader = entry.createReader();
    for (; ; ) {
      const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (batch.length === 0) break;
      for (const inner2 of batch) await walk(sources, inner2, `${path}/`);
    }
  }
  async function add(sources, file, path) {
    const found = /\.zip$/i.test(path) ? await archived(file, path.replace(/\.zip$/i, "/"), MOST_FILES) : [ofFile(file, path)];
    for (const source of found) sources.push(source);
    if (sources.length > MOST_FILES) throw new Error(`there are more than ${MOST_FILES} files: drop the model and its external data only`);
  }

  // src/drop.ts
  function droppable(take) {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files") ?? false;
    const isField = (event) => event.target instanceof HTMLInputElement && event.target.type !== "file";
    const mark = (isOver) => document.body.classList.toggle("over", isOver);
    window.addEventListener("dragover", (event) => {
      if (!hasFiles(event) && isField(event)) return;
      event.preventDefault();
      mark(hasFiles(event));
    });
    window.addEventListener("dragleave", (event) => {
      if (event.relatedTarget === null) mark(false);
    });
    window.addEventListener("drop", (event) => {
      mark(false);
      if (!hasFiles(event) && isField(event)) return;
      event.preventDefault();
      const transfer = event.dataTransfer;
      if (!transfer || !hasFiles(event)) return;
      const sources = dropped(transfer);
      sources.catch(() => void 0);
      take(() => sources);
    });
  }

  // src/engine.ts
  var Cancelled = class extends Error {
  };
  var Restored = class extends Cancelled {
    /** What is said when that has succeeded. */
    outcome;
    constructor(reason, outcome) {
      super(reason);
      this.outcome = outcome;
    }
  };

  // src/workers.ts
  var Thread = class {
    worker;
    waiting = /* @__PURE__ */ new Map();
    lost;
    next = 0;
    /** How far the work on what was asked is. */
    progress = {};
    ended;
    /** `lost` makes the error of what the worker was asked when it lost its session. */
    constructor(url, module, lost) {
      this.lost = lost;
      this.worker = new Worker(url);
      this.worker.onmessage = ({ data }) => {
        if (data.progress) {
          const [task, done, total] = data.progress;
          this.progress[task] = [done, total];
          return;
        }
        if (data.isLost) {
          this.fail(data.error ?? "");
          return;
        }
        const entry = this.waiting.get(data.id);
        this.waiting.delete(data.id);
        if (data.error === void 0) entry?.resolve(data.value);
        else entry?.reject(new Error(data.error));
      };
      this.worker.onerror = (event) => {
        event.preventDefault();
        this.fail(event.message || "the worker ended");
      };
      this.ask("module", module).catch(() => void 0);
    }
    ask(kind, value) {
      return new Promise((resolve, reject) => {
        if (this.ended) {
          reject(this.ended);
          return;
        }
        this.next += 1;
        if (this.waiting.size === 0) this.progress = {};
        this.waiting.set(this.next, { resolve, reject });
        this.worker.postMessage({ id: this.next, kind, value });
      });
    }
    get isBusy() {
      return this.waiting.size > 0;
    }
    end(reason) {
      this.worker.terminate();
      this.ended ??= reason;
      for (const entry of this.waiting.values()) entry.reject(reason);
      this.waiting.clear();
    }
    fail(reason) {
      if (!this.ended) this.end(this.lost(reason));
    }
  };
  async function load(url) {
    const asked = async (name) => {
      const response = await fetch(new URL(name, location.href)).catch(() => {
        throw new Error(`${name} could not be loaded: is the network or the server gone?`);
      });
      if (!response.ok) throw new Error(`${name} could not be loaded: status ${response.status}`);
      return response;
    };
    const [script, library] = await Promise.all([asked(url), asked("onnx.wasm")]);
    const isTyped = library.headers.get("content-type")?.startsWith("application/wasm");
    const module = isTyped ? WebAssembly.compileStreaming(library) : WebAssembly.compile(await library.arrayBuffer());
    return { script: URL.createObjectURL(new Blob([await script.text()], { type: "text/javascript" })), module: await module };
  }
  var MOST_SAVED = 5e8;
  function kept(files, blobs) {
    const next = ({ path, size, file }) => ({ path, size, file: blobs.shift() ?? file });
    const model = next(files.model);
    return { name: files.name, model, data: new Map([...files.data].map(([path, source]) => [path, next(source)])) };
  }
  var Workers = class {
    url;
    loading;
    parts;
    /** Ends opening. */
    stop;
    active;
    /** What the session of `active` comes from: files, and the requests that changed the model. */
    files;
    changes = [];
    /** The model with its changes, if they depend on files that may be changed by others. */
    saved;
    /** Ends when the session is what it was before. */
    restoring = Promise.resolve();
    constructor(url) {
      this.url = url;
      this.load().catch(() => void 0);
    }
    load() {
      this.loading ??= load(this.url);
      this.loading.catch(() => {
        this.loading = void 0;
      });
      return this.loading;
    }
    thread({ script, module }) {
      const made = new Thread(script, module, (reason) => made === this.active ? this.restore(reason) : new Error(reason));
      return made;
    }
    async open(model, older) {
      let made;
      let isStopped = false;
      const stopped = new Promise((_, reject) => {
        this.stop = reject;
      });
      const opened = async () => {
        this.parts = await this.load();
        if (isStopped) throw new Error("cancelled");
        made = this.thread(this.parts);
        return [made, await made.ask("open", { model, older })];
      };
      try {
        const [thread, blobs] = await Promise.race([opened(), stopped]);
        this.active?.end(new Error("another model is open"));
        [this.active, this.files] = [thread, { model: kept(model, blobs), older: older && kept(older, blobs) }];
        [this.changes, this.saved] = [[], void 0];
      } catch (error) {
        isStopped = true;
        made?.end(new Error("the model was not opened"));
        throw error;
      } finally {
        this.stop = void 0;
      }
    }
    async older(older) {
      const blobs = await this.ask("older", older);
      if (this.files) this.files.older = kept(older, blobs);
    }
    async call(request) {
      const text2 = JSON.stringify(request);
      const answer = await this.ask("call", text2);
      const found = JSON.parse(answer);
      const name = request.call;
      const isUndo = name === "undo" && found.ok !== void 0;
      const isChange = (found.ok?.edits?.length ?? 0) > 0;
      if (isUndo) this.changes.pop();
      else if (isChange) this.changes.push({ text: text2, answer });
      if (name === "single" && this.files) this.files.older = void 0;
      if (isUndo || isChange) await this.keep();
      return found;
    }
    /** Keeps the model as it is now if its changes may depend on external data, which is read where it is needed. */
    async keep() {
      this.saved = void 0;
      const { model } = this.files ?? {};
      if (this.changes.length === 0 || !model || model.data.size === 0 || model.model.size > MOST_SAVED) return;
      const bytes = await this.save().catch(() => void 0);
      if (bytes) this.saved = new Blob([bytes]);
    }
    async save() {
      return await this.ask("save", null);
    }
    progress() {
      return Promise.resolve({ ...this.active?.progress });
    }
    cancel() {
      if (this.stop) this.stop(new Error("cancelled"));
      else if (this.active?.isBusy) this.active.end(this.restore("cancelled"));
    }
    async ask(kind, value) {
      await this.restoring;
      if (!this.active) throw new Error("no model is open");
      return this.active.ask(kind, value);
    }
    /** Opens the same files in another worker, and makes the same changes. What is asked meanwhile waits for that. */
    restore(reason) {
      const { parts, files, changes: changes2, saved } = this;
      if (!parts || !files) return new Error(reason);
      const made = this.thread(parts);
      this.active = made;
      const outcome = this.opened(made, files, changes2, saved).then(
        (again) => `${reason}: ${again}`,
        (error) => {
          const why = error instanceof Error ? error.message : String(error);
          if (made !== this.active) throw error;
          const lost = new Error(`${reason}, and the model cannot be opened again as it was: ${why}. Open it again; what is shown stays`);
          made.end(lost);
          throw lost;
        }
      );
      outcome.catch(() => void 0);
      this.restoring = outcome;
      return new Restored(reason, outcome);
    }
    /** Makes a worker have the session. Returns what is said about it. */
    async opened(made, files, changes2, saved) {
      try {
        await made.ask("open", files);
        for (const { text: text2, answer } of changes2) {
          if (await made.ask("call", text2) !== answer) throw new Error("the same changes have another result, because a file was changed");
        }
        return "the model is as it was before";
      } catch (error) {
        if (!saved || made !== this.active) throw error;
        const { name, path } = { name: files.model.name, path: files.model.model.path };
        const model = { name: name.replace(/\.\w+$/, ".onnx"), model: { path, size: saved.size, file: saved }, data: files.model.data };
        await made.ask("open", { model });
        [this.files, this.changes, this.saved] = [{ model }, [], void 0];
        return "the model has its changes, which cannot be undone any more, because a file was changed";
      }
    }
  };

  // src/engines.ts
  var MOST_HITS = 500;
  function embedded(element2) {
    const data = JSON.parse(element2.textContent ?? "");
    const { levels, parents, nodes } = data.scene;
    return {
      overview: () => Promise.resolve({
        title: data.title,
        coloring: data.coloring,
        parents,
        facts: [["nodes", String(nodes.length)]],
        undo: 0
      }),
      level(id) {
        const level = levels[id];
        return level ? Promise.resolve(level) : Promise.reject(new Error(`no level ${id}`));
      },
      search(text2) {
        const word = text2.toLowerCase();
        const hits = [];
        let count = 0;
        for (const [name, op, level, item] of nodes) {
          if (!name.toLowerCase().includes(word) && !op.toLowerCase().includes(word)) continue;
          count += 1;
          if (hits.length < MOST_HITS) hits.push({ label: name ? `${op}  ${name}` : op, level, item });
        }
        return Promise.resolve({ count, hits });
      }
    };
  }
  function session(transport) {
    const call = async (request) => {
      const answer = await transport.call(request);
      if (answer.error?.startsWith("cancelled")) throw new Cancelled(answer.error);
      if (answer.error !== void 0) throw new Error(answer.error);
      return answer.ok;
    };
    const engine = {
      overview: (side = 0) => call({ call: "overview", side }),
      level: (id, side = 0) => call({ call: "level", id, side }),
      levels: (ids, labels, side = 0) => call({ call: "levels", ids, labels, side }),
      search: (text2, side = 0) => call({ call: "search", text: text2, side }),
      path: (from, to, side = 0) => call({ call: "path", from, to, side }),
      model: (side = 0) => call({ call: "model", side }),
      details: (level, item, side = 0, folded) => call({ call: "details", level, item, side, folded }),
      weight: (level, item, input, side = 0, folded) => call({ call: "weight", level, item, input, side, folded }),
      findings: (side = 0) => call({ call: "findings", side }),
      repair: () => call({ call: "repair" }),
      cost: (sizes, side = 0) => call({ call: "cost", sizes, side }),
      simplify: (prove = false) => call({ call: "simplify", prove }),
      versions: () => call({ call: "versions" }),
      convert: (version) => call({ call: "convert", version }),
      extract: (level, item) => call({ call: "extract", level, item }),
      undo: () => call({ call: "undo" }),
      text: (level, item, side = 0) => call({ call: "text", level, item, side }),
      run: (sizes, seed) => call({ call: "run", sizes, seed }),
      compare: () => call({ call: "compare" }),
      before: () => call({ call: "before" }),
      single: () => call({ call: "single" }),
      counterpart: (level, item, from) => call({ call: "counterpart", level, item, from }),
      picture: (open, color, side = 0) => call({ call: "picture", open, color, side }),
      save: () => transport.save()
    };
    if (transport.open) engine.open = (model, older) => transport.open?.(model, older) ?? Promise.resolve();
    if (transport.older) engine.older = (older) => transport.older?.(older) ?? Promise.resolve();
    if (transport.cancel) engine.cancel = () => transport.cancel?.();
    if (transport.progress) engine.progress = () => transport.progress?.() ?? Promise.resolve({});
    return engine;
  }
  var TAB = "onnx-view-tab";
  var AGAIN = 1e3;
  function remote(base, waits) {
    const ask = async (path, options = {}) => {
      let response;
      try {
        response = await fetch(`${base}${path}`, options);
      } catch {
        throw new Error("`onnx view` does not answer: it was ended. Start it again with the same files, and open the address that it prints; changes that were not saved are lost");
      }
      if (response.ok) return response;
      if (response.status === 503 && path === "open") {
        waits((await response.text()).trim());
        await new Promise((done) => setTimeout(done, AGAIN));
        return ask(path, options);
      }
      const reason = (await response.text().catch(() => "")).trim();
      throw new Error(reason && reason !== String(response.status) ? reason : `\`onnx view\` refused the request with status ${response.status}: reload the page`);
    };
    const open = async () => {
      const name = await (await ask("open", { method: "POST", body: sessionStorage.getItem(TAB) ?? "" })).text();
      waits(void 0);
      sessionStorage.setItem(TAB, name);
      window.addEventListener("pagehide", () => navigator.sendBeacon(`${base}${name}/bye`));
      return name;
    };
    const tab = open();
    tab.catch(() => void 0);
    return session({
      call: async (request) => (await ask(`${await tab}/call`, { method: "POST", body: JSON.stringify(request) })).json(),
      save: async () => new Uint8Array(await (await ask(`${await tab}/model`)).arrayBuffer()),
      cancel: () => void tab.then((name) => ask(`${name}/cancel`, { method: "POST" })).catch(() => void 0),
      progress: async () => await (await ask(`${await tab}/progress`, { method: "POST" })).json()
    });
  }
  function worker(url) {
    return session(new Workers(url));
  }

  // src/compose.ts
  var TITLE = 24;
  var PADDING = 12;
  var STUB = 14;
  var LABEL = 14;
  function* composed(root2, levels, open) {
    const level = levels.get(root2);
    const picture = { w: 0, h: 0, boxes: [], lines: [] };
    if (!level) return picture;
    const placed = yield* place(root2, level, "", levels, open, 0);
    picture.w = placed.w;
    picture.h = placed.h;
    yield* emit(placed, "", 0, 0, 0, picture);
    return picture;
  }
  var inner = (path, index) => path ? `${path}/${index}` : String(index);
  function* place(id, level, path, levels, open, depth) {
    yield;
    const width = level.items.map((item) => item.w);
    const height = level.items.map((item) => item.h);
    const children = /* @__PURE__ */ new Map();
    for (const [index, item] of level.items.entries()) {
      const inside = item.in === void 0 ? void 0 : levels.get(item.in);
      if (!inside || item.in === void 0 || depth > 60 || !open.has(inner(path, index))) continue;
      const child = yield* place(item.in, inside, inner(path, index), levels, open, depth + 1);
      children.set(index, child);
      width[index] = Math.max(item.w, child.w + 2 * PADDING);
      height[index] = child.h + TITLE + 2 * PADDING;
    }
    const wider = /* @__PURE__ */ new Map();
    const higher = level.bands.map(() => 0);
    for (const index of children.keys()) {
      const item = level.items[index];
      const band = level.bands[item.r] ?? [0, 0];
      const rank = wider.get(item.r) ?? [];
      rank.push({ left: item.x, right: item.x + item.w, more: (width[index] ?? 0) - item.w });
      wider.set(item.r, rank);
      higher[item.r] = Math.max(higher[item.r] ?? 0, item.y + (height[index] ?? 0) - band[1]);
    }
    const shift = (rank, x2) => {
      let sum = 0;
      for (const { left: left2, right: right2, more } of wider.get(rank) ?? []) {
        const part = right2 > left2 ? Math.min(Math.max((x2 - left2) / (right2 - left2), 0), 1) : 0.5;
        sum += (part - 0.5) * more;
      }
      return sum;
    };
    const tops = [];
    const bottoms = [];
    let down = 0;
    level.bands.forEach(([top, bottom], rank) => {
      tops.push(top + down);
      down += Math.max(higher[rank] ?? 0, 0);
      bottoms.push(bottom + down);
    });
    const shiftOf = level.items.map((item) => shift(item.r, item.x + item.w / 2));
    const x = level.items.map((item, index) => item.x + item.w / 2 + (shiftOf[index] ?? 0) - (width[index] ?? 0) / 2);
    const y = level.items.map((item) => item.y - (level.bands[item.r]?.[0] ?? 0) + (tops[item.r] ?? 0));
    let left = 0;
    let right = level.w;
    x.forEach((value, index) => {
      left = Math.min(left, value);
      right = Math.max(right, value + (width[index] ?? 0));
    });
    for (const edge of level.edges) {
      for (const [rank, at] of edge.via ?? []) {
        left = Math.min(left, at + shift(rank, at));
        right = Math.max(right, at + shift(rank, at));
      }
    }
    return {
      w: right - left,
      h: level.h + down,
      x: x.map((value) => value - left),
      y,
      width,
      height,
      children,
      level,
      id,
      tops,
      bottoms,
      moved: (rank, at) => at + shift(rank, at) - left,
      shiftOf: shiftOf.map((value) => value - left)
    };
  }
  function* emit(placed, path, left, top, depth, picture) {
    yield;
    for (const [index, item] of placed.level.items.entries()) {
      const x = left + (placed.x[index] ?? 0);
      const y = top + (placed.y[index] ?? 0);
      const [w, h] = [placed.width[index] ?? 0, placed.height[index] ?? 0];
      const child = placed.children.get(index);
      const own = inner(path, index);
      picture.boxes.push({ item, level: placed.id, index, path: own, depth, x, y, w, h, isOpen: child !== void 0 });
      if (child) yield* emit(child, own, x + (w - child.w) / 2, y + TITLE + PADDING, depth + 1, picture);
    }
    const begin = (edge) => `${edge.f} ${edge.a}`;
    const labeled = new Set(placed.level.edges.filter((edge) => edge.label !== void 0).map(begin));
    for (const edge of placed.level.edges) emitEdge(placed, edge, labeled.has(begin(edge)), path, left, top, picture.lines);
  }
  function emitEdge(placed, edge, isLabeled, path, left, top, lines) {
    const at = (x, y) => [left + x, top + y];
    const start2 = edge.a + (placed.shiftOf[edge.f] ?? 0);
    const end = edge.b + (placed.shiftOf[edge.t] ?? 0);
    const startY = (placed.y[edge.f] ?? 0) + (placed.height[edge.f] ?? 0);
    const below = startY + (isLabeled ? LABEL : 0);
    const endY = placed.y[edge.t] ?? 0;
    const target = placed.level.items[edge.t];
    const hasArrow = target?.k !== "arriving" && target?.k !== "leaving";
    const [from, to] = [inner(path, edge.f), inner(path, edge.t)];
    const line = (points, isDashed, hasArrow2, label) => {
      lines.push({ points, isDashed, hasArrow: hasArrow2, from, to, ...label === void 0 ? {} : { label } });
    };
    if (edge.cut || edge.back) {
      line([...at(start2, below), ...at(start2, below + STUB)], true, false, edge.label);
      line([...at(end, endY - STUB), ...at(end, endY)], true, hasArrow);
    } else {
      const rank = placed.level.items[edge.f]?.r ?? 0;
      const points = [...at(start2, below), ...at(start2, Math.max((placed.bottoms[rank] ?? 0) + 2, below))];
      for (const [rank2, x] of edge.via ?? []) {
        const moved = placed.moved(rank2, x);
        points.push(...at(moved, placed.tops[rank2] ?? 0), ...at(moved, placed.bottoms[rank2] ?? 0));
      }
      points.push(...at(end, endY));
      line(points, false, hasArrow, edge.label);
    }
    for (const [index, isStart, x, y] of [
      [edge.f, true, start2, startY],
      [edge.t, false, end, endY]
    ]) {
      const child = placed.children.get(index);
      if (!child) continue;
      const originX = (placed.x[index] ?? 0) + ((placed.width[index] ?? 0) - child.w) / 2;
      const originY = (placed.y[index] ?? 0) + TITLE + PADDING;
      const done = /* @__PURE__ */ new Set();
      for (const value of edge.v) {
        const port = child.level.items.findIndex(
          (item) => (isStart ? item.k === "leaving" || item.k === "output" : item.k === "arriving" || item.k === "input") && item.v?.includes(value)
        );
        if (port < 0 || done.has(port)) continue;
        done.add(port);
        const px = originX + (child.x[port] ?? 0) + (child.width[port] ?? 0) / 2;
        const py = originY + (child.y[port] ?? 0) + (isStart ? child.height[port] ?? 0 : 0);
        line(isStart ? [...at(px, py), ...at(x, y)] : [...at(x, y), ...at(px, py)], false, false);
      }
    }
  }

  // src/slices.ts
  var SLICE = 40;
  async function sliced(work) {
    let end = performance.now() + SLICE;
    for (; ; ) {
      const next = work.next();
      if (next.done) return next.value;
      if (performance.now() < end) continue;
      await new Promise((done) => setTimeout(done));
      end = performance.now() + SLICE;
    }
  }

  // src/canvas.ts
  var ROW = 400;
  var STEP = 1e3;
  var MOST_ROWS = 64;
  var MOST_PIXELS = 16e3;
  var MOST_AREA = 1e8;
  var EDGE = 6;
  var MARGIN = 16;
  var OVERHANG = 16;
  var LABEL_OVERHANG = 200;
  function palette(element2) {
    const style = getComputedStyle(element2);
    const color = (name) => style.getPropertyValue(name).trim();
    return {
      background: color("--background"),
      ink: color("--ink"),
      faint: color("--faint"),
      line: color("--line"),
      border: color("--border"),
      box: color("--box"),
      group: color("--group"),
      port: color("--port"),
      accent: color("--accent"),
      mark: color("--mark"),
      dark: color("--dark") === "1"
    };
  }
  var Rows = class _Rows {
    /** The leftmost and the rightmost place of each line. */
    extents;
    largestCost = 0;
    boxes = /* @__PURE__ */ new Map();
    lines = /* @__PURE__ */ new Map();
    long = [];
    constructor(lines) {
      this.extents = new Float64Array(2 * lines);
    }
    /** The rows of a picture, step by step. */
    static *of(picture) {
      const made = new _Rows(picture.lines.length);
      const add2 = (map, from, to, index) => {
        for (let row = Math.floor(from / ROW); row <= Math.floor(to / ROW); row += 1) {
          const list = map.get(row);
          if (list) list.push(index);
          else map.set(row, [index]);
        }
      };
      for (const [index, box] of picture.boxes.entries()) {
        if (index % STEP === 0) yield;
        add2(made.boxes, box.y, box.y + box.h, index);
        if (!box.isOpen) made.largestCost = Math.max(made.largestCost, box.item.c ?? 0);
      }
      for (const [index, line] of picture.lines.entries()) {
        if (index % STEP === 0) yield;
        let [left, right] = [Infinity, -Infinity];
        for (let at = 0; at < line.points.length; at += 2) {
          left = Math.min(left, line.points[at] ?? 0);
          right = Math.max(right, line.points[at] ?? 0);
        }
        made.extents[2 * index] = left;
        made.extents[2 * index + 1] = right;
        const [from, to] = [line.points[1] ?? 0, line.points.at(-1) ?? 0];
        if ((to - from) / ROW > MOST_ROWS) made.long.push(index);
        else add2(made.lines, Math.min(from, to) - OVERHANG, Math.max(from, to), index);
      }
      return made;
    }
    static none() {
      return new _Rows(0);
    }
    static found(map, top, bottom) {
      const [first, last] = [Math.floor(top / ROW), Math.floor(bottom / ROW)];
      const found = /* @__PURE__ */ new Set();
      if (last - first > map.size) {
        for (const [row, list] of map) if (row >= first && row <= last) for (const index of list) found.add(index);
      } else {
        for (let row = first; row <= last; row += 1) for (const index of map.get(row) ?? []) found.add(index);
      }
      return [...found].sort((a, b) => a - b);
    }
    boxesBetween(top, bottom) {
      return _Rows.found(this.boxes, top, bottom);
    }
    linesBetween(top, bottom) {
      return [...this.long, ..._Rows.found(this.lines, top, bottom)];
    }
  };
  var Canvas = class {
    element;
    view = { x: 0, y: 0, scale: 1 };
    picture = { w: 0, h: 0, boxes: [], lines: [] };
    coloring = "type";
    selected = "";
    marked = /* @__PURE__ */ new Set();
    colors;
    rows = Rows.none();
    isScheduled = false;
    /** Where the picture is on the element, in device pixels, unless all of it must be painted. */
    painted;
    largestCost = 0;
    width = 0;
    left = 0;
    /** Pixels at the bottom that something else covers. */
    covered = () => 0;
    /** Pixels at the top that a title covers. */
    titled = () => 0;
    /** Number of frames that were drawn, for tests and measurements. */
    frames = 0;
    constructor(element2) {
      this.element = element2;
      this.colors = palette(document.documentElement);
    }
    async show(picture) {
      const rows = await sliced(Rows.of(picture));
      [this.picture, this.rows, this.largestCost] = [picture, rows, rows.largestCost];
      this.draw();
    }
    /** Draws everything soon, once however often it is called. */
    draw() {
      this.painted = void 0;
      this.schedule();
    }
    /** Moves the picture. At the same scale only what comes into view is drawn. */
    look(view) {
      if (view.scale !== this.view.scale) this.painted = void 0;
      this.view = view;
      this.schedule();
    }
    schedule() {
      if (this.isScheduled) return;
      this.isScheduled = true;
      requestAnimationFrame(() => {
        this.isScheduled = false;
        this.paint();
      });
    }
    /** Takes the size of the element: what is in the middle stays there, or every point stays where it is on the screen. */
    resize(isStill = false) {
      const ratio = window.devicePixelRatio || 1;
      const { clientWidth, clientHeight } = this.element;
      const { left } = this.element.getBoundingClientRect();
      if (this.width > 0) this.view.x += isStill ? this.left - left : (clientWidth - this.width) / 2;
      [this.width, this.left] = [clientWidth, left];
      this.element.width = Math.max(1, Math.round(clientWidth * ratio));
      this.element.height = Math.max(1, Math.round(clientHeight * ratio));
      this.draw();
    }
    fit() {
      const { clientWidth } = this.element;
      const top = this.titled();
      const clientHeight = this.element.clientHeight - top;
      const { w, h } = this.picture;
      const scale = Math.min((clientWidth - 40) / Math.max(w, 1), (clientHeight - 40) / Math.max(h, 1), 1);
      const readable = Math.max(scale, Math.min(0.45, (clientWidth - 40) / Math.max(w, 1)));
      const s = Math.max(readable, 0.02);
      this.view = { scale: s, x: (clientWidth - w * s) / 2, y: top + (scale < s ? 20 : (clientHeight - h * s) / 2) };
      this.draw();
    }
    /** Moves a box into the middle of what is visible, unless it is visible; large enough to be read, unless it keeps the scale. */
    reveal(path, keepsScale = false) {
      const box = this.picture.boxes.find((box2) => box2.path === path);
      if (!box) return;
      const { clientWidth } = this.element;
      const height = this.element.clientHeight - this.covered();
      const scale = keepsScale ? this.view.scale : Math.min(Math.max(this.view.scale, 0.6), 1.5);
      const x = this.view.x + (box.x + box.w / 2) * this.view.scale;
      const y = this.view.y + (box.y + TITLE / 2) * this.view.scale;
      const margin = keepsScale ? 12 : 60;
      const half = box.w / 2 * scale;
      if (keepsScale && 2 * half < clientWidth - 2 * EDGE && x > margin && x < clientWidth - margin) {
        const moved = Math.min(Math.max(x, half + EDGE), clientWidth - half - EDGE);
        this.view = { ...this.view, x: this.view.x + moved - x };
      }
      const isVisible = x > margin && y > 40 && x < clientWidth - margin && y < height - 40 && scale === this.view.scale;
      if (!isVisible) {
        const middle = Math.min(box.h, Math.max(height / scale - 60, 0)) / 2;
        this.view = {
          scale,
          x: clientWidth / 2 - (box.x + box.w / 2) * scale,
          y: height / 2 - (box.y + middle) * scale
        };
      }
      this.draw();
    }
    zoom(factor, x, y) {
      const scale = Math.min(Math.max(this.view.scale * factor, 5e-3), 4);
      const ratio = scale / this.view.scale;
      this.view = { scale, x: x - (x - this.view.x) * ratio, y: y - (y - this.view.y) * ratio };
      this.draw();
    }
    /** The innermost box at a point of the element. */
    at(x, y) {
      const px = (x - this.view.x) / this.view.scale;
      const py = (y - this.view.y) / this.view.scale;
      let found;
      for (const index of this.rows.boxesBetween(py, py)) {
        const box = this.picture.boxes[index];
        if (box && px >= box.x && px <= box.x + box.w && py >= box.y && py <= box.y + box.h) found = box;
      }
      return found;
    }
    /** The whole picture as an image, smaller if it is very large. */
    image() {
      const { w, h } = this.picture;
      const scale = Math.min(2, MOST_PIXELS / Math.max(w + 2 * MARGIN, h + 2 * MARGIN), Math.sqrt(MOST_AREA / ((w + 2 * MARGIN) * (h + 2 * MARGIN))));
      const copy = document.createElement("canvas");
      copy.width = Math.ceil((w + 2 * MARGIN) * scale);
      copy.height = Math.ceil((h + 2 * MARGIN) * scale);
      const view = this.view;
      this.view = { x: MARGIN * scale, y: MARGIN * scale, scale };
      const context = copy.getContext("2d");
      if (context) this.paintOn(context, { x: 0, y: 0, w: copy.width, h: copy.height }, 1);
      this.view = view;
      return new Promise((resolve) => copy.toBlob(resolve, "image/png"));
    }
    paint() {
      const context = this.element.getContext("2d", { alpha: false });
      if (!context) return;
      const { width, height } = this.element;
      const ratio = window.devicePixelRatio || 1;
      const at = { x: Math.round(this.view.x * ratio), y: Math.round(this.view.y * ratio) };
      const [dx, dy] = this.painted ? [at.x - this.painted.x, at.y - this.painted.y] : [width, height];
      if (Math.abs(dx) >= width || Math.abs(dy) >= height) this.paintOn(context, { x: 0, y: 0, w: width, h: height }, ratio);
      else {
        context.setTransform(1, 0, 0, 1, 0, 0);
        context.drawImage(this.element, dx, dy);
        if (dx !== 0) this.paintOn(context, { x: dx > 0 ? 0 : width + dx, y: 0, w: Math.abs(dx), h: height }, ratio);
        if (dy !== 0) this.paintOn(context, { x: 0, y: dy > 0 ? 0 : height + dy, w: width, h: Math.abs(dy) }, ratio);
      }
      this.painted = at;
      this.frames += 1;
    }
    /** Paints a part of the element, which is in device pixels. */
    paintOn(context, part, ratio) {
      const scale = this.view.scale * ratio;
      const [x, y] = [Math.round(this.view.x * ratio), Math.round(this.view.y * ratio)];
      const region = { left: (part.x - x) / scale, top: (part.y - y) / scale, right: (part.x + part.w - x) / scale, bottom: (part.y + part.h - y) / scale };
      context.save();
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.beginPath();
      context.rect(part.x, part.y, part.w, part.h);
      context.clip();
      context.fillStyle = this.colors.background;
      context.fillRect(part.x, part.y, part.w, part.h);
      context.setTransform(scale, 0, 0, scale, x, y);
      this.contents(context, region);
      context.restore();
    }
    /** Draws what is in a region or reaches into it. */
    contents(context, { left, top, right, bottom }) {
      const { scale } = this.view;
      const boxes = [];
      for (const index of this.rows.boxesBetween(top - OVERHANG, bottom + OVERHANG)) {
        const box = this.picture.boxes[index];
        if (box && box.x <= right + OVERHANG && box.x + box.w >= left - OVERHANG) boxes.push(box);
      }
      for (const box of boxes) if (box.isOpen) this.container(context, box);
      const lines = [];
      const labels = [];
      for (const index of this.rows.linesBetween(top - OVERHANG, bottom + OVERHANG)) {
        const line = this.picture.lines[index];
        if (!line) continue;
        const [from, to] = [this.rows.extents[2 * index] ?? 0, this.rows.extents[2 * index + 1] ?? 0];
        if (to >= left - OVERHANG && from <= right + OVERHANG) lines.push(line);
        const at = line.points[0] ?? 0;
        if (line.label !== void 0 && at >= left - LABEL_OVERHANG && at <= right + LABEL_OVERHANG) labels.push(line);
      }
      if (scale > 0.04) this.strokes(context, lines, top - OVERHANG, bottom + OVERHANG);
      if (scale > 0.2) {
        for (const box of boxes) if (box.isOpen) this.heading(context, box);
      }
      for (const box of boxes) if (!box.isOpen) this.closed(context, box, scale);
      if (scale > 0.35) this.labels(context, labels);
    }
    container(context, box) {
      context.fillStyle = box.depth % 2 === 0 ? this.colors.group : this.colors.background;
      const isChosen = box.path === this.selected;
      context.strokeStyle = isChosen ? this.colors.accent : this.colors.border;
      context.lineWidth = isChosen ? 2.5 : 1;
      rounded(context, box.x, box.y, box.w, box.h, 8);
      context.fill();
      context.stroke();
    }
    /** The title of an open box, on the lines that enter it. */
    heading(context, box) {
      context.font = "600 12.5px system-ui, sans-serif";
      context.lineJoin = "round";
      context.lineWidth = 4;
      context.strokeStyle = box.depth % 2 === 0 ? this.colors.group : this.colors.background;
      context.strokeText(`▾ ${box.item.t}`, box.x + 10, box.y + 16);
      context.fillStyle = this.colors.ink;
      context.fillText(`▾ ${box.item.t}`, box.x + 10, box.y + 16);
    }
    strokes(context, lines, top, bottom) {
      const draw = (lines2, color, width) => {
        context.strokeStyle = color;
        context.fillStyle = color;
        context.lineWidth = width;
        for (const isDashed of [false, true]) {
          context.setLineDash(isDashed ? [4, 3] : []);
          for (const line of lines2) {
            if (line.isDashed !== isDashed) continue;
            context.beginPath();
            if (isDashed) trace(context, line.points, -Infinity, Infinity);
            else trace(context, line.points, top, bottom);
            context.stroke();
          }
        }
        context.setLineDash([]);
        if (this.view.scale <= 0.25) return;
        context.beginPath();
        for (const { points, hasArrow } of lines2) {
          const [x, y] = [points.at(-2) ?? 0, points.at(-1) ?? 0];
          if (!hasArrow || y < top || y - 6 > bottom) continue;
          context.moveTo(x - 3, y - 6);
          context.lineTo(x + 3, y - 6);
          context.lineTo(x, y);
        }
        context.fill();
      };
      const isChosen = (line) => line.from === this.selected || line.to === this.selected;
      draw(this.selected ? lines.filter((line) => !isChosen(line)) : lines, this.colors.line, 1.2);
      if (this.selected) draw(lines.filter(isChosen), this.colors.accent, 2);
    }
    closed(context, box, scale) {
      const { item } = box;
      if (item.k === "arriving" || item.k === "leaving") {
        if (scale < 0.15) return;
        context.fillStyle = box.path === this.selected ? this.colors.accent : this.colors.line;
        context.beginPath();
        context.arc(box.x + box.w / 2, box.y + box.h / 2, 2.5, 0, 2 * Math.PI);
        context.fill();
        return;
      }
      const isPort = item.k === "input" || item.k === "output";
      context.fillStyle = isPort ? this.colors.port : this.fill(item, box.path);
      const isChosen = box.path === this.selected;
      const isMarked = this.marked.has(box.path);
      context.strokeStyle = isChosen ? this.colors.accent : isMarked ? this.colors.mark : this.colors.border;
      context.lineWidth = isChosen ? 2.5 : isMarked ? 2.5 : 1;
      if (scale < 0.12) {
        context.fillRect(box.x, box.y, box.w, box.h);
        if (isChosen || isMarked) {
          context.lineWidth = 2 / scale;
          context.strokeRect(box.x, box.y, box.w, box.h);
        }
        return;
      }
      rounded(context, box.x, box.y, box.w, box.h, isPort ? box.h / 2 : 5);
      context.fill();
      context.stroke();
      if (scale > 0.2) {
        context.fillStyle = this.colors.ink;
        context.font = "12.5px system-ui, sans-serif";
        const marker = item.in === void 0 ? "" : "▸ ";
        context.fillText(`${marker}${item.t}`, box.x + 11, box.y + 16, box.w - 14);
      }
      if (scale > 0.35) {
        context.fillStyle = this.colors.faint;
        context.font = "10.5px system-ui, sans-serif";
        item.l?.forEach((line, index) => context.fillText(line, box.x + 11, box.y + TITLE + 14 * index + 9, box.w - 14));
      }
      if (item.s) {
        context.fillStyle = item.s === "error" ? "#c62828" : item.s === "warning" ? "#e08a00" : "#3f7fc4";
        context.beginPath();
        context.arc(box.x + box.w - 2, box.y + 2, 5, 0, 2 * Math.PI);
        context.fill();
      }
    }
    labels(context, lines) {
      context.font = "10.5px system-ui, sans-serif";
      context.textAlign = "center";
      context.lineWidth = 3;
      context.lineJoin = "round";
      for (const line of lines) {
        const [x, y] = [line.points[0] ?? 0, (line.points[1] ?? 0) - 3];
        if (line.label === void 0) continue;
        context.strokeStyle = this.colors.background;
        context.strokeText(line.label, x, y);
        context.fillStyle = this.colors.faint;
        context.fillText(line.label, x, y);
      }
      context.textAlign = "start";
    }
    fill(item, path) {
      const { dark } = this.colors;
      const pastel = (hue) => `hsl(${hue} ${dark ? 28 : 62}% ${dark ? 30 : 88}%)`;
      switch (this.coloring) {
        case "type":
          return item.k === "group" ? this.colors.box : pastel(hueOf(item.t));
        case "scope":
          return pastel(Number(path.split("/")[0]) * 137.5 % 360);
        case "cost": {
          if (item.c === void 0 || this.largestCost === 0) return this.colors.box;
          const part = Math.sqrt(Math.min(item.c / this.largestCost, 1));
          return dark ? `hsl(24 ${70 * part}% ${20 + 25 * part}%)` : `hsl(26 ${90 * part}% ${100 - 42 * part}%)`;
        }
        case "findings":
          return item.s === "error" ? pastel(2) : item.s === "warning" ? pastel(40) : this.colors.box;
        case "diff":
          return item.d === "added" ? pastel(130) : item.d === "removed" ? pastel(2) : item.d === "changed" ? pastel(40) : this.colors.box;
      }
    }
  };
  var hues = /* @__PURE__ */ new Map();
  function hueOf(name) {
    const known = hues.get(name);
    if (known !== void 0) return known;
    let hash = 2166136261;
    for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
    const hue = hash % 24 * 15;
    hues.set(name, hue);
    return hue;
  }
  function rounded(context, x, y, w, h, r) {
    context.beginPath();
    context.roundRect(x, y, w, h, r);
  }
  function trace(context, points, top, bottom) {
    let [x, y] = [points[0] ?? 0, points[1] ?? 0];
    let isAt = false;
    for (let index = 2; index < points.length; index += 2) {
      const [nextX, nextY] = [points[index] ?? 0, points[index + 1] ?? 0];
      const isVisible = Math.max(y, nextY) >= top && Math.min(y, nextY) <= bottom;
      if (isVisible) {
        if (!isAt) context.moveTo(x, y);
        if (Math.abs(nextX - x) < 0.5) context.lineTo(nextX, nextY);
        else context.bezierCurveTo(x, (y + nextY) / 2, nextX, (y + nextY) / 2, nextX, nextY);
      }
      isAt = isVisible;
      [x, y] = [nextX, nextY];
    }
  }

  // src/panels.ts
  function link(text2, level, item, go) {
    if (level === void 0 || item === void 0) return breakable(text2);
    const made = button("", () => go(level, item), { class: "link" });
    made.append(breakable(text2));
    return made;
  }
  function hint(title, text2) {
    const parts = title === void 0 ? [] : [element("h2", {}, title)];
    return [...parts, element("p", { class: "hint" }, text2)];
  }
  function details(found, events) {
    const parts = [element("h2", {}, found.title)];
    if (found.of !== void 0) parts.push(element("p", {}, "computes a weight of ", button(found.of, () => events.inside?.(void 0), { class: "link", id: "user" })));
    const actions = element("div", { class: "actions" });
    if (events.path) actions.append(button("Path to…", events.path, { id: "path", title: "Shows the nodes between this box and another one; or press Shift and click the other one" }));
    if (events.extract) actions.append(button("Keep only this", events.extract, { id: "extract", title: "Makes the nodes of this box the model; can be undone" }));
    if (actions.childElementCount > 0) parts.push(actions);
    if (found.rows.length > 0) parts.push(table(found.rows));
    const lists = [...found.lists].sort((a, b) => Number(b.title === "Operators") - Number(a.title === "Operators"));
    for (const list of lists) {
      const rows = list.rows.map((row, at) => {
        if (list.folded) return row.map((cell) => button(cell, () => events.inside?.(at), { class: "link" }));
        const place2 = list.places?.[at];
        return row.map((cell, index) => {
          if (place2 && index === list.link) return link(cell, place2[0], place2[1], events.go);
          return index > 0 && cell.includes("\n") ? element("pre", {}, cell) : cell;
        });
      });
      parts.push(element("h3", {}, list.title), table(rows));
    }
    for (const weight of found.weights ?? []) {
      const place2 = element("div", { class: "weight" });
      const load2 = async () => {
        try {
          const read2 = await events.weight?.(weight.input);
          if (read2) place2.replaceChildren(...statistics(read2));
        } catch (error) {
          place2.replaceChildren(element("p", { class: "warning" }, error instanceof Error ? error.message : String(error)));
        }
      };
      const show = button("Statistics", () => void load2(), { class: "statistics", "aria-label": `Statistics of ${weight.name}` });
      place2.append(show);
      parts.push(element("h3", {}, `Weight ${weight.name} ${weight.type}`), place2);
    }
    if (found.documentation) {
      const { text: text2, address } = found.documentation;
      const anchor = element("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, text2);
      parts.push(element("h3", {}, "Definition"), element("p", {}, anchor, " (opens onnx.ai)"));
    }
    return parts;
  }
  function statistics(found) {
    const parts = contents(found);
    if (found.stored) parts.push(element("h4", {}, `Stored as ${found.stored.name}`), ...contents(found.stored));
    return parts;
  }
  function contents(found) {
    const parts = [table(found.rows, void 0, [1])];
    if (found.histogram) {
      const most = Math.max(...found.histogram, 1);
      const bars = found.histogram.map((count) => {
        const bar = element("div", { title: String(count) });
        bar.style.height = `${count > 0 ? Math.max(2, 100 * count / most) : 0}%`;
        return bar;
      });
      parts.push(element("div", { class: "histogram", role: "img", "aria-label": `Histogram: ${found.histogram.join(", ")}` }, ...bars));
    }
    if (found.elements.length > 0) parts.push(element("p", { class: "elements" }, `${found.elements.join(", ")} …`));
    return parts;
  }
  var FEW_NODES = 3;
  var MANY_VALUES = 300;
  var FEW_EDITS = 4;
  var singular = (text2) => text2.replace(/\b1 (edit|run|attempt|node|input|output|value|repair)s\b/g, "1 $1");
  var counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
  function findings(found, go, repair) {
    const [errors, warnings, notes] = found.counts;
    const parts = [
      element("h2", {}, "Findings"),
      element("p", {}, [counted(errors, "error"), counted(warnings, "warning"), counted(notes, "note")].join(", "))
    ];
    if (found.findings.length === 0) parts.push(element("p", { class: "hint" }, "The checker and shape inference report nothing."));
    if (found.repairable > 1 && repair) parts.push(button(`Apply all ${found.repairable} repairs`, repair, { id: "repair" }));
    for (const finding of found.findings) {
      const entry = element(
        "div",
        { class: "finding" },
        element("div", { class: finding.severity }, `${finding.severity} ${finding.rule}`),
        element("div", {}, finding.message),
        element("div", {}, link(finding.where, finding.level, finding.item, go))
      );
      if (finding.help) entry.append(element("div", {}, `help: ${finding.help}`));
      if (finding.canRepair && repair) entry.append(button("Apply", repair, { class: "apply", "aria-label": `Apply the repair of ${finding.where}` }));
      parts.push(entry);
    }
    return parts;
  }
  function sizesInput(variables, sizes, submit) {
    const input = element("input", {
      id: "sizes",
      type: "text",
      "aria-label": "Sizes of dimension variables",
      placeholder: variables.length > 0 ? example(variables) : "no variables",
      value: sizes
    });
    input.addEventListener("change", () => submit(input.value));
    return input;
  }
  var example = (variables) => variables.map((name) => `${name}=1`).join(" ");
  function refused(input, problem, variables) {
    if (problem === void 0) return [];
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", "sizes-problem");
    const advice = input.value.trim() === "" ? "" : variables.length > 0 ? ` Sizes are written like ${example(variables)}.` : " The inputs have no variables: leave the field empty.";
    return [element("p", { id: "sizes-problem", class: "error", role: "alert" }, `${problem}.`.replace(/([.!?])\.$/, "$1") + advice)];
  }
  function cost(found, sizes, problem, go, count) {
    let last = sizes;
    const submit = (sizes2) => {
      if (sizes2 !== last) count(last = sizes2);
    };
    const input = sizesInput(found.variables, sizes, submit);
    const rows = found.rows.map((row) => [
      element("div", {}, link(row.op, row.level, row.item, go), element("div", { class: "name" }, breakable(row.name))),
      row.operations,
      row.part > 0 ? `${(row.part * 100).toFixed(1)} %` : ""
    ]);
    return [
      element("h2", {}, "Cost"),
      element("p", { class: "row" }, "Sizes: ", input, " ", button("Count", () => submit(input.value))),
      ...refused(input, problem, found.variables),
      element("div", { class: "legend", id: "cost-legend" }, element("span", {}, "no operations"), element("span", { class: "ramp" }), element("span", {}, "most of the boxes shown")),
      table(found.totals, void 0, [1]),
      element("h3", {}, "Most expensive nodes"),
      table(rows, ["node", "operations", "part"], [1, 2])
    ];
  }
  function range(text2) {
    const [least, ...greatest] = text2.split(" … ");
    if (least === void 0 || greatest.length !== 1) return breakable(text2);
    const whole = (part) => element("span", { class: "whole" }, part);
    return element("div", {}, whole(`${least} …`), " ", whole(greatest.join()));
  }
  function values(found, state, go, events) {
    const seed = element("input", { id: "seed", type: "number", min: "0", "aria-label": "Seed of the inputs", value: String(state.seed) });
    const input = sizesInput(found?.variables ?? state.variables, state.sizes, () => void 0);
    const run = () => events.run(input.value, Math.max(0, Math.floor(Number(seed.value) || 0)));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") run();
    });
    const parts = [
      element("h2", {}, "Values of a run"),
      element("p", { class: "hint" }, "The model runs on generated inputs, in the ranges that its operators allow."),
      element("p", { class: "row" }, "Sizes: ", input, " seed: ", seed, " ", button("Run", run, { id: "run", class: "primary" })),
      ...refused(input, state.problem, found?.variables ?? state.variables)
    ];
    if (!found) return parts;
    const check = element("input", { id: "values-shown", type: "checkbox" });
    check.checked = state.isShown;
    check.addEventListener("change", () => events.toggle(check.checked));
    parts.push(element("label", {}, check, " show values at the edges"));
    if (found.failure) {
      const { failure } = found;
      parts.push(
        element(
          "div",
          { class: "finding", id: "failure" },
          element("div", { class: "error" }, "The run failed"),
          element("div", {}, failure.message),
          element("div", {}, link(failure.node ?? "", failure.level, failure.item, go))
        )
      );
    }
    const sizes = found.sizes.map(([name, size]) => `${name}=${size}`).join(" ");
    const bad = found.rows.filter((row) => row.bad).length;
    const summary = `${found.values} values${sizes ? `, ${sizes}` : ""}${bad > 0 ? `, ${bad} with NaN or infinity` : ""}`;
    const rows = found.rows.map((row) => {
      const name = element("div", row.bad ? { class: "error" } : {}, link(row.name, row.level, row.item, go), element("div", { class: "name" }, row.type));
      return [name, range(row.range), row.mean ?? ""];
    });
    const values2 = table(rows, ["value", "smallest … greatest", "mean"], [2], MANY_VALUES);
    values2.id = "values";
    parts.push(element("p", {}, summary), values2);
    return parts;
  }
  function changes(title, done, actions) {
    const parts = [element("h2", {}, title), element("p", { id: "summary" }, done.summary)];
    if (actions.length > 0 && done.edits.length > 0) parts.push(element("div", { class: "actions" }, ...actions));
    if (done.edits.length > 0) parts.push(element("h3", {}, "Edits"), ...editsByRule(done.edits));
    if (done.more) parts.push(element("p", { class: "hint" }, `${done.more} edits more are not listed. The report of \`onnx simplify\` has all of them.`));
    return parts;
  }
  function ruleOf(edit) {
    const [, rule, count] = /^(.*?)(?: \((\d+) edits\))?$/s.exec(edit.what) ?? [];
    return { rule: rule ?? edit.what, count: Number(count ?? 1) };
  }
  var placeOf = (rule, { proof }) => /^(no|unique)-/.test(rule) ? 2 : /^exact\b/.test(proof) ? 1 : 0;
  function editsByRule(edits) {
    const hasProof = edits.some((edit) => edit.proof);
    const list = (edits2, isNamed) => table(
      edits2.map((edit) => [...isNamed ? [edit.what] : [], edit.nodes, ...hasProof ? [singular(edit.proof)] : []]),
      [...isNamed ? ["edit"] : [], "nodes", ...hasProof ? ["why it is right"] : []]
    );
    const rules = /* @__PURE__ */ new Map();
    for (const edit of edits) {
      const { rule, count } = ruleOf(edit);
      const group = rules.get(rule) ?? { count: 0, edits: [] };
      group.count += count;
      group.edits.push(edit);
      rules.set(rule, group);
    }
    if (rules.size === edits.length && rules.size < FEW_EDITS) return [list(edits, true)];
    const order = [...rules].sort(([a, one], [b, other]) => placeOf(a, one.edits[0]) - placeOf(b, other.edits[0]) || other.count - one.count || a.localeCompare(b, "en"));
    return order.map(([rule, { count, edits: edits2 }]) => {
      const group = element("details", { class: "rule" }, element("summary", {}, element("span", {}, rule), element("span", { class: "count" }, counted(count, "edit"))));
      group.addEventListener("toggle", () => {
        if (group.open && group.childElementCount === 1) group.append(list(edits2, edits2.some(({ what }) => what !== rule)));
      });
      return group;
    });
  }
  function simplify(isProved, start2) {
    const check = element("input", { id: "prove", type: "checkbox" });
    check.checked = isProved;
    return [
      element("h2", {}, "Simplify"),
      element("p", { class: "hint" }, "Folds constants, removes what has no effect, and rewrites to fewer and cheaper nodes. The model computes the same. Nothing is written until you save."),
      element("p", {}, element("label", {}, check, " compare the values before and after each edit")),
      button("Simplify", () => start2(check.checked), { id: "simplify", class: "primary" })
    ];
  }
  function refusals(found, go) {
    const reasons = /* @__PURE__ */ new Map();
    for (const refusal of found) {
      const reason = `${sentence(refusal.reason)} ${sentence(refusal.help)}`;
      reasons.set(reason, [...reasons.get(reason) ?? [], refusal]);
    }
    return [...reasons].map(([reason, nodes]) => {
      const links = nodes.map(({ op, level, item }) => element("div", {}, link(op, level, item, go)));
      const entry = element("div", { class: "finding" }, element("div", {}, reason));
      if (nodes.length <= FEW_NODES) entry.append(...links);
      else {
        const operators = [...new Set(nodes.map(({ op }) => op))].join(", ");
        entry.append(element("details", {}, element("summary", {}, `${nodes.length} nodes: ${operators}`), ...links));
      }
      return entry;
    });
  }
  var sentence = (text2) => text2 && `${text2.charAt(0).toUpperCase()}${text2.slice(1)}${/[.!?]$/.test(text2) ? "" : "."}`;
  function versions(found, go, convert) {
    const parts = [element("h2", {}, "Versions"), element("p", {}, `The model uses operator set ${found.current}.`)];
    const reach = (name, reach2) => {
      parts.push(element("h3", {}, `${name}: ${reach2.version}`));
      if (reach2.version !== found.current) {
        const nodes2 = reach2.changed === 1 ? "1 node changes" : `${reach2.changed} nodes change`;
        parts.push(element("p", { class: "row" }, `${nodes2}. `, button(`Convert to ${reach2.version}`, () => convert(reach2.version))));
      }
      if (reach2.refusals.length === 0) return;
      const nodes = reach2.prevented === 1 ? "1 node prevents" : `${reach2.prevented} nodes prevent`;
      parts.push(element("p", {}, `${nodes} version ${reach2.version + (name === "Oldest" ? -1 : 1)}:`));
      parts.push(...refusals(reach2.refusals, go));
      const more = reach2.prevented - reach2.refusals.length;
      if (more > 0) parts.push(element("p", { class: "hint" }, `${counted(more, "node")} more ${more === 1 ? "is" : "are"} not listed.`));
    };
    reach("Oldest", found.oldest);
    reach("Newest", found.newest);
    const input = element("input", { id: "version", type: "number", min: String(found.oldest.version), max: String(found.newest.version), "aria-label": "Version", value: String(found.current) });
    parts.push(element("h3", {}, "Another version"), element("p", { class: "row" }, input, " ", button("Convert", () => convert(Number(input.value)), { id: "convert" })));
    return parts;
  }
  function comparison(found, go, actions) {
    const [added, removed, changed] = found.counts;
    const parts = [
      element("h2", {}, "Comparison"),
      element("p", { id: "summary" }, `${added} added, ${removed} removed, ${changed} changed; ${found.same} nodes correspond`),
      element("div", { class: "actions" }, ...actions)
    ];
    if (found.unread > 0) parts.push(element("p", { class: "warning" }, `${found.unread} tensors could not be read, and were not compared`));
    if (found.changes.length === 0) parts.push(element("p", { class: "hint" }, "The models are the same."));
    const sign = { added: "+", removed: "−", changed: "~" };
    for (const change of found.changes) {
      const text2 = `${sign[change.kind]} ${change.element} ${change.text || (change.where ?? "")}`;
      const hasPlace = change.after !== void 0 || change.before !== void 0;
      const title = hasPlace ? button(text2, () => go(change), { class: "link" }) : element("span", {}, text2);
      const entry = element("div", { class: `finding ${change.kind}` }, title);
      for (const aspect of change.aspects) entry.append(element("div", { class: "aspect" }, aspect));
      parts.push(entry);
    }
    if (found.more > 0) parts.push(element("p", {}, `and ${found.more} more`));
    return parts;
  }
  function text(found, isSelected, go) {
    const pre = element("pre", { tabindex: "0", "aria-label": "ONNX text", id: "text" });
    const lines = found.text.split("\n");
    let at = 0;
    let chosen2;
    for (const [index, [line, level, item]] of found.places.entries()) {
      if (line > at) pre.append(lines.slice(at, line).join("\n") + "\n");
      const next = found.places[index + 1]?.[0];
      const isEnd = (text2) => text2.startsWith("}");
      const end = next ?? (lines.findIndex((text2, at2) => at2 > line && isEnd(text2)) + 1 || lines.length + 1) - 1;
      const part = element("span", { class: "node-text" }, lines.slice(line, end).join("\n") + "\n");
      part.addEventListener("click", () => go(level, item));
      if (isSelected(level, item)) {
        part.classList.add("chosen");
        chosen2 ??= part;
      }
      pre.append(part);
      at = end;
    }
    pre.append(lines.slice(at).join("\n"));
    if (chosen2) {
      const shown = chosen2;
      requestAnimationFrame(() => shown.scrollIntoView({ block: "center" }));
    }
    return [element("h2", {}, "Text"), pre];
  }

  // src/contents.ts
  var PANELS = ["details", "findings", "cost", "values", "simplify", "versions", "compare", "text", "changes"];
  var TITLES = {
    details: "Details",
    findings: "Findings",
    cost: "Cost",
    values: "Values",
    simplify: "Simplify",
    versions: "Versions",
    compare: "Compare",
    text: "Text",
    changes: "Changes"
  };
  function available(engine) {
    const asks = {
      details: engine.details,
      findings: engine.findings,
      cost: engine.cost,
      values: engine.run,
      simplify: engine.simplify,
      versions: engine.versions,
      compare: engine.compare,
      text: engine.text,
      changes: engine.undo
    };
    return PANELS.filter((name) => asks[name] !== void 0);
  }
  var MOST_PROVED = 1e3;
  var CHANGED = { Simplified: "simplified", Repaired: "repaired", Converted: "converted", Kept: "part" };
  var Contents = class {
    /** Whether the text is what the selection came from. */
    isFollowing = false;
    comparison;
    page;
    sizes = "";
    seed = 0;
    run;
    edits;
    problem;
    constructor(page) {
      this.page = page;
    }
    /** Forgets what was found out about another model. */
    reset() {
      [this.run, this.edits, this.sizes] = [void 0, void 0, ""];
    }
    /** Takes what a change did. Returns its summary. */
    changed(title, done) {
      [this.run, this.edits] = [void 0, { title, done: { ...done, summary: singular(done.summary) } }];
      return this.edits.done.summary;
    }
    /** Whether a change was made, of which there are edits. */
    get hasChanges() {
      return this.edits !== void 0;
    }
    async of(name, pane) {
      const { page } = this;
      const { engine } = page;
      const go = this.go(page.main);
      switch (name) {
        case "details":
          return this.details(pane);
        case "findings":
          return engine.findings ? findings(await engine.findings(), go, engine.repair ? () => void page.change("Repaired", engine.repair) : void 0) : [];
        case "cost":
          return this.cost(go);
        case "values": {
          const variables = page.overview?.variables ?? [];
          const state = { sizes: this.sizes, seed: this.seed, isShown: page.main.hasValues, variables, problem: this.problem };
          this.problem = void 0;
          const toggle = (isShown) => void page.act("reading", () => this.values(isShown));
          return values(this.run, state, go, { run: (sizes, seed) => void page.act("running", () => this.runs(sizes, seed), "run"), toggle });
        }
        case "simplify":
          return this.simplify();
        case "versions":
          return engine.versions ? versions(await engine.versions(), go, (version) => void page.change(`Converted to version ${version}`, () => engine.convert(version))) : [];
        case "compare":
          return this.comparing();
        case "text":
          return this.text(pane);
        case "changes":
          return this.changes();
      }
    }
    /** Leads to boxes of a picture. */
    go(pane) {
      return (level, item) => void this.page.at("selecting", () => this.page.go(level, item, pane));
    }
    async cost(go) {
      const { page, sizes } = this;
      if (!page.engine.cost) return [];
      page.color("cost");
      const [found, problem] = await this.counted(sizes);
      await page.main.reload();
      await page.render();
      if (problem !== void 0) page.work.say(problem);
      return cost(found, sizes, problem, go, (sizes2) => {
        this.sizes = sizes2;
        void page.act("cost", () => page.show("cost"));
      });
    }
    /** The costs for sizes; for none, and why, if they cannot be read. */
    async counted(sizes) {
      const count = this.page.engine.cost;
      try {
        return [await count(sizes), void 0];
      } catch (error) {
        if (sizes.trim() === "" || error instanceof Cancelled) throw error;
        return [await count(""), error instanceof Error ? error.message : String(error)];
      }
    }
    async text(pane) {
      const { page } = this;
      if (!page.engine.text) return [];
      const box = pane.box(pane.selected);
      const isInside = box !== void 0 && box.item.in === void 0 && box.item.k === "node";
      const parent = isInside ? parentOf(pane) : box;
      const found = await page.engine.text(parent?.level ?? 0, parent?.index ?? -1, pane.side);
      const follow = async (level, item) => {
        this.isFollowing = true;
        try {
          await page.go(level, item, pane);
        } finally {
          this.isFollowing = false;
        }
        await page.show("text", pane);
      };
      const isSelected = (level, item) => box !== void 0 && level === box.level && item === box.index;
      return text(found, isSelected, (level, item) => void page.at("selecting", () => follow(level, item)));
    }
    async details(pane) {
      const { page } = this;
      const { engine, folded } = page;
      const go = this.go(pane);
      const box = pane.box(pane.selected);
      const advice = "Select a box: its types, attributes, weights and metadata are shown here.";
      if (!engine.details || !(box ?? engine.model)) return hint("Details", advice);
      if (!box) {
        const about = await engine.model(pane.side);
        return [...details(about, { go }), ...hint(void 0, advice)];
      }
      const found = await engine.details(box.level, box.index, pane.side, folded);
      const { weight, extract } = engine;
      const inside = (index) => void page.at("selecting", () => page.look(index, pane));
      if (folded !== void 0) {
        return details(found, { go, inside, ...weight ? { weight: (input) => weight(box.level, box.index, input, pane.side, folded) } : {} });
      }
      const canKeep = extract !== void 0 && pane.side === 0 && (box.item.k === "node" || box.item.k === "group");
      const path = () => {
        page.search.from = box.path;
        page.work.say(`path from ${box.item.t}: choose the other end in the picture or the tree, or search it; Escape ends this`);
      };
      return details(found, {
        go,
        inside,
        ...weight ? { weight: (input) => weight(box.level, box.index, input, pane.side) } : {},
        ...engine.path ? { path } : {},
        ...canKeep ? { extract: () => void page.extract(box.level, box.index) } : {}
      });
    }
    simplify() {
      const { page } = this;
      const { engine } = page;
      const again = (isProved) => void page.change("Simplified", () => engine.simplify(isProved));
      const nodes = Number(page.overview?.facts.find(([name]) => name === "nodes")?.[1] ?? 0);
      return simplify(this.edits === void 0 && nodes <= MOST_PROVED, again);
    }
    /** What the last change did. */
    changes() {
      const { page } = this;
      const { engine } = page;
      if (!this.edits) return hint(TITLES.changes, "No change was made since the page was loaded.");
      const actions = [
        ...engine.before ? [button("Before and after", () => void page.compareWith(engine.before), { id: "before" })] : [],
        button("Undo", page.undoes),
        button("Save", page.saves, { class: "primary" })
      ];
      return changes(this.edits.title, this.edits.done, this.edits.title === "Undone" ? [] : actions);
    }
    comparing() {
      const { page } = this;
      const { engine } = page;
      if (this.comparison) {
        const go = (change) => {
          const place2 = change.after ?? change.before;
          const pane = change.after ? page.main : page.panes[1];
          if (place2 && pane) this.go(pane)(place2[0], place2[1]);
        };
        return comparison(this.comparison, go, [button("End the comparison", () => void page.act("closing", () => page.single(), "single"), { id: "single" })]);
      }
      const parts = hint("Comparison", "Two models side by side: what was added, removed and changed.");
      if ((page.overview?.undo ?? 0) > 0 && engine.before) parts.push(element("p", {}, button("With the model before the last change", () => void page.compareWith(engine.before), { id: "before" })));
      if (engine.open) {
        const input = element("input", { type: "file", id: "older", "aria-label": "The older model", multiple: "", class: "hidden" });
        picks(input, (files) => void page.older(files));
        parts.push(element("p", {}, button("With an older file…", () => input.click(), { class: "primary" }), input));
      } else parts.push(element("p", { class: "hint" }, "`onnx view OLD NEW` compares two files."));
      return parts;
    }
    async runs(sizes, seed) {
      const { page } = this;
      [this.sizes, this.seed] = [sizes, seed];
      try {
        this.run = await page.engine.run?.(sizes, seed);
      } catch (error) {
        if (error instanceof Cancelled) throw error;
        const problem = error instanceof Error ? error.message : String(error);
        this.problem = problem;
        await page.show("values");
        page.work.say(problem);
        return;
      }
      await this.values(true);
      await page.show("values");
      if (this.run?.failure) page.work.say(`the run failed: ${this.run.failure.message}`);
    }
    async values(isShown) {
      const { page } = this;
      page.main.hasValues = isShown;
      await page.main.reload();
      await page.render();
    }
    async save() {
      const { page } = this;
      const bytes = await page.engine.save?.();
      if (!bytes) return;
      const last = this.edits?.title === "Undone" ? void 0 : this.edits?.title.split(" ")[0];
      const isChanged = last !== void 0 || (page.overview?.undo ?? 0) > 0;
      download(`${page.fileName()}${isChanged ? `.${CHANGED[last ?? ""] ?? "changed"}` : ""}.onnx`, bytes, "application/octet-stream");
      page.work.say(`saved ${bytes.length} bytes`);
    }
  };
  function parentOf(pane) {
    const end = pane.selected.lastIndexOf("/");
    return end < 0 ? void 0 : pane.box(pane.selected.slice(0, end));
  }

  // src/help.ts
  var KEYS = [
    ["/", "search: a name, or a selector such as Softmax() -> MatMul()"],
    ["n, p", "next and previous match"],
    ["↓, ↑", "to a user, to a maker of the selected box"],
    ["←, →", "to the neighbors in the same row"],
    ["Enter, double click", "open or close the selected box"],
    ["Shift click", "mark the path from the selected box to another one"],
    ["+, −, 0", "zoom in, zoom out, everything"],
    ["1 … 9", "panels"],
    ["Ctrl Z, ⌘ Z", "take back the last change of the model"],
    ["Ctrl S, ⌘ S", "save the model as a file"],
    ["Escape", "close the panel"]
  ];
  function help() {
    const dialog = element("dialog", { id: "keys", "aria-labelledby": "keys-title" });
    dialog.append(
      element("h2", { id: "keys-title" }, "Keys"),
      table(KEYS.map((row) => [...row])),
      button("Close", () => dialog.close(), { class: "primary" })
    );
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  // src/keys.ts
  function command(page, event, isTyping) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || document.querySelector("dialog[open]")) return false;
    const key = event.key.toLowerCase();
    if (key === "s" && page.engine.save) page.saves();
    else if (key === "z" && page.engine.undo && !isTyping) page.undoes();
    else return false;
    return true;
  }
  function press(page, event) {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (command(page, event, isTyping)) {
      event.preventDefault();
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const pane = page.panes.find((pane2) => pane2.canvas.element === event.target) ?? page.main;
    const { clientWidth, clientHeight } = pane.canvas.element;
    const zoom = (factor) => {
      const before = { ...pane.canvas.view };
      pane.canvas.zoom(factor, clientWidth / 2, clientHeight / 2);
      page.together(pane, before);
    };
    const isPicture = event.target === pane.canvas.element || event.target === document.body;
    const follow = (direction) => void page.at("selecting", async () => {
      const next = pane.neighbor(direction);
      if (next !== void 0) await page.select(pane, next, true);
    });
    const step = (by) => void page.at("searching", () => page.search.step(by));
    const keys = {
      "/": () => page.search.field.focus(),
      "+": () => zoom(1.25),
      "=": () => zoom(1.25),
      "-": () => zoom(0.8),
      "0": () => pane.canvas.fit(),
      "?": () => help(),
      n: () => step(1),
      p: () => step(-1),
      Escape: () => page.escape(),
      ...isPicture ? {
        Enter: () => void page.at("opening", () => page.toggle(pane, pane.selected)),
        ArrowDown: () => follow("down"),
        ArrowUp: () => follow("up"),
        ArrowLeft: () => follow("left"),
        ArrowRight: () => follow("right")
      } : {}
    };
    const digit = PANELS[Number(event.key) - 1];
    const action = keys[event.key] ?? (digit && (() => page.tab(digit)));
    if (!action) return;
    action();
    event.preventDefault();
  }

  // src/pane.ts
  var MOST_OPEN = 6e4;
  var DOUBLE = { time: 500, distance: 8 };
  var TOGETHER = 128;
  var Pane = class {
    element;
    canvas;
    side;
    title = element("div", { class: "pane-title", hidden: "" });
    /** The paths of the boxes that are open. */
    open = /* @__PURE__ */ new Set();
    selected = "";
    /** Whether edges show the values of the last run. */
    hasValues = false;
    /** Whether the picture is not that of what is loaded and open. */
    isStale = true;
    engine;
    events;
    levels = /* @__PURE__ */ new Map();
    parents = [];
    /** The last click. What it shows may move what is under the pointer, so a double click is about the box of its first one. */
    clicked;
    constructor(engine, side, events) {
      this.engine = engine;
      this.side = side;
      this.events = events;
      const label = side === 0 ? "Picture of the model; the tree beside it has the same boxes" : "Picture of the older model";
      const canvas = element("canvas", { id: side === 0 ? "canvas" : "canvas-older", tabindex: "0", role: "img", "aria-label": label });
      this.canvas = new Canvas(canvas);
      this.canvas.titled = () => this.title.hidden ? 0 : this.title.offsetTop + this.title.offsetHeight;
      this.element = element("div", { class: "pane" }, this.title, canvas);
      this.listen(canvas);
    }
    listen(canvas) {
      let drag;
      const pointers = /* @__PURE__ */ new Map();
      const moved = (before) => this.events.moved(this, before);
      canvas.addEventListener("pointerdown", (event) => {
        canvas.setPointerCapture(event.pointerId);
        pointers.set(event.pointerId, event);
        drag = { x: event.offsetX, y: event.offsetY, moved: 0 };
      });
      canvas.addEventListener("pointermove", (event) => {
        if (!drag || !pointers.has(event.pointerId)) return;
        const before = { ...this.canvas.view };
        if (pointers.size === 2) {
          const width = distance([...pointers.values()]);
          pointers.set(event.pointerId, event);
          const after = distance([...pointers.values()]);
          if (width > 0) this.canvas.zoom(after / width, event.offsetX, event.offsetY);
          drag.moved += 10;
        } else {
          pointers.set(event.pointerId, event);
          const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
          drag = { x: event.offsetX, y: event.offsetY, moved: drag.moved + Math.abs(dx) + Math.abs(dy) };
          this.canvas.look({ ...before, x: before.x + dx, y: before.y + dy });
        }
        moved(before);
      });
      const end = (event) => {
        pointers.delete(event.pointerId);
        if (drag && drag.moved < 4 && event.type === "pointerup") this.click(event);
        if (pointers.size === 0) drag = void 0;
      };
      canvas.addEventListener("pointerup", end);
      canvas.addEventListener("pointercancel", end);
      canvas.addEventListener(
        "wheel",
        (event) => {
          event.preventDefault();
          const before = { ...this.canvas.view };
          if (event.ctrlKey || !event.shiftKey) {
            this.canvas.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
          } else {
            this.canvas.look({ ...before, x: before.x - event.deltaY });
          }
          moved(before);
        },
        { passive: false }
      );
    }
    /** Whether an event is at the place of the last click. */
    isAgain(event) {
      const { clicked } = this;
      return clicked !== void 0 && Math.hypot(event.clientX - clicked.x, event.clientY - clicked.y) < DOUBLE.distance;
    }
    /** Whether a click is the second one of a double click. */
    isSecond(event) {
      return this.clicked !== void 0 && event.timeStamp - this.clicked.time < DOUBLE.time && this.isAgain(event);
    }
    /** Opens or closes the box of a double click, whatever is under the pointer by now. */
    doubled(event) {
      const { clicked } = this;
      if (clicked?.path && !clicked.isToggle && this.isAgain(event)) this.events.toggle(this, clicked.path);
      this.clicked = void 0;
    }
    click(event) {
      const { view } = this.canvas;
      if (this.isSecond(event)) return;
      const box = this.canvas.at(event.offsetX, event.offsetY);
      this.clicked = { time: event.timeStamp, x: event.clientX, y: event.clientY, path: box?.path ?? "", isToggle: false };
      if (!box) {
        this.events.select(this, "", false);
        return;
      }
      const x = (event.offsetX - view.x) / view.scale - box.x;
      const y = (event.offsetY - view.y) / view.scale - box.y;
      this.clicked.isToggle = box.item.in !== void 0 && x < 24 && y < 24;
      if (this.clicked.isToggle) this.events.toggle(this, box.path);
      else this.events.select(this, box.path, event.shiftKey);
    }
    /** Takes the places of the levels of a model that is new or was changed. */
    begin(overview) {
      this.parents = overview.parents;
      this.levels.clear();
      this.isStale = true;
      this.hasValues = false;
      this.canvas.marked.clear();
    }
    box(path) {
      return this.canvas.picture.boxes.find((box) => box.path === path);
    }
    /** The path of a box of a level, where it is first shown. */
    pathOf(level, item) {
      const path = [item];
      for (let parent = this.parents[level]; parent; parent = this.parents[parent[0]]) path.unshift(parent[1]);
      return path.join("/");
    }
    /** Loads the levels of boxes and those around them. */
    async load(paths) {
      await this.level(0);
      let outer = [...paths].filter((path) => path !== "").map((path) => ({ level: 0, rest: path.split("/") }));
      while (outer.length > 0) {
        const inner2 = outer.flatMap(({ level, rest: [index, ...rest] }) => {
          const inside = this.levels.get(level)?.items[Number(index)]?.in;
          return inside === void 0 ? [] : [{ level: inside, rest }];
        });
        await this.loadLevels(inner2.map(({ level }) => level));
        outer = inner2.filter(({ rest }) => rest.length > 0);
      }
    }
    level(id) {
      return this.loadLevels([id]);
    }
    /** Loads levels, many with a request. */
    async loadLevels(ids) {
      const missing = [...new Set(ids)].filter((id) => !this.levels.has(id));
      for (let at = 0; at < missing.length; at += TOGETHER) {
        const part = missing.slice(at, at + TOGETHER);
        const { levels, labels } = this.engine.levels ? await this.engine.levels(part, this.hasValues, this.side) : { levels: await Promise.all(part.map((id) => this.engine.level(id, this.side))), labels: [] };
        part.forEach((id, nth) => {
          const level = levels[nth];
          if (!level) return;
          labels[nth]?.forEach((label, index) => {
            const edge = level.edges[index];
            if (edge && label !== null) edge.label = label;
          });
          this.levels.set(id, level);
          this.isStale = true;
        });
      }
    }
    /** Opens these boxes and no others. */
    opens(paths) {
      this.open.clear();
      for (const path of paths) this.open.add(path);
      this.isStale = true;
    }
    async render() {
      this.canvas.selected = this.selected;
      if (this.isStale) await this.canvas.show(await sliced(composed(0, this.levels, this.open)));
      else this.canvas.draw();
      this.isStale = false;
    }
    /** Levels again, with the same boxes open, after marks or the model changed. */
    async reload() {
      this.levels.clear();
      await this.load(this.open);
      await this.render();
    }
    /** Opens or closes a box, which stays where it is on the screen. Returns `false` if it cannot be opened. */
    async toggle(path) {
      const before = this.box(path);
      if (!before || before.item.in === void 0) return false;
      if (this.open.has(path)) this.open.delete(path);
      else {
        await this.level(before.item.in);
        this.open.add(path);
      }
      this.isStale = true;
      await this.render();
      const after = this.box(path);
      if (after) {
        const { view } = this.canvas;
        const middle = before.x + before.w / 2 - (after.x + after.w / 2);
        this.canvas.view = { ...view, x: view.x + middle * view.scale, y: view.y + (before.y - after.y) * view.scale };
      }
      return true;
    }
    async openAll() {
      await this.level(0);
      let outer = [[0, ""]];
      for (let count = 0; outer.length > 0 && count < MOST_OPEN; ) {
        const inner2 = [];
        for (const [id, path] of outer) {
          const items = this.levels.get(id)?.items ?? [];
          count += items.length;
          if (count >= MOST_OPEN || path.split("/").length > 40) break;
          items.forEach((item, index) => {
            if (item.in !== void 0) inner2.push([item.in, path ? `${path}/${index}` : String(index)]);
          });
        }
        await this.loadLevels(inner2.map(([id]) => id));
        for (const [, path] of inner2) this.open.add(path);
        outer = inner2;
      }
      this.isStale = true;
      await this.render();
      this.canvas.fit();
    }
    async closeAll() {
      this.opens([]);
      this.selected = this.selected.split("/")[0] ?? "";
      await this.render();
      this.canvas.fit();
    }
    /** Selects a box; everything around it is opened. */
    async select(path, reveal) {
      const parts = path.split("/");
      const around = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
      this.selected = path;
      if (around.every((outer) => this.open.has(outer))) {
        this.canvas.selected = path;
        this.canvas.draw();
      } else {
        await this.load([path]);
        for (const outer of around) this.open.add(outer);
        this.isStale = true;
        await this.render();
      }
      if (reveal) this.canvas.reveal(path);
    }
    /** Marks boxes, and the closed boxes around them. */
    mark(paths) {
      this.canvas.marked = new Set(
        paths.flatMap((path) => path.split("/").map((_, index, parts) => parts.slice(0, index + 1).join("/")))
      );
      this.canvas.draw();
    }
    color(coloring) {
      this.canvas.coloring = coloring;
      this.canvas.draw();
    }
    /** The box that a key leads to: a user, a maker, or a neighbor in the same rank. */
    neighbor(direction) {
      const { boxes, lines } = this.canvas.picture;
      if (!this.selected) return boxes[0]?.path;
      if (direction === "up" || direction === "down") {
        const isDown = direction === "down";
        const line = lines.find((line2) => (isDown ? line2.from : line2.to) === this.selected);
        return line && (isDown ? line.to : line.from);
      }
      const box = this.box(this.selected);
      if (!box) return void 0;
      const parent = this.selected.slice(0, this.selected.lastIndexOf("/") + 1);
      const rank = boxes.filter((other) => other.level === box.level && other.item.r === box.item.r && other.path.startsWith(parent)).sort((a, b) => a.x - b.x);
      return rank[rank.findIndex((other) => other.path === box.path) + (direction === "right" ? 1 : -1)]?.path;
    }
  };
  function distance(events) {
    const [a, b] = events;
    return a && b ? Math.hypot(a.offsetX - b.offsetX, a.offsetY - b.offsetY) : 0;
  }

  // src/search.ts
  var NONE = { hits: [], count: 0 };
  var Search = class {
    field = element("input", { id: "search", type: "search", placeholder: "Search: name or Softmax() -> MatMul()", "aria-label": "Search" });
    found = element("span", { id: "found" });
    /** The box at which a path begins whose other end is not chosen yet. */
    from;
    page;
    hits = [];
    /** Number of matches, of which `hits` are the first. */
    count = 0;
    hit = -1;
    side = 0;
    /** The text whose matches are shown. */
    text = "";
    /** The text that was asked for last. */
    asked = "";
    constructor(page) {
      this.page = page;
      this.field.addEventListener("change", () => this.begin());
      this.field.addEventListener("keydown", (event) => {
        const isSame = this.field.value.trim() === this.text;
        if (event.key !== "Enter") return;
        if (isSame && this.hits.length > 0) void page.at("searching", () => this.entered(event.shiftKey));
        else this.begin();
      });
    }
    /** Searches the text of the field. A key and the change of the field that follows it are one request. */
    begin() {
      const text2 = this.field.value.trim();
      if (text2 === this.asked) return;
      this.asked = text2;
      void this.page.act("searching", () => this.find());
    }
    async entered(isBack) {
      const end = this.from === void 0 ? void 0 : this.hits[this.hit];
      if (end) await this.page.go(end.level, end.item);
      else await this.step(isBack ? -1 : 1);
    }
    async find() {
      const { page, from } = this;
      const text2 = this.field.value.trim();
      this.forget();
      [this.text, this.asked, this.from] = [text2, text2, from];
      if (!text2) {
        page.work.rest();
        page.remember(false);
        return;
      }
      const found = await page.engine.search(text2);
      this.take(found, 0);
      const isEnd = from !== void 0 && found.count > 1;
      const matches = `${found.count} ${found.count === 1 ? "match" : "matches"}${this.cut()}${hidden(found)}`;
      page.work.say(found.note ?? (isEnd ? `${matches} are marked: ‹ and › step through them; a click on one, or Enter in the search, takes it as the other end of the path` : matches));
      if (this.hits.length > 0 && !isEnd) await this.step(1);
      page.remember(false);
    }
    /** Says that not all matches are listed. */
    cut() {
      return this.count > this.hits.length ? `, of which the first ${this.hits.length}` : "";
    }
    /** Searches the text of a link. */
    async restore(text2) {
      if (!text2 || text2 === this.field.value) return;
      this.field.value = text2;
      [this.text, this.asked] = [text2, text2];
      this.take(await this.page.engine.search(text2), 0);
    }
    /** Ends a search or a path, whose matches are boxes of the model as it was. */
    forget() {
      this.take(NONE, 0);
      this.found.textContent = "";
      [this.text, this.asked, this.from] = ["", "", void 0];
    }
    /** Empties the field, too. */
    clear() {
      this.field.value = "";
      this.forget();
    }
    take(found, side) {
      [this.hits, this.count, this.hit, this.side] = [found.hits, found.count, -1, side];
      this.found.textContent = String(found.count);
      const pane = this.pane();
      pane.mark(found.hits.map((hit) => pane.pathOf(hit.level, hit.item)));
    }
    pane() {
      const { panes, main } = this.page;
      return panes.find((pane) => pane.side === this.side) ?? main;
    }
    async step(by) {
      const { length } = this.hits;
      if (length === 0) return;
      this.hit = (this.hit + by + length) % length;
      const hit = this.hits[this.hit];
      const pane = this.pane();
      const path = pane.pathOf(hit.level, hit.item);
      if (length === 1 && this.from !== void 0) {
        await this.page.select(pane, path, true);
        return;
      }
      await this.page.selected(pane, path, true, hit.folded);
      const more = this.count > length ? ` of ${this.count}` : "";
      this.found.textContent = `${this.hit + 1} / ${length}${more}`;
      const without = hit.folded === void 0 ? "" : ", which is in the box of its user";
      this.page.work.say(`match ${this.hit + 1} of ${this.count}${more ? `, of which the first ${length} are listed` : ""}: ${hit.label}${without}`);
    }
    /** Marks the nodes between a box, by default the selected one, and another one. */
    async path(pane, path, from = pane.selected) {
      const { page } = this;
      if (!page.engine.path) return;
      for (const end of [from, path]) if (!pane.box(end)) await pane.select(end, false);
      const [a, b] = [pane.box(from), pane.box(path)];
      if (!a || !b || a === b) {
        page.work.say("a path has two ends: select one box, and choose another one");
        return;
      }
      const found = await page.engine.path([a.level, a.index], [b.level, b.index], pane.side);
      this.take(found, pane.side);
      [this.field.value, this.text, this.asked] = ["", "", ""];
      await page.marked(pane, path);
      const isEnd = ({ level, item }) => [from, path].some((end) => `${pane.pathOf(level, item)}/`.startsWith(`${end}/`));
      const between = found.count - found.hits.filter(isEnd).length;
      const nodes = between === 1 ? "1 node" : `${between} nodes`;
      page.work.say(found.note ?? `${nodes} between ${a.item.t} and ${b.item.t}: ‹ and › step through the ${found.count} that are marked, the ends included${this.cut()}`);
    }
  };
  function hidden({ hidden: hidden2 }) {
    if (!hidden2) return "";
    return hidden2 === 1 ? "; 1 more is not in the picture" : `; ${hidden2} more are not in the picture`;
  }

  // src/state.ts
  var MOST_OPEN2 = 200;
  var isPath = (path) => /^\d+(\/\d+)*$/.test(path);
  function fingerprint({ facts, parents }) {
    let hash = 2166136261;
    for (const c of JSON.stringify([facts, parents])) hash = Math.imul(hash ^ (c.codePointAt(0) ?? 0), 16777619) >>> 0;
    return hash.toString(36);
  }
  function read() {
    const state = new URLSearchParams(location.hash.slice(1));
    const at = state.get("at") ?? "";
    return {
      color: state.get("color"),
      open: (state.get("open") ?? "").split(",").filter(isPath),
      at: isPath(at) ? at : "",
      panel: state.get("panel") ?? void 0,
      find: state.get("find") ?? "",
      model: state.get("model") ?? void 0,
      of: state.get("of") ?? void 0
    };
  }
  function write(state, isStep) {
    const parts = [`color=${state.color}`];
    if (state.open.length > 0 && state.open.length < MOST_OPEN2) parts.push(`open=${state.open.join(",")}`);
    if (state.at) parts.push(`at=${state.at}`);
    if (state.panel) parts.push(`panel=${state.panel}`);
    if (state.find) parts.push(`find=${encodeURIComponent(state.find)}`);
    if (state.model) parts.push(`model=${encodeURIComponent(state.model)}`);
    if (state.of) parts.push(`of=${state.of}`);
    const hash = `#${parts.join("&")}`;
    if (hash === location.hash) return;
    if (isStep) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
  }

  // src/work.ts
  var PATIENCE = 700;
  var ASK = 500;
  var OPENING = "reading the files";
  var MOST_WAITING = 30;
  var Work = class {
    status = element("div", { id: "status", role: "status" });
    busy = element("div", { id: "busy", role: "alert", hidden: "" });
    notice = element("div", { id: "notice", role: "alert", hidden: "" });
    engine;
    events;
    waiting = [];
    current;
    facts = "";
    constructor(engine, events) {
      this.engine = engine;
      this.events = events;
    }
    /** Takes the lines about a model that is new or was changed. */
    begin(facts) {
      this.facts = facts.filter(([, value]) => value !== "").map(([name, value]) => `${name}: ${value}`).join(" · ");
      this.rest();
    }
    /** Says what was done, until the next thing is done. */
    say(text2) {
      this.status.textContent = text2;
      this.status.title = text2;
      this.status.classList.remove("error");
    }
    /** Says what the model is. */
    rest() {
      this.notice.hidden = true;
      this.say(this.facts);
    }
    /** Says what failed, where it cannot be overlooked. */
    warn(text2) {
      this.say(text2);
      this.status.classList.add("error");
      this.notice.replaceChildren(element("p", {}, text2), button("Close", () => this.notice.hidden = true, { id: "notice-close" }));
      this.notice.hidden = false;
    }
    /** Does the first work. Its errors are those of the caller. */
    async first(work) {
      this.current = { what: "reading", work, once: void 0, done: () => void 0 };
      try {
        await work();
      } finally {
        this.current = void 0;
        void this.next();
      }
    }
    /**
     * Does what the user asks for, after what was asked before: errors are said, and work that takes long can be ended. What has a name
     * in `once` is not begun while the same goes on or waits: the second click of a double click is not another request. Work does
     * not call this.
     */
    guard(what, work, once) {
      const begun = this.current ? [this.current, ...this.waiting] : this.waiting;
      if (once !== void 0 && begun.some((task) => task.once === once)) {
        if (what === OPENING || !this.busy.hidden) this.warn(`The same is worked on already. Wait for it${this.engine.cancel ? " or cancel it" : ""}, then do this again.`);
        return Promise.resolve();
      }
      if (this.waiting.length >= MOST_WAITING) return Promise.resolve();
      return new Promise((done) => {
        this.waiting.push({ what, work, once, done });
        document.body.dataset["busy"] = this.current?.what ?? what;
        void this.next();
      });
    }
    /** Whether requests wait. */
    get isWaiting() {
      return this.waiting.length > 0;
    }
    async next() {
      if (this.current) return;
      for (let task = this.waiting.shift(); task; task = this.waiting.shift()) {
        this.current = task;
        await this.run(task);
        this.current = void 0;
        task.done();
      }
      delete document.body.dataset["busy"];
    }
    /** Says what the page waits for before there is a model; without a text, that it goes on. */
    waits(text2) {
      this.busy.replaceChildren(text2 ?? "");
      this.busy.hidden = text2 === void 0;
    }
    /** Says what goes on, and how far it is. */
    async watch(task) {
      const begin = performance.now() - PATIENCE;
      const far = element("span", { "aria-live": "off", id: "progress" });
      this.busy.replaceChildren(`${task.what} … `, far);
      const { cancel } = this.engine;
      if (cancel) this.busy.append(button("Cancel", cancel, { id: "cancel" }));
      this.busy.hidden = false;
      while (this.current === task) {
        const progress = await this.engine.progress?.().catch(() => void 0) ?? {};
        far.textContent = [...amounts(progress), `${Math.round((performance.now() - begin) / 1e3)} s`].join(", ");
        await new Promise((done) => setTimeout(done, ASK));
      }
    }
    async run(task) {
      const { what, work } = task;
      this.notice.hidden = true;
      if (!this.events.isChoosing()) this.rest();
      document.body.dataset["busy"] = what;
      const timer = setTimeout(() => void this.watch(task), PATIENCE);
      try {
        await work();
      } catch (error) {
        await this.failed(what, error);
      } finally {
        clearTimeout(timer);
        this.busy.hidden = true;
      }
    }
    async failed(what, error) {
      for (const task of this.waiting.splice(0)) task.done();
      let text2 = message(error);
      if (error instanceof Restored) {
        try {
          text2 = await error.outcome;
          await this.events.restart();
        } catch (failure) {
          text2 = message(failure);
        }
      }
      this.warn(what === OPENING ? `Not opened: ${text2}. What is shown stays.` : text2);
    }
  };
  function amounts(progress) {
    const { edit, run, ...parts } = progress;
    if (edit) return [edit[0] === 1 ? "1 edit" : `${edit[0].toLocaleString("en")} edits`];
    if (run) return [`${run[0].toLocaleString("en")} operations`];
    const [done, total] = Object.values(parts).sort((a, b) => b[1] - a[1])[0] ?? [0, 0];
    return total > 0 ? [`${Math.min(100, Math.floor(100 * done / total))} %`] : [];
  }
  var message = (error) => error instanceof Error ? error.message : String(error);

  // src/start.ts
  var MOST_BYTES = 19e8;
  function checked(files) {
    if (files.model.size > MOST_BYTES) {
      const size = (files.model.size / 1e9).toFixed(1);
      throw new Error(`${files.name} has ${size} GB, which a tab cannot hold: \`onnx view\` opens it in this page, whatever its size`);
    }
    return files;
  }
  async function openAll(engine, sources) {
    const found = models(sources);
    const [first, second] = found;
    if (!first) throw new Error("there is no model: no file with the extension .onnx, .onnxtxt, .textproto or .json");
    if (found.length > 2) {
      const names = found.slice(0, 5).map((model) => model.path);
      throw new Error(`there are ${found.length} models: drop one, or two for a comparison (${names.join(", ")}…)`);
    }
    const older = second && checked(beside(first, sources));
    await engine.open?.(checked(beside(second ?? first, sources)), older);
  }
  async function openOlder(engine, sources) {
    const [found] = models(sources);
    if (!found) throw new Error("there is no model among the files");
    await engine.older?.(checked(beside(found, sources)));
  }
  function start(root2, engine, begin) {
    const accept = ".onnx,.onnxtxt,.textproto,.pbtxt,.json,.zip,.data,.bin";
    const input = element("input", { type: "file", id: "file", "aria-label": "Files of a model", accept, multiple: "", class: "hidden" });
    const folder = element("input", { type: "file", id: "folder", "aria-label": "A folder with a model", webkitdirectory: "", class: "hidden" });
    const message2 = element("p", { id: "message", role: "status" }, "Files stay in this tab; nothing is sent.");
    const { model } = read();
    const zone = element(
      "main",
      { id: "drop" },
      element("h1", {}, "Drop an ONNX model here"),
      element("p", {}, "a file, a folder or a .zip with its external data; or two models for a comparison, the older one first"),
      element("p", { class: "actions" }, button("Choose files…", () => input.click(), { class: "primary" }), button("Choose a folder…", () => folder.click())),
      input,
      folder,
      ...model === void 0 ? [] : [element("p", { id: "belongs" }, `This link shows a place in ${model}: open that model.`)],
      message2
    );
    root2.replaceChildren(zone);
    const take = async (sources) => {
      if (document.body.dataset["busy"] !== void 0) return;
      message2.classList.remove("error");
      message2.textContent = "reading …";
      document.body.dataset["busy"] = "reading";
      const timer = setTimeout(() => message2.append(" ", button("Cancel", () => engine.cancel?.(), { id: "cancel" })), PATIENCE);
      try {
        await openAll(engine, await sources());
        await begin();
      } catch (error) {
        if (!zone.isConnected) root2.replaceChildren(zone);
        message2.classList.add("error");
        message2.textContent = error instanceof Error ? error.message : String(error);
      } finally {
        clearTimeout(timer);
        delete document.body.dataset["busy"];
      }
    };
    for (const field of [input, folder]) picks(field, (files) => void take(() => chosen(files)));
    return (sources) => void take(sources);
  }

  // src/tree.ts
  var MOST = 2e3;
  var MARK = 20;
  var Tree = class {
    element = element("nav", { id: "tree", "aria-label": "Boxes of the model" });
    events;
    items = /* @__PURE__ */ new Map();
    constructor(events) {
      this.events = events;
      this.element.addEventListener("click", (event) => {
        const path = pathOf(event.target);
        if (path === void 0) return;
        if (this.isMark(path, event)) this.events.toggle(path);
        else this.events.choose(path);
      });
      this.element.addEventListener("dblclick", (event) => {
        const path = pathOf(event.target);
        if (path !== void 0 && !this.isMark(path, event)) this.events.toggle(path);
      });
      this.element.addEventListener("keydown", (event) => this.key(event));
    }
    show(picture, selected) {
      const hadFocus = this.element.contains(document.activeElement);
      const { scrollTop } = this.element;
      this.items.clear();
      const root2 = element("div", { role: "tree", "aria-label": "Boxes" });
      for (const box of picture.boxes.slice(0, MOST)) {
        if (box.item.k === "arriving" || box.item.k === "leaving") continue;
        root2.append(this.item(box, selected));
      }
      this.element.replaceChildren(root2);
      this.element.scrollTop = scrollTop;
      const first = this.items.get(selected) ?? this.items.values().next().value;
      first?.setAttribute("tabindex", "0");
      if (hadFocus) first?.focus({ preventScroll: true });
      this.reveal(selected);
    }
    isMark(path, event) {
      const item = this.items.get(path);
      if (!item?.hasAttribute("aria-expanded") || event.detail === 0) return false;
      const x = event.clientX - item.getBoundingClientRect().left;
      return x >= 0 && x < MARK;
    }
    /** Scrolls to an item that is not visible. Only the tree moves. */
    reveal(path) {
      const item = this.items.get(path)?.getBoundingClientRect();
      const tree = this.element.getBoundingClientRect();
      if (!item || item.top >= tree.top && item.bottom <= tree.bottom) return;
      this.element.scrollTop += item.top + item.height / 2 - (tree.top + tree.height / 2);
    }
    /** Changes the selection only. */
    mark(selected) {
      for (const item2 of this.element.querySelectorAll('[aria-selected="true"], [tabindex="0"]')) {
        item2.setAttribute("aria-selected", "false");
        item2.setAttribute("tabindex", "-1");
      }
      const item = this.items.get(selected) ?? this.items.values().next().value;
      item?.setAttribute("tabindex", "0");
      if (this.items.has(selected)) item?.setAttribute("aria-selected", "true");
      this.reveal(selected);
    }
    item(box, selected) {
      const { item } = box;
      const detail = item.l?.[0] ?? "";
      const state = box.isOpen ? "▾ " : item.in === void 0 ? "" : "▸ ";
      const kind = item.k === "input" || item.k === "output" ? `${item.k} ` : "";
      const finding = item.s ? `, ${item.s}` : "";
      const made = element(
        "div",
        {
          role: "treeitem",
          tabindex: "-1",
          "data-path": box.path,
          "aria-level": String(box.depth + 1),
          "aria-label": `${kind}${item.t}${detail ? `, ${detail}` : ""}${finding}`,
          "aria-selected": String(box.path === selected),
          ...item.in === void 0 ? {} : { "aria-expanded": String(box.isOpen) }
        },
        `${state}${kind}${item.t}${item.s ? " ●" : ""}`
      );
      made.style.marginLeft = `${4 + 14 * box.depth}px`;
      this.items.set(box.path, made);
      return made;
    }
    key(event) {
      const path = pathOf(event.target);
      if (path === void 0) return;
      const all = [...this.items.keys()];
      const at = all.indexOf(path);
      const isOpen = this.items.get(path)?.getAttribute("aria-expanded");
      const go = (next) => {
        const item = next === void 0 ? void 0 : this.items.get(next);
        if (!item || next === void 0) return;
        this.events.select(next);
        this.items.get(next)?.focus();
      };
      switch (event.key) {
        case "ArrowDown":
          go(all[at + 1]);
          break;
        case "ArrowUp":
          go(all[at - 1]);
          break;
        case "Home":
          go(all[0]);
          break;
        case "End":
          go(all.at(-1));
          break;
        case "ArrowRight":
          if (isOpen === "false") this.events.toggle(path);
          else if (isOpen === "true") go(all[at + 1]);
          break;
        case "ArrowLeft":
          if (isOpen === "true") this.events.toggle(path);
          else if (path.includes("/")) go(path.slice(0, path.lastIndexOf("/")));
          break;
        case "Enter":
        case " ":
          this.events.toggle(path);
          break;
        default:
          return;
      }
      event.preventDefault();
      event.stopPropagation();
    }
  };
  function pathOf(target) {
    const item = target instanceof Element ? target.closest("[data-path]") : null;
    return item?.getAttribute("data-path") ?? void 0;
  }

  // src/page.ts
  var GIVE_WAY = ["simplify", "changes"];
  var COLORINGS = ["type", "cost", "scope", "findings", "diff"];
  var Page = class {
    engine;
    work;
    search;
    panes;
    overview;
    shown;
    /** The node of the details, if it is one that computes a weight of the node with the box that is selected. */
    folded;
    tree;
    contents;
    panel = element("aside", { id: "panel", "aria-label": "Panel", hidden: "", tabindex: "-1" });
    title = element("h1", {}, document.title);
    coloring = element("select", { id: "coloring", "aria-label": "Color by" });
    undo;
    picture = element("main", { id: "picture" });
    tabs = /* @__PURE__ */ new Map();
    /** What the panel is about. */
    about;
    isStill = false;
    constructor(root2, engine) {
      this.engine = engine;
      this.work = new Work(engine, { restart: () => this.start(), isChoosing: () => this.search.from !== void 0 });
      this.search = new Search(this);
      this.contents = new Contents(this);
      this.panes = [this.pane(0)];
      this.tree = new Tree({
        choose: (path) => {
          this.closeTree();
          void this.at("selecting", () => this.select(this.main, path, true));
        },
        select: (path) => void this.at("selecting", () => this.select(this.main, path, true)),
        toggle: (path) => void this.at("opening", () => this.toggle(this.main, path))
      });
      for (const name of COLORINGS) if (name !== "diff") this.coloring.append(element("option", { value: name }, `color: ${name}`));
      this.undo = button("Undo", this.undoes, { id: "undo", disabled: "" });
      root2.replaceChildren(this.header(), this.tree.element, this.picture, this.panel, this.rail(), this.work.status);
      this.picture.append(this.main.element, this.work.busy, this.work.notice);
      this.listen();
    }
    /** Does what the user asks for. */
    act(what, work, once) {
      return this.work.guard(what, work, once);
    }
    /** Does what is about a place of the model, unless the model is another one when its turn comes. */
    at(what, work) {
      const { overview } = this;
      return this.work.guard(what, async () => {
        if (this.overview === overview) await work();
      });
    }
    get main() {
      return this.panes[0];
    }
    pane(side) {
      const pane = new Pane(this.engine, side, {
        select: (pane2, path, isPath2) => void this.at("selecting", () => isPath2 ? this.search.path(pane2, path) : this.select(pane2, path, false)),
        toggle: (pane2, path) => void this.at("opening", () => this.toggle(pane2, path)),
        moved: (pane2, before) => this.together(pane2, before)
      });
      pane.canvas.covered = () => this.covered(pane);
      return pane;
    }
    /** Pixels of a picture that the panel covers, which is over it where there is no room beside it. */
    covered(pane) {
      if (this.panel.hidden) return 0;
      const [canvas, panel] = [pane.canvas.element.getBoundingClientRect(), this.panel.getBoundingClientRect()];
      return panel.left < canvas.right - 1 ? Math.min(Math.max(canvas.bottom - panel.top, 0), canvas.height) : 0;
    }
    header() {
      const { engine } = this;
      const tree = button("☰", () => document.body.classList.toggle("tree-shown"), { id: "tree-button", "aria-label": "Boxes as a tree" });
      const header = element("header", {}, tree, this.title, this.search.field);
      header.append(
        button("‹", () => void this.at("searching", () => this.search.step(-1)), { id: "previous", "aria-label": "Previous match" }),
        button("›", () => void this.at("searching", () => this.search.step(1)), { id: "next", "aria-label": "Next match" }),
        this.search.found,
        this.coloring,
        button("Fit", () => this.main.canvas.fit(), { id: "fit" }),
        button("Open all", () => void this.act("opening", () => this.openAll()), { id: "open-all" }),
        button("Close all", () => void this.act("closing", () => this.closeAll()), { id: "close-all" })
      );
      if (engine.undo) header.append(this.undo);
      if (engine.save) header.append(button("Save", this.saves, { id: "save", class: "primary" }));
      if (engine.open) {
        const input = element("input", { type: "file", id: "reopen", "aria-label": "Open another model", multiple: "", class: "hidden" });
        picks(input, (files) => void this.reopen(() => chosen(files)));
        header.append(input, button("Open…", () => input.click(), { id: "open" }));
      }
      return header;
    }
    /** The tabs of the panel. */
    rail() {
      const { engine } = this;
      const rail = element("nav", { id: "rail", "aria-label": "Panels" });
      for (const name of available(engine)) {
        const made = button(TITLES[name], () => this.tab(name), { id: `panel-${name}`, "aria-pressed": "false" });
        this.tabs.set(name, made);
        rail.append(made);
      }
      rail.append(element("span", { class: "space" }));
      if (engine.picture) rail.append(button("SVG", () => void this.act("drawing", () => this.svg()), { id: "save-svg", "aria-label": "Save the picture as SVG" }));
      rail.append(
        button("PNG", () => void this.act("drawing", () => this.png()), { id: "save-png", "aria-label": "Save the picture as PNG" }),
        button("◐", () => this.theme(), { id: "theme", "aria-label": "Light or dark" }),
        button("?", () => help(), { id: "help", "aria-label": "Keys" })
      );
      return rail;
    }
    /** Closes the tree, which is over the picture where there is no room beside it. */
    closeTree() {
      const wasShown = document.body.classList.contains("tree-shown");
      document.body.classList.remove("tree-shown");
      return wasShown;
    }
    /** Opens a panel, or closes it. */
    tab(name) {
      if (!this.tabs.has(name) || name === "changes" && !this.contents.hasChanges) return;
      this.closeTree();
      if (this.shown === name && !this.work.isWaiting) void this.show(void 0);
      else void this.act(name, () => this.show(this.shown === name ? void 0 : name));
    }
    listen() {
      this.picture.addEventListener("pointerdown", () => this.closeTree());
      this.coloring.addEventListener("change", () => {
        this.color(this.coloring.value);
        this.remember(false);
      });
      window.addEventListener("resize", () => this.resize());
      window.addEventListener("popstate", () => void this.act("reading", () => this.moved()));
      document.addEventListener("keydown", (event) => press(this, event));
      window.addEventListener("unhandledrejection", (event) => {
        event.preventDefault();
        this.work.warn(event.reason instanceof Error ? event.reason.message : String(event.reason));
      });
      this.panel.addEventListener(
        "click",
        (event) => {
          if (!this.panes.some((pane) => pane.isSecond(event))) return;
          event.preventDefault();
          event.stopPropagation();
        },
        { capture: true }
      );
      document.addEventListener("dblclick", (event) => {
        const isHere = event.target instanceof Node && (this.picture.contains(event.target) || this.panel.contains(event.target));
        if (isHere) for (const pane of this.panes) pane.doubled(event);
      });
    }
    /** Takes files that were dropped. */
    drop(sources) {
      for (const dialog of document.querySelectorAll("dialog")) dialog.close();
      if (this.engine.open) void this.reopen(sources);
      else this.work.warn("This page shows the files that it was made for. `onnx view FILE` shows another one.");
    }
    /** Shows the model from the beginning. */
    async start() {
      for (const pane of this.panes) {
        pane.opens([]);
        pane.selected = "";
      }
      const overview = await this.refresh();
      this.color(overview.coloring);
      this.resize();
      const problem = await this.restore();
      if (overview.other !== void 0 && this.engine.compare) await this.compare(this.engine.compare);
      else if (this.panes.length > 1) this.dropOlder();
      for (const pane of this.panes) pane.canvas.fit();
      if (this.main.selected) this.main.canvas.reveal(this.main.selected);
      document.body.dataset["ready"] = "true";
      if (problem) this.work.warn(problem);
      this.count();
    }
    /** The number of findings on the tab. */
    count() {
      const { engine } = this;
      const tab = this.tabs.get("findings");
      if (!engine.findings || !tab) return;
      void engine.findings().then((found) => {
        const count = found.counts[0] + found.counts[1];
        tab.textContent = count > 0 ? `${TITLES.findings} ${count}` : TITLES.findings;
        tab.classList.toggle("error", found.counts[0] > 0);
      }, () => void 0);
    }
    async refresh() {
      const overview = await this.engine.overview();
      this.overview = overview;
      this.main.begin(overview);
      this.title.textContent = overview.title;
      this.title.title = overview.title;
      document.title = overview.title;
      this.undo.disabled = overview.undo === 0;
      this.tabs.get("changes")?.toggleAttribute("hidden", !this.contents.hasChanges);
      this.resize(true);
      this.work.begin(overview.facts);
      return overview;
    }
    async render() {
      for (const pane of this.panes) await pane.render();
      this.tree.show(this.main.canvas.picture, this.main.selected);
    }
    resize(isStill = false) {
      for (const pane of this.panes) pane.canvas.resize(isStill);
    }
    /** Moves the selected box, with the pictures, to where the panel does not hide it. */
    uncover(pane) {
      if (!pane.selected) return;
      const before = pane.canvas.view;
      pane.canvas.reveal(pane.selected, true);
      this.together(pane, before);
    }
    color(coloring) {
      this.coloring.value = coloring;
      for (const pane of this.panes) pane.color(coloring);
    }
    // Two pictures
    /** The box of the other picture that corresponds to one. */
    async counterpart(pane, path) {
      const other = this.panes.find((other2) => other2 !== pane);
      const box = pane.box(path);
      if (!other || !box || !this.engine.counterpart) return void 0;
      const found = await this.engine.counterpart(box.level, box.index, pane.side);
      return found?.path ? { other, path: found.path.join("/") } : void 0;
    }
    /** Moves the other picture with one. */
    together(pane, before) {
      const { view } = pane.canvas;
      for (const other of this.panes) {
        if (other === pane) continue;
        const ratio = view.scale / before.scale;
        const old = other.canvas.view;
        other.canvas.look({ scale: old.scale * ratio, x: view.x + (old.x - before.x) * ratio, y: view.y + (old.y - before.y) * ratio });
      }
    }
    /** Puts a box of the other picture next to that of one. */
    align(pane, path, other, otherPath) {
      const [a, b] = [pane.box(path), other.box(otherPath)];
      if (!a || !b) return;
      const { view } = pane.canvas;
      other.canvas.view = {
        scale: view.scale,
        x: view.x + (a.x + a.w / 2 - (b.x + b.w / 2)) * view.scale,
        y: view.y + (a.y - b.y) * view.scale
      };
      other.canvas.draw();
    }
    async compare(ask) {
      const found = await ask();
      this.contents.comparison = found;
      if (this.panes.length === 1) {
        const older2 = this.pane(1);
        this.panes.push(older2);
        this.picture.prepend(older2.element);
        if (!this.coloring.querySelector("[value=diff]")) this.coloring.append(element("option", { value: "diff" }, "color: diff"));
      }
      const older = this.panes[1];
      older.begin(await this.engine.overview(1));
      for (const [pane, title] of [[older, found.titles[0]], [this.main, found.titles[1]]]) {
        pane.title.hidden = false;
        pane.title.textContent = title;
        await pane.reload();
      }
      this.color("diff");
      await this.render();
      this.resize();
      for (const pane of this.panes) pane.canvas.fit();
      await this.show("compare");
    }
    /** Compares with another model. */
    async compareWith(ask) {
      if (ask) await this.act("comparing", () => this.compare(ask), "compare");
    }
    async single() {
      await this.engine.single?.();
      this.dropOlder();
      await this.main.reload();
      await this.render();
      await this.show("compare");
    }
    dropOlder() {
      this.contents.comparison = void 0;
      for (const pane of this.panes.splice(1)) pane.element.remove();
      this.main.title.hidden = true;
      this.coloring.querySelector("[value=diff]")?.remove();
      if (this.main.canvas.coloring === "diff") this.color("type");
      this.resize();
      this.main.canvas.fit();
    }
    // Boxes
    async toggle(pane, path) {
      const twin = await this.counterpart(pane, path);
      if (!await pane.toggle(path)) return;
      if (twin && twin.other.box(twin.path) && twin.other.open.has(twin.path) !== pane.open.has(path)) {
        await twin.other.toggle(twin.path);
        this.align(pane, path, twin.other, twin.path);
      }
      this.tree.show(this.main.canvas.picture, this.main.selected);
      this.remember(true);
    }
    async openAll() {
      for (const pane of this.panes) await pane.openAll();
      this.tree.show(this.main.canvas.picture, this.main.selected);
      this.remember(true);
    }
    async closeAll() {
      for (const pane of this.panes) await pane.closeAll();
      this.tree.show(this.main.canvas.picture, this.main.selected);
      this.remember(true);
    }
    /** Selects a box, which is the other end of a path that is begun. */
    async select(pane, path, reveal) {
      const { from } = this.search;
      if (from === void 0 || !path) {
        await this.selected(pane, path, reveal);
        return;
      }
      this.search.from = void 0;
      await this.search.path(pane, path, from);
    }
    async selected(pane, path, reveal, folded) {
      const open = pane.open.size;
      await pane.select(path, reveal);
      this.folded = folded;
      const twin = path ? await this.counterpart(pane, path) : void 0;
      if (twin) {
        await twin.other.select(twin.path, false);
        this.align(pane, path, twin.other, twin.path);
      }
      if (pane === this.main || twin) {
        if (this.main.open.size !== open || pane !== this.main) this.tree.show(this.main.canvas.picture, this.main.selected);
        else this.tree.mark(this.main.selected);
      }
      this.remember(true);
      const isReplaced = this.shown === void 0 || GIVE_WAY.includes(this.shown);
      if (this.shown === "details" || path && isReplaced) await this.show(this.engine.details ? "details" : void 0, pane);
      else if (this.shown === "text" && !this.contents.isFollowing) await this.show("text");
    }
    /** Shows the end of a path, whose matches are marked. */
    async marked(pane, path) {
      await pane.select(path, true);
      this.folded = void 0;
      this.tree.show(this.main.canvas.picture, this.main.selected);
      if (this.shown === "details") await this.show("details", pane);
    }
    /** Shows the details of a node that computes a weight of the selected one, or of that one. */
    async look(folded, pane) {
      this.folded = folded;
      await this.show("details", pane);
    }
    /** Selects the box of a level, wherever it is first shown. */
    async go(level, item, pane = this.main) {
      if (level === void 0 || item === void 0) return;
      await this.select(pane, pane.pathOf(level, item), true);
    }
    // Panels
    async show(name, pane = this.main) {
      const about = name === "details" ? `${pane.side} ${pane.selected} ${this.folded}` : name;
      const isOther = about !== this.about;
      [this.shown, this.about] = [name, about];
      for (const [key, made] of this.tabs) made.setAttribute("aria-pressed", String(key === name));
      const wasHidden = this.panel.hidden;
      this.panel.hidden = name === void 0;
      if (wasHidden && name !== void 0) this.isStill = pane.selected !== "";
      if (wasHidden !== this.panel.hidden) this.resize(this.isStill);
      if (name !== void 0) {
        const contents2 = await this.contents.of(name, pane);
        if (this.shown === name) {
          this.panel.replaceChildren(...contents2);
          if (isOther) this.panel.scrollTop = 0;
        }
        if (wasHidden || this.covered(pane) > 0) this.uncover(pane);
      }
      this.remember(false);
    }
    // Files and changes
    async older(files) {
      const { compare } = this.engine;
      if (!compare) return;
      const opened = async () => {
        await openOlder(this.engine, await chosen(files));
        await this.compare(compare);
      };
      await this.act(OPENING, opened, OPENING);
    }
    /** Opens another model. What is shown stays until that has succeeded. */
    async reopen(sources) {
      const opened = async () => {
        await openAll(this.engine, await sources());
        if (this.panes.length > 1) this.dropOlder();
        this.contents.reset();
        this.search.clear();
        history.replaceState(null, "", "#");
        await this.start();
      };
      await this.act(OPENING, opened, OPENING);
    }
    async change(title, apply) {
      if (apply) await this.act("working", () => this.changed(title, apply), title);
    }
    /** Makes a box the model, unless the model is another one when its turn comes. */
    async extract(level, item) {
      const { extract } = this.engine;
      const { overview } = this;
      if (!extract) return;
      const kept2 = async () => {
        if (this.overview === overview) await this.changed("Kept", () => extract(level, item));
        else this.work.warn("The model was changed meanwhile: choose the box again.");
      };
      await this.act("working", kept2, "Kept");
    }
    /** Takes back the last change; each request takes back one. */
    async undone() {
      const { undo } = this.engine;
      if (undo && this.overview?.undo !== 0) await this.changed("Undone", undo);
    }
    /** What the buttons for that do. */
    undoes = () => void this.act("working", () => this.undone());
    saves = () => {
      if (this.engine.save) void this.act("saving", () => this.contents.save(), "save");
    };
    async changed(title, apply) {
      const done = await apply();
      if (this.panes.length > 1) {
        await this.engine.single?.();
        this.dropOlder();
      }
      this.main.opens([]);
      this.main.selected = "";
      this.folded = void 0;
      this.search.forget();
      const summary = this.contents.changed(title, done);
      await this.refresh();
      await this.main.reload();
      await this.render();
      this.main.canvas.fit();
      this.count();
      await this.show("changes");
      this.work.say(summary);
      this.remember(true);
    }
    /** The name of the model for files, without an extension. */
    fileName() {
      return (this.title.textContent ?? "model").replace(/\.(onnxtxt|textproto|pbtxt|json)$/i, "").replace(/[^\w.-]+/g, "_").replace(/\.onnx$/i, "");
    }
    async svg() {
      const open = [...this.main.open].map((path) => path.split("/").map(Number));
      const found = await this.engine.picture?.(open, this.main.canvas.coloring);
      if (found) download(`${this.fileName()}.svg`, found.svg, "image/svg+xml");
    }
    async png() {
      const blob = await this.main.canvas.image();
      if (blob) download(`${this.fileName()}.png`, blob, "image/png");
      else this.work.say("the picture is too large for an image: close some boxes");
    }
    theme() {
      document.documentElement.classList.toggle("dark");
      for (const pane of this.panes) {
        pane.canvas.colors = palette(document.documentElement);
        pane.canvas.draw();
      }
    }
    // The address
    /** The state in the address, so that a link shows the same. */
    remember(isStep) {
      const { overview } = this;
      const [model, of] = [this.engine.open ? overview?.title : void 0, overview && fingerprint(overview)];
      write(
        { color: this.main.canvas.coloring, open: [...this.main.open], at: this.main.selected, panel: this.shown, find: this.search.field.value.trim(), model, of },
        isStep
      );
    }
    /** Shows what the address holds. Returns why its places are not shown if they are those of another model. */
    async restore() {
      await this.main.level(0);
      const state = read();
      if (COLORINGS.includes(state.color) && (state.color !== "diff" || this.panes.length > 1)) this.color(state.color);
      const { overview } = this;
      const isSame = overview === void 0 || state.of === void 0 || state.of === fingerprint(overview);
      const [open, at] = isSame ? [state.open, state.at] : [[], ""];
      this.main.opens(open);
      await this.main.load(open);
      this.main.selected = at;
      this.folded = void 0;
      await this.render();
      if (at) this.main.canvas.reveal(at);
      await this.search.restore(state.find);
      const isShown = (name) => name === state.panel && this.tabs.has(name) && (name !== "changes" || this.contents.hasChanges);
      const panel = PANELS.find(isShown);
      if (panel !== this.shown || panel === "details") await this.show(panel);
      if (isSame || state.open.length === 0 && !state.at) return void 0;
      const isNamed = state.model !== void 0 && state.model !== overview.title;
      return isNamed ? `The link is about ${state.model}, and ${overview.title} is open: the place that it leads to is not shown.` : "The link is about the model as it was before or after a change: the place that it leads to is not shown.";
    }
    /** Goes back or forward. */
    async moved() {
      const problem = await this.restore();
      if (problem) this.work.say(problem);
    }
    /** Ends what is begun, or closes the panel. */
    escape() {
      if (this.closeTree()) return;
      if (this.search.from === void 0) void this.show(void 0);
      this.search.from = void 0;
      this.work.rest();
    }
  };

  // src/main.ts
  var root = document.getElementById("app");
  if (root) {
    if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.classList.add("dark");
    const scene = document.getElementById("scene");
    const base = document.body.dataset["session"];
    const wasm = document.body.dataset["worker"];
    const fail = (error) => {
      root.replaceChildren(element("p", { id: "message", role: "alert" }, error instanceof Error ? error.message : String(error)));
    };
    let take;
    droppable((sources) => take?.(sources));
    let page;
    const show = (engine) => {
      const made = new Page(root, engine);
      page = made;
      take = (sources) => made.drop(sources);
      return made.work.first(() => made.start());
    };
    try {
      if (scene) show(embedded(scene)).catch(fail);
      else if (base !== void 0) show(remote(base, (text2) => page?.work.waits(text2))).catch(fail);
      else if (wasm !== void 0) {
        const engine = worker(wasm);
        const first = start(root, engine, async () => {
          try {
            await show(engine);
          } catch (error) {
            take = first;
            throw error;
          }
        });
        take = first;
      }
    } catch (error) {
      fail(error);
    }
  }
})();
