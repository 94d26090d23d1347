// The page: a picture, a tree beside it, a search, and panels.

import { Canvas, palette } from "./canvas";
import type { Box } from "./compose";
import { compose } from "./compose";
import { button, element } from "./dom";
import { embedded, remote, worker } from "./engines";
import type { Coloring, Engine, Hit, Level, Overview, Parent } from "./model";
import * as panels from "./panels";
import { Tree } from "./tree";

const COLORINGS: Coloring[] = ["type", "cost", "scope", "findings"];
/** Boxes that `Open all` draws at most. */
const MOST_OPEN = 60_000;

type PanelName = "details" | "findings" | "cost" | "changes" | "text";

class Page {
  private readonly engine: Engine;
  private readonly canvas: Canvas;
  private readonly tree: Tree;
  private readonly panel = element("aside", { id: "panel", "aria-label": "Panel", hidden: "" });
  private readonly status = element("div", { id: "status", role: "status" });
  private readonly title = element("h1");
  private readonly search = element("input", {
    id: "search",
    type: "search",
    placeholder: "Search: name or selector",
    "aria-label": "Search",
  });
  private readonly coloring = element("select", { id: "coloring", "aria-label": "Color by" });
  private readonly undo: HTMLButtonElement;
  private readonly buttons = new Map<PanelName, HTMLButtonElement>();
  private levels = new Map<number, Level>();
  private open = new Set<string>();
  private parents: Parent[] = [];
  private selected = "";
  private shown: PanelName | undefined;
  private hits: Hit[] = [];
  private hit = -1;
  private sizes = "";
  private isBusy = false;

  constructor(root: HTMLElement, engine: Engine) {
    this.engine = engine;
    const canvas = element("canvas", { id: "canvas", tabindex: "0", role: "img", "aria-label": "Picture of the model; the tree beside it has the same boxes" });
    this.canvas = new Canvas(canvas);
    this.tree = new Tree({ select: (path) => void this.select(path, true), toggle: (path) => void this.toggle(path) });
    for (const name of COLORINGS) this.coloring.append(element("option", { value: name }, `color: ${name}`));
    this.undo = button("Undo", () => void this.change("Undone", engine.undo), { id: "undo", disabled: "" });
    root.replaceChildren(
      this.header(),
      this.tree.element,
      element("main", { id: "picture" }, canvas),
      this.panel,
      this.status,
    );
    this.listen(canvas);
  }

