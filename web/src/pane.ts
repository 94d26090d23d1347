// A model as a picture: which boxes are open, which one is selected, and what a pointer does. A comparison has two.

import { Canvas, type View } from "./canvas";
import { composed, type Box } from "./compose";
import { element } from "./dom";
import { sliced } from "./slices";
import type { Engine } from "./engine";
import type { Coloring, Level, Overview, Parent, Side } from "./model";

/** Boxes that `Open all` draws at most. */
const MOST_OPEN = 60_000;

/** Milliseconds and pixels between the clicks of a double click at most. */
const DOUBLE = { time: 500, distance: 8 };

/** Levels that are asked for at once: their answer is read without a pause. */
const TOGETHER = 128;

export interface PaneEvents {
  /** A box was clicked, or the space between boxes: then the path is empty. */
  select(pane: Pane, path: string, isPath: boolean): void;
  toggle(pane: Pane, path: string): void;
  /** The picture was moved by the user. */
  moved(pane: Pane, before: View): void;
}

export class Pane {
  readonly element: HTMLElement;
  readonly canvas: Canvas;
  readonly side: Side;
  readonly title = element("div", { class: "pane-title", hidden: "" });
  /** The paths of the boxes that are open. */
  readonly open = new Set<string>();
  selected = "";
  /** Whether edges show the values of the last run. */
  hasValues = false;
  /** Whether the picture is not that of what is loaded and open. */
  private isStale = true;
  private readonly engine: Engine;
  private readonly events: PaneEvents;
  private readonly levels = new Map<number, Level>();
  private parents: Parent[] = [];
  /** The last click. What it shows may move what is under the pointer, so a double click is about the box of its first one. */
  private clicked: { time: number; x: number; y: number; path: string; isToggle: boolean } | undefined;

  constructor(engine: Engine, side: Side, events: PaneEvents) {
    this.engine = engine;
    this.side = side;
    this.events = events;
    const label = side === 0 ? "Picture of the model; the tree beside it has the same boxes" : "Picture of the older model";
    const canvas = element("canvas", { id: side === 0 ? "canvas" : "canvas-older", tabindex: "0", role: "img", "aria-label": label });
    this.canvas = new Canvas(canvas);
    this.canvas.titled = () => (this.title.hidden ? 0 : this.title.offsetTop + this.title.offsetHeight);
    this.element = element("div", { class: "pane" }, this.title, canvas);
    this.listen(canvas);
  }

  private listen(canvas: HTMLCanvasElement): void {
    let drag: { x: number; y: number; moved: number } | undefined;
    const pointers = new Map<number, PointerEvent>();
    const moved = (before: View): void => this.events.moved(this, before);
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
    const end = (event: PointerEvent): void => {
      pointers.delete(event.pointerId);
      if (drag && drag.moved < 4 && event.type === "pointerup") this.click(event);
      if (pointers.size === 0) drag = undefined;
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
      { passive: false },
    );
  }

  /** Whether an event is at the place of the last click. */
  private isAgain(event: MouseEvent): boolean {
    const { clicked } = this;
    return clicked !== undefined && Math.hypot(event.clientX - clicked.x, event.clientY - clicked.y) < DOUBLE.distance;
  }

  /** Whether a click is the second one of a double click. */
  isSecond(event: MouseEvent): boolean {
    return this.clicked !== undefined && event.timeStamp - this.clicked.time < DOUBLE.time && this.isAgain(event);
  }

  /** Opens or closes the box of a double click, whatever is under the pointer by now. */
  doubled(event: MouseEvent): void {
    const { clicked } = this;
    if (clicked?.path && !clicked.isToggle && this.isAgain(event)) this.events.toggle(this, clicked.path);
    this.clicked = undefined;
  }

  private click(event: PointerEvent): void {
    const { view } = this.canvas;
    if (this.isSecond(event)) return;
    const box = this.canvas.at(event.offsetX, event.offsetY);
    this.clicked = { time: event.timeStamp, x: event.clientX, y: event.clientY, path: box?.path ?? "", isToggle: false };
    if (!box) {
      this.events.select(this, "", false);
      return;
    }
    // The mark before the title of a box opens it.
    const x = (event.offsetX - view.x) / view.scale - box.x;
    const y = (event.offsetY - view.y) / view.scale - box.y;
    this.clicked.isToggle = box.item.in !== undefined && x < 24 && y < 24;
    if (this.clicked.isToggle) this.events.toggle(this, box.path);
    else this.events.select(this, box.path, event.shiftKey);
  }

  /** Takes the places of the levels of a model that is new or was changed. */
  begin(overview: Overview): void {
    this.parents = overview.parents;
    this.levels.clear();
    this.isStale = true;
    this.hasValues = false;
    this.canvas.marked.clear();
  }

  box(path: string): Box | undefined {
    return this.canvas.picture.boxes.find((box) => box.path === path);
  }

