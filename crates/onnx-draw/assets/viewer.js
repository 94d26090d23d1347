// Generated from web/src by `npm run build` in web.
"use strict";
(() => {
  // src/compose.ts
  var TITLE = 24;
  var PADDING = 12;
  var STUB = 14;
  function compose(root2, levels, open) {
    const level = levels.get(root2);
    const picture = { w: 0, h: 0, boxes: [], lines: [] };
    if (!level) return picture;
    const placed = place(root2, level, "", levels, open, 0);
    picture.w = placed.w;
    picture.h = placed.h;
    emit(placed, "", 0, 0, 0, picture);
    return picture;
  }
  var inner = (path, index) => path ? `${path}/${index}` : String(index);
  function place(id, level, path, levels, open, depth) {
    const width = level.items.map((item) => item.w);
    const height = level.items.map((item) => item.h);
    const children = /* @__PURE__ */ new Map();
    level.items.forEach((item, index) => {
      const inside = item.in === void 0 ? void 0 : levels.get(item.in);
      if (!inside || item.in === void 0 || depth > 60 || !open.has(inner(path, index))) return;
      const child = place(item.in, inside, inner(path, index), levels, open, depth + 1);
      children.set(index, child);
      width[index] = Math.max(item.w, child.w + 2 * PADDING);
      height[index] = child.h + TITLE + 2 * PADDING;
    });
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
  function emit(placed, path, left, top, depth, picture) {
    placed.level.items.forEach((item, index) => {
      const x = left + (placed.x[index] ?? 0);
      const y = top + (placed.y[index] ?? 0);
      const [w, h] = [placed.width[index] ?? 0, placed.height[index] ?? 0];
      const child = placed.children.get(index);
      const own = inner(path, index);
      picture.boxes.push({ item, level: placed.id, index, path: own, depth, x, y, w, h, isOpen: child !== void 0 });
      if (child) emit(child, own, x + (w - child.w) / 2, y + TITLE + PADDING, depth + 1, picture);
    });
    for (const edge of placed.level.edges) emitEdge(placed, edge, path, left, top, picture.lines);
  }
  function emitEdge(placed, edge, path, left, top, lines) {
    const at = (x, y) => [left + x, top + y];
    const start = edge.a + (placed.shiftOf[edge.f] ?? 0);
    const end = edge.b + (placed.shiftOf[edge.t] ?? 0);
    const startY = (placed.y[edge.f] ?? 0) + (placed.height[edge.f] ?? 0);
    const endY = placed.y[edge.t] ?? 0;
    const target = placed.level.items[edge.t];
    const hasArrow = target?.k !== "arriving" && target?.k !== "leaving";
    const [from, to] = [inner(path, edge.f), inner(path, edge.t)];
    const line = (points, isDashed, hasArrow2, label) => {
      lines.push({ points, isDashed, hasArrow: hasArrow2, from, to, ...label === void 0 ? {} : { label } });
    };
    if (edge.cut || edge.back) {
      line([...at(start, startY), ...at(start, startY + STUB)], true, false, edge.label);
      line([...at(end, endY - STUB), ...at(end, endY)], true, hasArrow);
    } else {
      const rank = placed.level.items[edge.f]?.r ?? 0;
      const points = [...at(start, startY), ...at(start, Math.max(placed.bottoms[rank] ?? 0, startY) + 2)];
      for (const [rank2, x] of edge.via ?? []) {
        const moved = placed.moved(rank2, x);
        points.push(...at(moved, placed.tops[rank2] ?? 0), ...at(moved, placed.bottoms[rank2] ?? 0));
      }
      points.push(...at(end, endY));
      line(points, false, hasArrow, edge.label);
    }
    for (const [index, isStart, x, y] of [
      [edge.f, true, start, startY],
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

  // src/canvas.ts
  var ROW = 400;
  var MOST_ROWS = 64;
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
      dark: color("--dark") === "1"
    };
  }
  var Rows = class _Rows {
    boxes = /* @__PURE__ */ new Map();
    lines = /* @__PURE__ */ new Map();
    long = [];
    constructor(picture) {
      const add = (map, from, to, index) => {
        for (let row = Math.floor(from / ROW); row <= Math.floor(to / ROW); row += 1) {
          const list = map.get(row);
          if (list) list.push(index);
          else map.set(row, [index]);
        }
      };
      picture.boxes.forEach((box, index) => add(this.boxes, box.y, box.y + box.h, index));
      picture.lines.forEach((line, index) => {
        const [from, to] = [line.points[1] ?? 0, line.points.at(-1) ?? 0];
        if ((to - from) / ROW > MOST_ROWS) this.long.push(index);
        else add(this.lines, Math.min(from, to), Math.max(from, to) + 14, index);
      });
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
    rows = new Rows(this.picture);
    isScheduled = false;
    largestCost = 0;
    width = 0;
    /** Number of frames that were drawn, for tests and measurements. */
    frames = 0;
    constructor(element2) {
      this.element = element2;
      this.colors = palette(document.documentElement);
    }
    show(picture) {
      this.picture = picture;
      this.rows = new Rows(picture);
      this.largestCost = 0;
      for (const box of picture.boxes) if (!box.isOpen) this.largestCost = Math.max(this.largestCost, box.item.c ?? 0);
      this.draw();
    }
    /** Draws soon, once however often it is called. */
    draw() {
      if (this.isScheduled) return;
      this.isScheduled = true;
      requestAnimationFrame(() => {
        this.isScheduled = false;
        this.paint();
      });
    }
    resize() {
      const ratio = window.devicePixelRatio || 1;
      const { clientWidth, clientHeight } = this.element;
      if (this.width > 0) this.view.x += (clientWidth - this.width) / 2;
      this.width = clientWidth;
      this.element.width = Math.max(1, Math.round(clientWidth * ratio));
      this.element.height = Math.max(1, Math.round(clientHeight * ratio));
      this.draw();
    }
    fit() {
      const { clientWidth, clientHeight } = this.element;
      const { w, h } = this.picture;
      const scale = Math.min((clientWidth - 40) / Math.max(w, 1), (clientHeight - 40) / Math.max(h, 1), 1);
      const readable = Math.max(scale, Math.min(0.45, (clientWidth - 40) / Math.max(w, 1)));
      const s = Math.max(readable, 0.02);
      this.view = { scale: s, x: (clientWidth - w * s) / 2, y: scale < s ? 20 : (clientHeight - h * s) / 2 };
      this.draw();
    }
    /** Moves a box into the middle unless it is visible. */
    reveal(path) {
      const box = this.picture.boxes.find((box2) => box2.path === path);
      if (!box) return;
      const { clientWidth, clientHeight } = this.element;
      const scale = Math.min(Math.max(this.view.scale, 0.6), 1.5);
      const x = this.view.x + (box.x + box.w / 2) * this.view.scale;
      const y = this.view.y + (box.y + TITLE / 2) * this.view.scale;
      const isVisible = x > 60 && y > 40 && x < clientWidth - 60 && y < clientHeight - 40 && scale === this.view.scale;
      if (!isVisible) {
        const middle = Math.min(box.h, clientHeight / scale - 60) / 2;
        this.view = {
          scale,
          x: clientWidth / 2 - (box.x + box.w / 2) * scale,
          y: clientHeight / 2 - (box.y + middle) * scale
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
    paint() {
      const context = this.element.getContext("2d");
      if (!context) return;
      const ratio = window.devicePixelRatio || 1;
      const { scale } = this.view;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.fillStyle = this.colors.background;
      context.fillRect(0, 0, this.element.clientWidth, this.element.clientHeight);
      context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * this.view.x, ratio * this.view.y);
      const [left, top] = [-this.view.x / scale, -this.view.y / scale];
      const [right, bottom] = [left + this.element.clientWidth / scale, top + this.element.clientHeight / scale];
      const boxes = [];
      for (const index of this.rows.boxesBetween(top, bottom)) {
        const box = this.picture.boxes[index];
        if (box && box.x <= right && box.x + box.w >= left) boxes.push(box);
      }
      for (const box of boxes) if (box.isOpen) this.container(context, box);
      const lines = [];
      for (const index of this.rows.linesBetween(top, bottom)) {
        const line = this.picture.lines[index];
        if (line) lines.push(line);
      }
      if (scale > 0.04) this.strokes(context, lines, left, right);
      for (const box of boxes) if (!box.isOpen) this.closed(context, box, scale);
      if (scale > 0.35) this.labels(context, lines, left, right);
      this.frames += 1;
    }
    container(context, box) {
      context.fillStyle = box.depth % 2 === 0 ? this.colors.group : this.colors.background;
      context.strokeStyle = box.path === this.selected ? this.colors.accent : this.colors.border;
      context.lineWidth = box.path === this.selected ? 2.5 : 1;
      rounded(context, box.x, box.y, box.w, box.h, 8);
      context.fill();
      context.stroke();
      if (this.view.scale > 0.2) {
        context.fillStyle = this.colors.ink;
        context.font = "600 12.5px system-ui, sans-serif";
        context.fillText(`▾ ${box.item.t}`, box.x + 10, box.y + 16);
      }
    }
    strokes(context, lines, left, right) {
      context.lineWidth = 1.2;
      const draw = (isChosen) => {
        context.strokeStyle = isChosen ? this.colors.accent : this.colors.line;
        context.fillStyle = context.strokeStyle;
        context.lineWidth = isChosen ? 2 : 1.2;
        for (const line of lines) {
          if ((line.from === this.selected || line.to === this.selected) !== isChosen) continue;
          const { points } = line;
          let [low, high] = [Infinity, -Infinity];
          for (let index = 0; index < points.length; index += 2) {
            low = Math.min(low, points[index] ?? 0);
            high = Math.max(high, points[index] ?? 0);
          }
          if (high < left || low > right) continue;
          context.setLineDash(line.isDashed ? [4, 3] : []);
          context.beginPath();
          trace(context, points);
          context.stroke();
          if (line.hasArrow && this.view.scale > 0.25) {
            const [x, y] = [points.at(-2) ?? 0, points.at(-1) ?? 0];
            context.beginPath();
            context.moveTo(x - 3, y - 6);
            context.lineTo(x + 3, y - 6);
            context.lineTo(x, y);
            context.fill();
          }
        }
        context.setLineDash([]);
      };
      draw(false);
      if (this.selected) draw(true);
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
      context.strokeStyle = isChosen || this.marked.has(box.path) ? this.colors.accent : this.colors.border;
      context.lineWidth = isChosen ? 2.5 : this.marked.has(box.path) ? 2 : 1;
      if (scale < 0.12) {
        context.fillRect(box.x, box.y, box.w, box.h);
        if (isChosen) context.strokeRect(box.x, box.y, box.w, box.h);
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
    labels(context, lines, left, right) {
      context.font = "10.5px system-ui, sans-serif";
      context.textAlign = "center";
      context.lineWidth = 3;
      context.lineJoin = "round";
      for (const line of lines) {
        const [x, y] = [line.points[0] ?? 0, (line.points[1] ?? 0) + 11];
        if (line.label === void 0 || x < left || x > right) continue;
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
      }
    }
  };
  function hueOf(name) {
    let hash = 2166136261;
    for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
    return hash % 24 * 15;
  }
  function rounded(context, x, y, w, h, r) {
    context.beginPath();
    context.roundRect(x, y, w, h, r);
  }
  function trace(context, points) {
    let [x, y] = [points[0] ?? 0, points[1] ?? 0];
    context.moveTo(x, y);
    for (let index = 2; index < points.length; index += 2) {
      const [nextX, nextY] = [points[index] ?? 0, points[index + 1] ?? 0];
      if (Math.abs(nextX - x) < 0.5) context.lineTo(nextX, nextY);
      else context.bezierCurveTo(x, (y + nextY) / 2, nextX, (y + nextY) / 2, nextX, nextY);
      [x, y] = [nextX, nextY];
    }
  }

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
  function table(rows, head, numbers = []) {
    const kind = (index) => numbers.includes(index) ? { class: "number" } : {};
    const made = element("table");
    if (head) {
      const cells = head.map((text2, index) => element("th", { scope: "col", ...kind(index) }, text2));
      made.append(element("thead", {}, element("tr", {}, ...cells)));
    }
    const body = element("tbody");
    for (const row of rows) {
      body.append(element("tr", {}, ...row.map((cell, index) => element("td", kind(index), cell))));
    }
    made.append(body);
    return made;
  }

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
      if (answer.error !== void 0) throw new Error(answer.error);
      return answer.ok;
    };
    const engine = {
      overview: () => call({ call: "overview" }),
      level: (id) => call({ call: "level", id }),
      search: (text2) => call({ call: "search", text: text2 }),
      details: (level, item) => call({ call: "details", level, item }),
      findings: () => call({ call: "findings" }),
      repair: () => call({ call: "repair" }),
      cost: (sizes) => call({ call: "cost", sizes }),
      simplify: () => call({ call: "simplify" }),
      undo: () => call({ call: "undo" }),
      text: (level, item) => call({ call: "text", level, item }),
      save: () => transport.save()
    };
    const open = transport.open;
    if (open) engine.open = (name, bytes) => open(name, bytes);
    return engine;
  }
  function remote(base) {
    return session({
      async call(request) {
        const response = await fetch(`${base}call`, { method: "POST", body: JSON.stringify(request) });
        if (!response.ok) throw new Error(`the server answered ${response.status}`);
        return response.json();
      },
      async save() {
        const response = await fetch(`${base}model`);
        if (!response.ok) throw new Error(`the server answered ${response.status}`);
        return new Uint8Array(await response.arrayBuffer());
      }
    });
  }
  function worker(url) {
    const thread = new Worker(url);
    let next = 0;
    const waiting = /* @__PURE__ */ new Map();
    thread.onmessage = (event) => {
      const entry = waiting.get(event.data.id);
      waiting.delete(event.data.id);
      if (event.data.error === void 0) entry?.resolve(event.data.value);
      else entry?.reject(new Error(event.data.error));
    };
    thread.onerror = (event) => {
      for (const entry of waiting.values()) entry.reject(new Error(event.message || "the worker ended"));
      waiting.clear();
    };
    const ask = (kind, value, transfer = []) => new Promise((resolve, reject) => {
      next += 1;
      waiting.set(next, { resolve, reject });
      thread.postMessage({ id: next, kind, value }, transfer);
    });
    return session({
      call: async (request) => JSON.parse(await ask("call", JSON.stringify(request))),
      save: async () => await ask("save", null),
      open: async (name, bytes) => {
        await ask("open", { name, bytes }, [bytes.buffer]);
      }
    });
  }

  // src/panels.ts
  function link(text2, level, item, go) {
    if (level === void 0 || item === void 0) return document.createTextNode(text2);
    return button(text2, () => go(level, item), { class: "link" });
  }
  function details(found) {
    const parts = [element("h2", {}, found.title)];
    if (found.rows.length > 0) parts.push(table(found.rows));
    for (const list of found.lists) {
      parts.push(element("h3", {}, list.title), table(list.rows));
    }
    return parts;
  }
  function findings(found, go, repair) {
    const [errors, warnings, notes] = found.counts;
    const parts = [
      element("h2", {}, "Diagnostics"),
      element("p", {}, `${errors} errors, ${warnings} warnings, ${notes} notes`)
    ];
    if (found.repairable > 0) parts.push(button(`Repair ${found.repairable}`, repair, { id: "repair" }));
    for (const finding of found.findings) {
      const entry = element(
        "div",
        { class: "finding" },
        element("div", { class: finding.severity }, `${finding.severity} ${finding.rule}${finding.canRepair ? " · can be repaired" : ""}`),
        element("div", {}, finding.message),
        element("div", {}, link(finding.where, finding.level, finding.item, go))
      );
      if (finding.help) entry.append(element("div", {}, `help: ${finding.help}`));
      parts.push(entry);
    }
    return parts;
  }
  function cost(found, sizes, go, count) {
    const input = element("input", {
      id: "sizes",
      type: "text",
      "aria-label": "Sizes of dimension variables",
      placeholder: found.variables.length > 0 ? found.variables.map((name) => `${name}=1`).join(" ") : "no variables",
      value: sizes
    });
    const submit = () => count(input.value);
    input.addEventListener("change", submit);
    const rows = found.rows.map((row) => [
      link(row.op, row.level, row.item, go),
      row.name,
      row.operations,
      row.part > 0 ? `${(row.part * 100).toFixed(1)} %` : ""
    ]);
    return [
      element("h2", {}, "Cost"),
      element("p", {}, "Sizes: ", input, " ", button("Count", submit)),
      table(found.totals, void 0, [1]),
      element("h3", {}, "Most expensive nodes"),
      table(rows, ["operator", "node", "operations", "part"], [2, 3])
    ];
  }
  function changes(title, done) {
    const parts = [element("h2", {}, title), element("p", {}, done.summary)];
    if (done.edits.length > 0) {
      parts.push(element("h3", {}, "Edits"), table(done.edits.map((text2) => [text2])));
    }
    return parts;
  }
  function text(found) {
    return [element("h2", {}, "Text"), element("pre", { tabindex: "0", "aria-label": "ONNX text" }, found)];
  }

  // src/tree.ts
  var MOST = 2e3;
  var Tree = class {
    element = element("nav", { id: "tree", "aria-label": "Boxes of the model" });
    events;
    items = /* @__PURE__ */ new Map();
    constructor(events) {
      this.events = events;
      this.element.addEventListener("click", (event) => {
        const path = pathOf(event.target);
        if (path !== void 0) this.events.select(path);
      });
      this.element.addEventListener("dblclick", (event) => {
        const path = pathOf(event.target);
        if (path !== void 0) this.events.toggle(path);
      });
      this.element.addEventListener("keydown", (event) => this.key(event));
    }
    show(picture, selected) {
      const hadFocus = this.element.contains(document.activeElement);
      this.items.clear();
      const root2 = element("div", { role: "tree", "aria-label": "Boxes" });
      for (const box of picture.boxes.slice(0, MOST)) {
        if (box.item.k === "arriving" || box.item.k === "leaving") continue;
        root2.append(this.item(box, selected));
      }
      this.element.replaceChildren(root2);
      const first = this.items.get(selected) ?? this.items.values().next().value;
      first?.setAttribute("tabindex", "0");
      if (hadFocus) first?.focus({ preventScroll: true });
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

  // src/main.ts
  var COLORINGS = ["type", "cost", "scope", "findings"];
  var MOST_OPEN = 6e4;
  var Page = class {
    engine;
    canvas;
    tree;
    panel = element("aside", { id: "panel", "aria-label": "Panel", hidden: "" });
    status = element("div", { id: "status", role: "status" });
    title = element("h1");
    search = element("input", {
      id: "search",
      type: "search",
      placeholder: "Search: name or selector",
      "aria-label": "Search"
    });
    coloring = element("select", { id: "coloring", "aria-label": "Color by" });
    undo;
    buttons = /* @__PURE__ */ new Map();
    levels = /* @__PURE__ */ new Map();
    open = /* @__PURE__ */ new Set();
    parents = [];
    selected = "";
    shown;
    hits = [];
    hit = -1;
    sizes = "";
    isBusy = false;
    constructor(root2, engine) {
      this.engine = engine;
      const canvas = element("canvas", { id: "canvas", tabindex: "0", role: "img", "aria-label": "Picture of the model; the tree beside it has the same boxes" });
      this.canvas = new Canvas(canvas);
      this.tree = new Tree({ select: (path) => void this.select(path, true), toggle: (path) => void this.toggle(path) });
      for (const name of COLORINGS) this.coloring.append(element("option", { value: name }, `color: ${name}`));
      this.undo = button("Undo", () => void this.change("Undone", engine.undo), { id: "undo", disabled: "" });
      root2.replaceChildren(
        this.header(),
        this.tree.element,
        element("main", { id: "picture" }, canvas),
        this.panel,
        this.status
      );
      this.listen(canvas);
    }
    header() {
      const { engine } = this;
      const header = element("header", {}, this.title, this.search);
      header.append(
        button("‹", () => void this.step(-1), { id: "previous", "aria-label": "Previous match" }),
        button("›", () => void this.step(1), { id: "next", "aria-label": "Next match" }),
        this.coloring,
        button("Fit", () => this.canvas.fit(), { id: "fit" }),
        button("Open all", () => void this.openAll(), { id: "open-all" }),
        button("Close all", () => void this.closeAll(), { id: "close-all" })
      );
      const panel = (name, text2) => {
        const made = button(text2, () => void this.show(this.shown === name ? void 0 : name), {
          id: `panel-${name}`,
          "aria-pressed": "false"
        });
        this.buttons.set(name, made);
        header.append(made);
      };
      if (engine.details) panel("details", "Details");
      if (engine.findings) panel("findings", "Diagnostics");
      if (engine.cost) panel("cost", "Cost");
      if (engine.text) panel("text", "Text");
      if (engine.simplify) {
        header.append(button("Simplify", () => void this.change("Simplified", engine.simplify), { id: "simplify" }), this.undo);
      }
      if (engine.save) header.append(button("Save", () => void this.save(), { id: "save" }));
      header.append(button("◐", () => this.theme(), { id: "theme", "aria-label": "Light or dark" }));
      return header;
    }
    listen(canvas) {
      this.coloring.addEventListener("change", () => {
        this.canvas.coloring = this.coloring.value;
        this.canvas.draw();
        this.remember(false);
      });
      this.search.addEventListener("change", () => void this.find());
      this.search.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && this.hits.length > 0) void this.step(event.shiftKey ? -1 : 1);
      });
      window.addEventListener("resize", () => this.canvas.resize());
      window.addEventListener("popstate", () => void this.restore());
      document.addEventListener("keydown", (event) => this.key(event));
      let drag;
      const pointers = /* @__PURE__ */ new Map();
      canvas.addEventListener("pointerdown", (event) => {
        canvas.setPointerCapture(event.pointerId);
        pointers.set(event.pointerId, event);
        drag = { x: event.offsetX, y: event.offsetY, moved: 0 };
      });
      canvas.addEventListener("pointermove", (event) => {
        if (!drag || !pointers.has(event.pointerId)) return;
        if (pointers.size === 2) {
          const before = distance([...pointers.values()]);
          pointers.set(event.pointerId, event);
          const after = distance([...pointers.values()]);
          if (before > 0) this.canvas.zoom(after / before, event.offsetX, event.offsetY);
          drag.moved += 10;
          return;
        }
        pointers.set(event.pointerId, event);
        const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
        drag = { x: event.offsetX, y: event.offsetY, moved: drag.moved + Math.abs(dx) + Math.abs(dy) };
        this.canvas.view = { ...this.canvas.view, x: this.canvas.view.x + dx, y: this.canvas.view.y + dy };
        this.canvas.draw();
      });
      const end = (event) => {
        pointers.delete(event.pointerId);
        if (drag && drag.moved < 4 && event.type === "pointerup") void this.click(event);
        if (pointers.size === 0) drag = void 0;
      };
      canvas.addEventListener("pointerup", end);
      canvas.addEventListener("pointercancel", end);
      canvas.addEventListener("dblclick", (event) => {
        const box = this.canvas.at(event.offsetX, event.offsetY);
        if (box) void this.toggle(box.path);
      });
      canvas.addEventListener(
        "wheel",
        (event) => {
          event.preventDefault();
          if (event.ctrlKey || !event.shiftKey) {
            this.canvas.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
          } else {
            this.canvas.view.x -= event.deltaY;
            this.canvas.draw();
          }
        },
        { passive: false }
      );
    }
    /** Shows the model from the beginning. */
    async start() {
      this.levels.clear();
      this.open.clear();
      this.selected = "";
      const overview = await this.refresh();
      this.canvas.coloring = overview.coloring;
      this.coloring.value = overview.coloring;
      this.canvas.resize();
      await this.restore();
      this.canvas.fit();
      if (this.selected) this.canvas.reveal(this.selected);
      document.body.dataset["ready"] = "true";
    }
    async refresh() {
      const overview = await this.engine.overview();
      this.parents = overview.parents;
      this.title.textContent = overview.title;
      this.title.title = overview.title;
      document.title = overview.title;
      this.undo.disabled = overview.undo === 0;
      this.status.textContent = overview.facts.map(([name, value]) => `${name}: ${value}`).join(" · ");
      return overview;
    }
    async load(path) {
      await this.level(0);
      let level = 0;
      for (const index of path.split("/")) {
        const inside = this.levels.get(level)?.items[Number(index)]?.in;
        if (inside === void 0) return;
        await this.level(inside);
        level = inside;
      }
    }
    async level(id) {
      if (!this.levels.has(id)) this.levels.set(id, await this.engine.level(id));
    }
    render() {
      const picture = compose(0, this.levels, this.open);
      this.canvas.selected = this.selected;
      this.canvas.show(picture);
      this.tree.show(picture, this.selected);
    }
    box(path) {
      return this.canvas.picture.boxes.find((box) => box.path === path);
    }
    /** Opens or closes a box; the box stays where it is on the screen. */
    async toggle(path) {
      const before = this.box(path);
      if (!before || before.item.in === void 0) return;
      const inside = before.item.in;
      await this.guard("opening", async () => {
        if (this.open.has(path)) this.open.delete(path);
        else {
          await this.level(inside);
          this.open.add(path);
        }
        this.render();
      });
      const after = this.box(path);
      if (after) {
        const { view } = this.canvas;
        const middle = before.x + before.w / 2 - (after.x + after.w / 2);
        this.canvas.view = { ...view, x: view.x + middle * view.scale, y: view.y + (before.y - after.y) * view.scale };
      }
      this.remember(true);
    }
    async openAll() {
      await this.guard("opening", async () => {
        await this.level(0);
        const queue = [[0, ""]];
        let count = 0;
        for (let at = 0; at < queue.length && count < MOST_OPEN; at += 1) {
          const [id, path] = queue[at];
          for (const [index, item] of (this.levels.get(id)?.items ?? []).entries()) {
            count += 1;
            if (item.in === void 0 || path.split("/").length > 40) continue;
            await this.level(item.in);
            const own = path ? `${path}/${index}` : String(index);
            this.open.add(own);
            queue.push([item.in, own]);
          }
        }
        this.render();
        this.canvas.fit();
        this.remember(true);
      });
    }
    closeAll() {
      this.open.clear();
      this.selected = this.selected.split("/")[0] ?? "";
      this.render();
      this.canvas.fit();
      this.remember(true);
    }
    async click(event) {
      const box = this.canvas.at(event.offsetX, event.offsetY);
      if (!box) {
        await this.select("", false);
        return;
      }
      const x = (event.offsetX - this.canvas.view.x) / this.canvas.view.scale - box.x;
      const y = (event.offsetY - this.canvas.view.y) / this.canvas.view.scale - box.y;
      if (box.item.in !== void 0 && x < 24 && y < 24) await this.toggle(box.path);
      else await this.select(box.path, false);
    }
    async select(path, reveal) {
      const parts = path.split("/");
      const around = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
      this.selected = path;
      if (around.every((outer) => this.open.has(outer))) {
        this.canvas.selected = path;
        this.canvas.draw();
        this.tree.mark(path);
      } else {
        await this.load(path);
        for (const outer of around) this.open.add(outer);
        this.render();
      }
      if (reveal) this.canvas.reveal(path);
      this.remember(true);
      if (path && (this.shown === void 0 || this.shown === "details")) {
        await this.show(this.engine.details ? "details" : void 0);
      } else if (this.shown === "text") await this.show("text");
    }
    /** Selects the box of a level, wherever it is first shown. */
    async go(level, item) {
      if (level === void 0 || item === void 0) return;
      const path = [item];
      for (let parent = this.parents[level]; parent; parent = this.parents[parent[0]]) path.unshift(parent[1]);
      await this.select(path.join("/"), true);
    }
    async find() {
      const text2 = this.search.value.trim();
      this.hits = [];
      this.hit = -1;
      if (!text2) return;
      await this.guard("searching", async () => {
        const found = await this.engine.search(text2);
        this.hits = found.hits;
        this.say(found.note ?? `${found.count} matches`);
        if (this.hits.length > 0) await this.step(1);
      });
    }
    async step(by) {
      const count = this.hits.length;
      if (count === 0) return;
      this.hit = (this.hit + by + count) % count;
      const hit = this.hits[this.hit];
      await this.guard("searching", async () => {
        await this.go(hit.level, hit.item);
        this.say(`match ${this.hit + 1} of ${count}: ${hit.label}`);
      });
    }
    async show(name) {
      this.shown = name;
      for (const [key, made] of this.buttons) made.setAttribute("aria-pressed", String(key === name));
      const wasHidden = this.panel.hidden;
      this.panel.hidden = name === void 0;
      if (wasHidden !== this.panel.hidden) this.canvas.resize();
      if (name !== void 0) await this.guard(name, async () => this.panel.replaceChildren(...await this.content(name)));
    }
    async content(name) {
      const { engine } = this;
      const go = (level, item) => void this.go(level, item);
      const box = this.box(this.selected);
      switch (name) {
        case "details":
          if (!box || !engine.details) return [element("p", {}, "Select a box.")];
          return details(await engine.details(box.level, box.index));
        case "findings":
          if (!engine.findings) return [];
          return findings(await engine.findings(), go, () => void this.change("Repaired", engine.repair));
        case "cost": {
          if (!engine.cost) return [];
          const count = (sizes) => {
            this.sizes = sizes;
            void this.show("cost");
          };
          this.coloring.value = "cost";
          this.canvas.coloring = "cost";
          const found = await engine.cost(this.sizes);
          await this.reload();
          return cost(found, this.sizes, go, count);
        }
        case "text":
          if (!engine.text) return [];
          return text((await engine.text(box?.level ?? 0, box?.index ?? -1)).text);
        case "changes":
          return [];
      }
    }
    /** Levels again, with the same boxes open, after marks or the model changed. */
    async reload() {
      this.levels.clear();
      await this.level(0);
      for (const path of [...this.open].sort((a, b) => a.length - b.length)) await this.load(path);
      this.render();
    }
    async change(title, apply) {
      if (!apply) return;
      await this.guard("working", async () => {
        const done = await apply();
        this.open.clear();
        this.selected = "";
        await this.refresh();
        await this.reload();
        this.canvas.fit();
        this.shown = "changes";
        this.panel.hidden = false;
        for (const made of this.buttons.values()) made.setAttribute("aria-pressed", "false");
        this.panel.replaceChildren(...changes(title, done));
        this.canvas.resize();
        this.say(done.summary);
        this.remember(true);
      });
    }
    async save() {
      await this.guard("saving", async () => {
        const bytes = await this.engine.save?.();
        if (!bytes) return;
        const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
        const name = (this.title.textContent ?? "model").replace(/[^\w.-]+/g, "_");
        element("a", { href: url, download: name.endsWith(".onnx") ? name : `${name}.onnx` }).click();
        setTimeout(() => URL.revokeObjectURL(url), 6e4);
        this.say(`saved ${bytes.length} bytes`);
      });
    }
    theme() {
      document.documentElement.classList.toggle("dark");
      this.canvas.colors = palette(document.documentElement);
      this.canvas.draw();
    }
    say(text2) {
      this.status.textContent = text2;
    }
    async guard(what, work) {
      if (this.isBusy) {
        await work();
        return;
      }
      this.isBusy = true;
      document.body.dataset["busy"] = what;
      try {
        await work();
      } catch (error) {
        this.say(error instanceof Error ? error.message : String(error));
      } finally {
        this.isBusy = false;
        delete document.body.dataset["busy"];
      }
    }
    /** The state in the address, so that a link shows the same. */
    remember(isStep) {
      const parts = [`color=${this.canvas.coloring}`];
      if (this.open.size > 0 && this.open.size < 200) parts.push(`open=${[...this.open].join(",")}`);
      if (this.selected) parts.push(`at=${this.selected}`);
      const hash = `#${parts.join("&")}`;
      if (hash === location.hash) return;
      if (isStep) history.pushState(null, "", hash);
      else history.replaceState(null, "", hash);
    }
    async restore() {
      await this.level(0);
      const state = new URLSearchParams(location.hash.slice(1));
      const color = state.get("color");
      if (color && COLORINGS.includes(color)) {
        this.canvas.coloring = color;
        this.coloring.value = color;
      }
      const paths = (state.get("open") ?? "").split(",").filter((path) => /^\d+(\/\d+)*$/.test(path));
      this.open = new Set(paths);
      for (const path of paths) await this.load(path);
      const at = state.get("at") ?? "";
      this.selected = /^\d+(\/\d+)*$/.test(at) ? at : "";
      this.render();
      if (this.selected) this.canvas.reveal(this.selected);
    }
    key(event) {
      const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      const { clientWidth, clientHeight } = this.canvas.element;
      const zoom = (factor) => this.canvas.zoom(factor, clientWidth / 2, clientHeight / 2);
      const isPicture = event.target === this.canvas.element || event.target === document.body;
      switch (event.key) {
        case "/":
          this.search.focus();
          break;
        case "+":
        case "=":
          zoom(1.25);
          break;
        case "-":
          zoom(0.8);
          break;
        case "0":
          this.canvas.fit();
          break;
        case "Escape":
          void this.show(void 0);
          break;
        case "Enter":
          if (!isPicture) return;
          void this.toggle(this.selected);
          break;
        case "ArrowDown":
        case "ArrowUp":
          if (!isPicture) return;
          this.follow(event.key === "ArrowDown");
          break;
        default:
          return;
      }
      event.preventDefault();
    }
    /** Selects a user of the selected box, or a maker of what it uses. */
    follow(isDown) {
      const { lines } = this.canvas.picture;
      if (!this.selected) {
        const first = this.canvas.picture.boxes[0];
        if (first) void this.select(first.path, true);
        return;
      }
      const line = lines.find((line2) => (isDown ? line2.from : line2.to) === this.selected);
      if (line) void this.select(isDown ? line.to : line.from, true);
    }
  };
  function distance(events) {
    const [a, b] = events;
    return a && b ? Math.hypot(a.offsetX - b.offsetX, a.offsetY - b.offsetY) : 0;
  }
  function drop(root2, engine) {
    const input = element("input", { type: "file", id: "file", "aria-label": "A model", accept: ".onnx,.onnxtxt,.textproto,.json" });
    const message = element("p", { id: "message", role: "status" }, "Files stay in this tab; nothing is sent.");
    const zone = element("main", { id: "drop" }, element("h1", {}, "Drop an ONNX model here"), input, message);
    root2.replaceChildren(zone);
    const take = async (file) => {
      if (!file) return;
      message.textContent = `reading ${file.name} …`;
      try {
        await engine.open?.(file.name, new Uint8Array(await file.arrayBuffer()));
        await new Page(root2, engine).start();
      } catch (error) {
        if (!zone.isConnected) root2.replaceChildren(zone);
        message.textContent = error instanceof Error ? error.message : String(error);
      }
    };
    input.addEventListener("change", () => void take(input.files?.[0]));
    zone.addEventListener("dragover", (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
    zone.addEventListener("dragleave", () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      void take(event.dataTransfer?.files[0]);
    });
  }
  var root = document.getElementById("app");
  if (root) {
    if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.classList.add("dark");
    const scene = document.getElementById("scene");
    const base = document.body.dataset["session"];
    const wasm = document.body.dataset["worker"];
    const fail = (error) => {
      root.replaceChildren(element("p", { id: "message", role: "alert" }, error instanceof Error ? error.message : String(error)));
    };
    try {
      if (scene) new Page(root, embedded(scene)).start().catch(fail);
      else if (base !== void 0) {
        window.addEventListener("pagehide", () => navigator.sendBeacon(`${base}bye`));
        new Page(root, remote(base)).start().catch(fail);
      } else if (wasm !== void 0) drop(root, worker(wasm));
    } catch (error) {
      fail(error);
    }
  }
})();