  private header(): HTMLElement {
    const { engine } = this;
    const header = element("header", {}, this.title, this.search);
    header.append(
      button("‹", () => void this.step(-1), { id: "previous", "aria-label": "Previous match" }),
      button("›", () => void this.step(1), { id: "next", "aria-label": "Next match" }),
      this.coloring,
      button("Fit", () => this.canvas.fit(), { id: "fit" }),
      button("Open all", () => void this.openAll(), { id: "open-all" }),
      button("Close all", () => void this.closeAll(), { id: "close-all" }),
    );
    const panel = (name: PanelName, text: string): void => {
      const made = button(text, () => void this.show(this.shown === name ? undefined : name), {
        id: `panel-${name}`,
        "aria-pressed": "false",
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

  private listen(canvas: HTMLCanvasElement): void {
    this.coloring.addEventListener("change", () => {
      this.canvas.coloring = this.coloring.value as Coloring;
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
    let drag: { x: number; y: number; moved: number } | undefined;
    const pointers = new Map<number, PointerEvent>();
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
    const end = (event: PointerEvent): void => {
      pointers.delete(event.pointerId);
      if (drag && drag.moved < 4 && event.type === "pointerup") void this.click(event);
      if (pointers.size === 0) drag = undefined;
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
      { passive: false },
    );
  }

  /** Shows the model from the beginning. */
  async start(): Promise<void> {
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

  private async refresh(): Promise<Overview> {
    const overview = await this.engine.overview();
    this.parents = overview.parents;
    this.title.textContent = overview.title;
    this.title.title = overview.title;
    document.title = overview.title;
    this.undo.disabled = overview.undo === 0;
    this.status.textContent = overview.facts.map(([name, value]) => `${name}: ${value}`).join(" · ");
    return overview;
  }

  private async load(path: string): Promise<void> {
    await this.level(0);
    let level = 0;
    for (const index of path.split("/")) {
      const inside = this.levels.get(level)?.items[Number(index)]?.in;
      if (inside === undefined) return;
      await this.level(inside);
      level = inside;
    }
  }

  private async level(id: number): Promise<void> {
    if (!this.levels.has(id)) this.levels.set(id, await this.engine.level(id));
  }

  private render(): void {
    const picture = compose(0, this.levels, this.open);
    this.canvas.selected = this.selected;
    this.canvas.show(picture);
    this.tree.show(picture, this.selected);
  }

  private box(path: string): Box | undefined {
    return this.canvas.picture.boxes.find((box) => box.path === path);
  }

  /** Opens or closes a box; the box stays where it is on the screen. */
  private async toggle(path: string): Promise<void> {
    const before = this.box(path);
    if (!before || before.item.in === undefined) return;
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

  private async openAll(): Promise<void> {
    await this.guard("opening", async () => {
      await this.level(0);
      const queue: [number, string][] = [[0, ""]];
      let count = 0;
      for (let at = 0; at < queue.length && count < MOST_OPEN; at += 1) {
        const [id, path] = queue[at] as [number, string];
        for (const [index, item] of (this.levels.get(id)?.items ?? []).entries()) {
          count += 1;
          if (item.in === undefined || path.split("/").length > 40) continue;
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

  private closeAll(): void {
    this.open.clear();
    this.selected = this.selected.split("/")[0] ?? "";
    this.render();
    this.canvas.fit();
    this.remember(true);
  }

  private async click(event: PointerEvent): Promise<void> {
    const box = this.canvas.at(event.offsetX, event.offsetY);
    if (!box) {
      await this.select("", false);
      return;
    }
    // The mark before the title of a box opens it.
    const x = (event.offsetX - this.canvas.view.x) / this.canvas.view.scale - box.x;
    const y = (event.offsetY - this.canvas.view.y) / this.canvas.view.scale - box.y;
    if (box.item.in !== undefined && x < 24 && y < 24) await this.toggle(box.path);
    else await this.select(box.path, false);
  }

  private async select(path: string, reveal: boolean): Promise<void> {
    // Everything around the box must be open.
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
    if (path && (this.shown === undefined || this.shown === "details")) {
      await this.show(this.engine.details ? "details" : undefined);
    } else if (this.shown === "text") await this.show("text");
  }

  /** Selects the box of a level, wherever it is first shown. */
  private async go(level: number | undefined, item: number | undefined): Promise<void> {
    if (level === undefined || item === undefined) return;
    const path = [item];
    for (let parent = this.parents[level]; parent; parent = this.parents[parent[0]]) path.unshift(parent[1]);
    await this.select(path.join("/"), true);
  }

  private async find(): Promise<void> {
    const text = this.search.value.trim();
    this.hits = [];
    this.hit = -1;
    if (!text) return;
    await this.guard("searching", async () => {
      const found = await this.engine.search(text);
      this.hits = found.hits;
      this.say(found.note ?? `${found.count} matches`);
      if (this.hits.length > 0) await this.step(1);
    });
  }

  private async step(by: number): Promise<void> {
    const count = this.hits.length;
    if (count === 0) return;
    this.hit = (this.hit + by + count) % count;
    const hit = this.hits[this.hit] as Hit;
    await this.guard("searching", async () => {
      await this.go(hit.level, hit.item);
      this.say(`match ${this.hit + 1} of ${count}: ${hit.label}`);
    });
  }

  private async show(name: PanelName | undefined): Promise<void> {
    this.shown = name;
    for (const [key, made] of this.buttons) made.setAttribute("aria-pressed", String(key === name));
    const wasHidden = this.panel.hidden;
    this.panel.hidden = name === undefined;
    if (wasHidden !== this.panel.hidden) this.canvas.resize();
    if (name !== undefined) await this.guard(name, async () => this.panel.replaceChildren(...(await this.content(name))));
  }

  private async content(name: PanelName): Promise<Node[]> {
    const { engine } = this;
    const go: panels.Go = (level, item) => void this.go(level, item);
    const box = this.box(this.selected);
    switch (name) {
      case "details":
        if (!box || !engine.details) return [element("p", {}, "Select a box.")];
        return panels.details(await engine.details(box.level, box.index));
      case "findings":
        if (!engine.findings) return [];
        return panels.findings(await engine.findings(), go, () => void this.change("Repaired", engine.repair));
      case "cost": {
        if (!engine.cost) return [];
        const count = (sizes: string): void => {
          this.sizes = sizes;
          void this.show("cost");
        };
        this.coloring.value = "cost";
        this.canvas.coloring = "cost";
        const found = await engine.cost(this.sizes);
        await this.reload();
        return panels.cost(found, this.sizes, go, count);
      }
      case "text":
        if (!engine.text) return [];
        return panels.text((await engine.text(box?.level ?? 0, box?.index ?? -1)).text);
      case "changes":
        return [];
    }
  }

  /** Levels again, with the same boxes open, after marks or the model changed. */
  private async reload(): Promise<void> {
    this.levels.clear();
    await this.level(0);
    for (const path of [...this.open].sort((a, b) => a.length - b.length)) await this.load(path);
    this.render();
  }

  private async change(title: string, apply: (() => Promise<{ summary: string; edits: string[] }>) | undefined): Promise<void> {
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
      this.panel.replaceChildren(...panels.changes(title, done));
      this.canvas.resize();
      this.say(done.summary);
      this.remember(true);
    });
  }

  private async save(): Promise<void> {
    await this.guard("saving", async () => {
      const bytes = await this.engine.save?.();
      if (!bytes) return;
      const url = URL.createObjectURL(new Blob([bytes as BlobPart], { type: "application/octet-stream" }));
      const name = (this.title.textContent ?? "model").replace(/[^\w.-]+/g, "_");
      element("a", { href: url, download: name.endsWith(".onnx") ? name : `${name}.onnx` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      this.say(`saved ${bytes.length} bytes`);
    });
  }

  private theme(): void {
    document.documentElement.classList.toggle("dark");
    this.canvas.colors = palette(document.documentElement);
    this.canvas.draw();
  }

  private say(text: string): void {
    this.status.textContent = text;
  }

  private async guard(what: string, work: () => Promise<void>): Promise<void> {
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
  private remember(isStep: boolean): void {
    const parts = [`color=${this.canvas.coloring}`];
    // Thousands of open boxes do not fit into an address.
    if (this.open.size > 0 && this.open.size < 200) parts.push(`open=${[...this.open].join(",")}`);
    if (this.selected) parts.push(`at=${this.selected}`);
    const hash = `#${parts.join("&")}`;
    if (hash === location.hash) return;
    if (isStep) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
  }

  private async restore(): Promise<void> {
    await this.level(0);
    const state = new URLSearchParams(location.hash.slice(1));
    const color = state.get("color") as Coloring | null;
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

  private key(event: KeyboardEvent): void {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const { clientWidth, clientHeight } = this.canvas.element;
    const zoom = (factor: number): void => this.canvas.zoom(factor, clientWidth / 2, clientHeight / 2);
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
        void this.show(undefined);
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
  private follow(isDown: boolean): void {
    const { lines } = this.canvas.picture;
    if (!this.selected) {
      const first = this.canvas.picture.boxes[0];
      if (first) void this.select(first.path, true);
      return;
    }
    const line = lines.find((line) => (isDown ? line.from : line.to) === this.selected);
    if (line) void this.select(isDown ? line.to : line.from, true);
  }
}

function distance(events: PointerEvent[]): number {
  const [a, b] = events;
  return a && b ? Math.hypot(a.offsetX - b.offsetX, a.offsetY - b.offsetY) : 0;
}

/** The first screen of the page without a model. */
function drop(root: HTMLElement, engine: Engine): void {
  const input = element("input", { type: "file", id: "file", "aria-label": "A model", accept: ".onnx,.onnxtxt,.textproto,.json" });
  const message = element("p", { id: "message", role: "status" }, "Files stay in this tab; nothing is sent.");
  const zone = element("main", { id: "drop" }, element("h1", {}, "Drop an ONNX model here"), input, message);
  root.replaceChildren(zone);
  const take = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    message.textContent = `reading ${file.name} …`;
    try {
      await engine.open?.(file.name, new Uint8Array(await file.arrayBuffer()));
      await new Page(root, engine).start();
    } catch (error) {
      if (!zone.isConnected) root.replaceChildren(zone);
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

const root = document.getElementById("app");
if (root) {
  if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.classList.add("dark");
  const scene = document.getElementById("scene");
  const base = document.body.dataset["session"];
  const wasm = document.body.dataset["worker"];
  const fail = (error: unknown): void => {
    root.replaceChildren(element("p", { id: "message", role: "alert" }, error instanceof Error ? error.message : String(error)));
  };
  try {
    if (scene) new Page(root, embedded(scene)).start().catch(fail);
    else if (base !== undefined) {
      // The server ends with the page.
      window.addEventListener("pagehide", () => navigator.sendBeacon(`${base}bye`));
      new Page(root, remote(base)).start().catch(fail);
    }
    else if (wasm !== undefined) drop(root, worker(wasm));
  } catch (error) {
    fail(error);
  }
}