  /** The path of a box of a level, where it is first shown. */
  pathOf(level: number, item: number): string {
    const path = [item];
    for (let parent = this.parents[level]; parent; parent = this.parents[parent[0]]) path.unshift(parent[1]);
    return path.join("/");
  }

  /** Loads the levels of boxes and those around them. */
  async load(paths: Iterable<string>): Promise<void> {
    await this.level(0);
    let outer = [...paths].filter((path) => path !== "").map((path) => ({ level: 0, rest: path.split("/") }));
    while (outer.length > 0) {
      const inner = outer.flatMap(({ level, rest: [index, ...rest] }) => {
        const inside = this.levels.get(level)?.items[Number(index)]?.in;
        return inside === undefined ? [] : [{ level: inside, rest }];
      });
      await this.loadLevels(inner.map(({ level }) => level));
      outer = inner.filter(({ rest }) => rest.length > 0);
    }
  }

  level(id: number): Promise<void> {
    return this.loadLevels([id]);
  }

  /** Loads levels, many with a request. */
  private async loadLevels(ids: number[]): Promise<void> {
    const missing = [...new Set(ids)].filter((id) => !this.levels.has(id));
    for (let at = 0; at < missing.length; at += TOGETHER) {
      const part = missing.slice(at, at + TOGETHER);
      const { levels, labels } = this.engine.levels
        ? await this.engine.levels(part, this.hasValues, this.side)
        : { levels: await Promise.all(part.map((id) => this.engine.level(id, this.side))), labels: [] };
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
  opens(paths: Iterable<string>): void {
    this.open.clear();
    for (const path of paths) this.open.add(path);
    this.isStale = true;
  }

  async render(): Promise<void> {
    this.canvas.selected = this.selected;
    if (this.isStale) await this.canvas.show(await sliced(composed(0, this.levels, this.open)));
    else this.canvas.draw();
    this.isStale = false;
  }

  /** Levels again, with the same boxes open, after marks or the model changed. */
  async reload(): Promise<void> {
    this.levels.clear();
    await this.load(this.open);
    await this.render();
  }

  /** Opens or closes a box, which stays where it is on the screen. Returns `false` if it cannot be opened. */
  async toggle(path: string): Promise<boolean> {
    const before = this.box(path);
    if (!before || before.item.in === undefined) return false;
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

  async openAll(): Promise<void> {
    await this.level(0);
    let outer: [number, string][] = [[0, ""]];
    for (let count = 0; outer.length > 0 && count < MOST_OPEN; ) {
      const inner: [number, string][] = [];
      for (const [id, path] of outer) {
        const items = this.levels.get(id)?.items ?? [];
        count += items.length;
        if (count >= MOST_OPEN || path.split("/").length > 40) break;
        items.forEach((item, index) => {
          if (item.in !== undefined) inner.push([item.in, path ? `${path}/${index}` : String(index)]);
        });
      }
      // The levels of a depth are asked for together.
      await this.loadLevels(inner.map(([id]) => id));
      for (const [, path] of inner) this.open.add(path);
      outer = inner;
    }
    this.isStale = true;
    await this.render();
    this.canvas.fit();
  }

  async closeAll(): Promise<void> {
    this.opens([]);
    this.selected = this.selected.split("/")[0] ?? "";
    await this.render();
    this.canvas.fit();
  }

  /** Selects a box; everything around it is opened. */
  async select(path: string, reveal: boolean): Promise<void> {
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
  mark(paths: string[]): void {
    this.canvas.marked = new Set(
      paths.flatMap((path) => path.split("/").map((_, index, parts) => parts.slice(0, index + 1).join("/"))),
    );
    this.canvas.draw();
  }

  color(coloring: Coloring): void {
    this.canvas.coloring = coloring;
    this.canvas.draw();
  }

  /** The box that a key leads to: a user, a maker, or a neighbor in the same rank. */
  neighbor(direction: "up" | "down" | "left" | "right"): string | undefined {
    const { boxes, lines } = this.canvas.picture;
    if (!this.selected) return boxes[0]?.path;
    if (direction === "up" || direction === "down") {
      const isDown = direction === "down";
      const line = lines.find((line) => (isDown ? line.from : line.to) === this.selected);
      return line && (isDown ? line.to : line.from);
    }
    const box = this.box(this.selected);
    if (!box) return undefined;
    const parent = this.selected.slice(0, this.selected.lastIndexOf("/") + 1);
    const rank = boxes
      .filter((other) => other.level === box.level && other.item.r === box.item.r && other.path.startsWith(parent))
      .sort((a, b) => a.x - b.x);
    return rank[rank.findIndex((other) => other.path === box.path) + (direction === "right" ? 1 : -1)]?.path;
  }
}

function distance(events: PointerEvent[]): number {
  const [a, b] = events;
  return a && b ? Math.hypot(a.offsetX - b.offsetX, a.offsetY - b.offsetY) : 0;
}
