// The page: a picture, or two side by side, a tree, a search, and panels.

import { palette, type View } from "./canvas";
import { Contents, PANELS, TITLES, available, type PanelName } from "./contents";
import { button, download, element, picks } from "./dom";
import { chosen, type Source } from "./files";
import { help } from "./help";
import { press } from "./keys";
import type { Engine } from "./engine";
import type { Coloring, Comparison, Edits, Overview, Side } from "./model";
import { Pane } from "./pane";
import { Search } from "./search";
import { openAll, openOlder } from "./start";
import { fingerprint, read, write } from "./state";
import { Tree } from "./tree";
import { OPENING, Work } from "./work";

/** Panels that lead to no boxes: a box that is selected takes their place with its details. */
const GIVE_WAY: PanelName[] = ["simplify", "changes"];

const COLORINGS: Coloring[] = ["type", "cost", "scope", "findings", "diff"];

/**
 * What the user does comes through `act` or `at`, one after the other; the other methods are what that consists of, and do not call
 * these.
 */
export class Page {
  readonly engine: Engine;
  readonly work: Work;
  readonly search: Search;
  panes: Pane[];
  overview: Overview | undefined;
  shown: PanelName | undefined;
  /** The node of the details, if it is one that computes a weight of the node with the box that is selected. */
  folded: number | undefined;
  private readonly tree: Tree;
  private readonly contents: Contents;
  private readonly panel = element("aside", { id: "panel", "aria-label": "Panel", hidden: "", tabindex: "-1" });
  private readonly title = element("h1", {}, document.title);
  private readonly coloring = element("select", { id: "coloring", "aria-label": "Color by" });
  private readonly undo: HTMLButtonElement;
  private readonly picture = element("main", { id: "picture" });
  private readonly tabs = new Map<PanelName, HTMLButtonElement>();
  /** What the panel is about. */
  private about: string | undefined;
  private isStill = false;

  constructor(root: HTMLElement, engine: Engine) {
    this.engine = engine;
    this.work = new Work(engine, { restart: () => this.start(), isChoosing: () => this.search.from !== undefined });
    this.search = new Search(this);
    this.contents = new Contents(this);
    this.panes = [this.pane(0)];
    this.tree = new Tree({
      choose: (path) => {
        this.closeTree();
        void this.at("selecting", () => this.select(this.main, path, true));
      },
      select: (path) => void this.at("selecting", () => this.select(this.main, path, true)),
      toggle: (path) => void this.at("opening", () => this.toggle(this.main, path)),
    });
    for (const name of COLORINGS) if (name !== "diff") this.coloring.append(element("option", { value: name }, `color: ${name}`));
    this.undo = button("Undo", this.undoes, { id: "undo", disabled: "" });
    root.replaceChildren(this.header(), this.tree.element, this.picture, this.panel, this.rail(), this.work.status);
    this.picture.append(this.main.element, this.work.busy, this.work.notice);
    this.listen();
  }

  /** Does what the user asks for. */
  act(what: string, work: () => Promise<void>, once?: string): Promise<void> {
    return this.work.guard(what, work, once);
  }

  /** Does what is about a place of the model, unless the model is another one when its turn comes. */
  at(what: string, work: () => Promise<void>): Promise<void> {
    const { overview } = this;
    return this.work.guard(what, async () => {
      if (this.overview === overview) await work();
    });
  }

  get main(): Pane {
    return this.panes[0] as Pane;
  }

  private pane(side: Side): Pane {
    const pane = new Pane(this.engine, side, {
      select: (pane, path, isPath) => void this.at("selecting", () => (isPath ? this.search.path(pane, path) : this.select(pane, path, false))),
      toggle: (pane, path) => void this.at("opening", () => this.toggle(pane, path)),
      moved: (pane, before) => this.together(pane, before),
    });
    pane.canvas.covered = () => this.covered(pane);
    return pane;
  }

  /** Pixels of a picture that the panel covers, which is over it where there is no room beside it. */
  private covered(pane: Pane): number {
    if (this.panel.hidden) return 0;
    const [canvas, panel] = [pane.canvas.element.getBoundingClientRect(), this.panel.getBoundingClientRect()];
    return panel.left < canvas.right - 1 ? Math.min(Math.max(canvas.bottom - panel.top, 0), canvas.height) : 0;
  }

  private header(): HTMLElement {
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
      button("Close all", () => void this.act("closing", () => this.closeAll()), { id: "close-all" }),
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
  private rail(): HTMLElement {
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
      button("?", () => help(), { id: "help", "aria-label": "Keys" }),
    );
    return rail;
  }

  /** Closes the tree, which is over the picture where there is no room beside it. */
  private closeTree(): boolean {
    const wasShown = document.body.classList.contains("tree-shown");
    document.body.classList.remove("tree-shown");
    return wasShown;
  }

  /** Opens a panel, or closes it. */
  tab(name: PanelName): void {
    if (!this.tabs.has(name) || (name === "changes" && !this.contents.hasChanges)) return;
    this.closeTree();
    // Closing does not wait for work that takes long, except after other requests.
    if (this.shown === name && !this.work.isWaiting) void this.show(undefined);
    else void this.act(name, () => this.show(this.shown === name ? undefined : name));
  }

  private listen(): void {
    this.picture.addEventListener("pointerdown", () => this.closeTree());
    this.coloring.addEventListener("change", () => {
      this.color(this.coloring.value as Coloring);
      this.remember(false);
    });
    window.addEventListener("resize", () => this.resize());
    window.addEventListener("popstate", () => void this.act("reading", () => this.moved()));
    document.addEventListener("keydown", (event) => press(this, event));
    // What is begun without waiting for it, such as the number of findings.
    window.addEventListener("unhandledrejection", (event) => {
      event.preventDefault();
      this.work.warn(event.reason instanceof Error ? event.reason.message : String(event.reason));
    });
    // The panel that the first click opens may be under the second one, which is not about its buttons.
    this.panel.addEventListener(
      "click",
      (event) => {
        if (!this.panes.some((pane) => pane.isSecond(event))) return;
        event.preventDefault();
        event.stopPropagation();
      },
      { capture: true },
    );
    document.addEventListener("dblclick", (event) => {
      const isHere = event.target instanceof Node && (this.picture.contains(event.target) || this.panel.contains(event.target));
      if (isHere) for (const pane of this.panes) pane.doubled(event);
    });
  }

  /** Takes files that were dropped. */
  drop(sources: () => Promise<Source[]>): void {
    for (const dialog of document.querySelectorAll("dialog")) dialog.close();
    if (this.engine.open) void this.reopen(sources);
    else this.work.warn("This page shows the files that it was made for. `onnx view FILE` shows another one.");
  }

  /** Shows the model from the beginning. */
  async start(): Promise<void> {
    for (const pane of this.panes) {
      pane.opens([]);
      pane.selected = "";
    }
    const overview = await this.refresh();
    this.color(overview.coloring);
    this.resize();
    const problem = await this.restore();
    if (overview.other !== undefined && this.engine.compare) await this.compare(this.engine.compare);
    else if (this.panes.length > 1) this.dropOlder();
    for (const pane of this.panes) pane.canvas.fit();
    if (this.main.selected) this.main.canvas.reveal(this.main.selected);
    document.body.dataset["ready"] = "true";
    if (problem) this.work.warn(problem);
    this.count();
  }

  /** The number of findings on the tab. */
  private count(): void {
    const { engine } = this;
    const tab = this.tabs.get("findings");
    if (!engine.findings || !tab) return;
    void engine.findings().then((found) => {
      const count = found.counts[0] + found.counts[1];
      tab.textContent = count > 0 ? `${TITLES.findings} ${count}` : TITLES.findings;
      tab.classList.toggle("error", found.counts[0] > 0);
    }, () => undefined);
  }

  async refresh(): Promise<Overview> {
    const overview = await this.engine.overview();
    this.overview = overview;
    this.main.begin(overview);
    this.title.textContent = overview.title;
    this.title.title = overview.title;
    document.title = overview.title;
    this.undo.disabled = overview.undo === 0;
    this.tabs.get("changes")?.toggleAttribute("hidden", !this.contents.hasChanges);
    // The buttons may need more room.
    this.resize(true);
    this.work.begin(overview.facts);
    return overview;
  }

  async render(): Promise<void> {
    for (const pane of this.panes) await pane.render();
    this.tree.show(this.main.canvas.picture, this.main.selected);
  }

  private resize(isStill = false): void {
    for (const pane of this.panes) pane.canvas.resize(isStill);
  }

  /** Moves the selected box, with the pictures, to where the panel does not hide it. */
  private uncover(pane: Pane): void {
    if (!pane.selected) return;
    const before = pane.canvas.view;
    pane.canvas.reveal(pane.selected, true);
    this.together(pane, before);
  }

  color(coloring: Coloring): void {
    this.coloring.value = coloring;
    for (const pane of this.panes) pane.color(coloring);
  }

  // Two pictures

  /** The box of the other picture that corresponds to one. */
  private async counterpart(pane: Pane, path: string): Promise<{ other: Pane; path: string } | undefined> {
    const other = this.panes.find((other) => other !== pane);
    const box = pane.box(path);
    if (!other || !box || !this.engine.counterpart) return undefined;
    const found = await this.engine.counterpart(box.level, box.index, pane.side);
    return found?.path ? { other, path: found.path.join("/") } : undefined;
  }

  /** Moves the other picture with one. */
  together(pane: Pane, before: View): void {
    const { view } = pane.canvas;
    for (const other of this.panes) {
      if (other === pane) continue;
      const ratio = view.scale / before.scale;
      const old = other.canvas.view;
      other.canvas.look({ scale: old.scale * ratio, x: view.x + (old.x - before.x) * ratio, y: view.y + (old.y - before.y) * ratio });
    }
  }

  /** Puts a box of the other picture next to that of one. */
  private align(pane: Pane, path: string, other: Pane, otherPath: string): void {
    const [a, b] = [pane.box(path), other.box(otherPath)];
    if (!a || !b) return;
    const { view } = pane.canvas;
    other.canvas.view = {
      scale: view.scale,
      x: view.x + (a.x + a.w / 2 - (b.x + b.w / 2)) * view.scale,
      y: view.y + (a.y - b.y) * view.scale,
    };
    other.canvas.draw();
  }

  private async compare(ask: () => Promise<Comparison>): Promise<void> {
    const found = await ask();
    this.contents.comparison = found;
    if (this.panes.length === 1) {
      const older = this.pane(1);
      this.panes.push(older);
      this.picture.prepend(older.element);
      if (!this.coloring.querySelector("[value=diff]")) this.coloring.append(element("option", { value: "diff" }, "color: diff"));
    }
    const older = this.panes[1] as Pane;
    older.begin(await this.engine.overview(1));
    for (const [pane, title] of [[older, found.titles[0]], [this.main, found.titles[1]]] as const) {
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
  async compareWith(ask: (() => Promise<Comparison>) | undefined): Promise<void> {
    if (ask) await this.act("comparing", () => this.compare(ask), "compare");
  }

  async single(): Promise<void> {
    await this.engine.single?.();
    this.dropOlder();
    await this.main.reload();
    await this.render();
    await this.show("compare");
  }

  private dropOlder(): void {
    this.contents.comparison = undefined;
    for (const pane of this.panes.splice(1)) pane.element.remove();
    this.main.title.hidden = true;
    this.coloring.querySelector("[value=diff]")?.remove();
    if (this.main.canvas.coloring === "diff") this.color("type");
    this.resize();
    this.main.canvas.fit();
  }

  // Boxes

  async toggle(pane: Pane, path: string): Promise<void> {
    const twin = await this.counterpart(pane, path);
    if (!(await pane.toggle(path))) return;
    if (twin && twin.other.box(twin.path) && twin.other.open.has(twin.path) !== pane.open.has(path)) {
      await twin.other.toggle(twin.path);
      this.align(pane, path, twin.other, twin.path);
    }
    this.tree.show(this.main.canvas.picture, this.main.selected);
    this.remember(true);
  }

  private async openAll(): Promise<void> {
    for (const pane of this.panes) await pane.openAll();
    this.tree.show(this.main.canvas.picture, this.main.selected);
    this.remember(true);
  }

  private async closeAll(): Promise<void> {
    for (const pane of this.panes) await pane.closeAll();
    this.tree.show(this.main.canvas.picture, this.main.selected);
    this.remember(true);
  }

  /** Selects a box, which is the other end of a path that is begun. */
  async select(pane: Pane, path: string, reveal: boolean): Promise<void> {
    const { from } = this.search;
    if (from === undefined || !path) {
      await this.selected(pane, path, reveal);
      return;
    }
    this.search.from = undefined;
    await this.search.path(pane, path, from);
  }

  async selected(pane: Pane, path: string, reveal: boolean, folded?: number): Promise<void> {
    const open = pane.open.size;
    await pane.select(path, reveal);
    this.folded = folded;
    const twin = path ? await this.counterpart(pane, path) : undefined;
    if (twin) {
      await twin.other.select(twin.path, false);
      this.align(pane, path, twin.other, twin.path);
    }
    if (pane === this.main || twin) {
      if (this.main.open.size !== open || pane !== this.main) this.tree.show(this.main.canvas.picture, this.main.selected);
      else this.tree.mark(this.main.selected);
    }
    this.remember(true);
    const isReplaced = this.shown === undefined || GIVE_WAY.includes(this.shown);
    if (this.shown === "details" || (path && isReplaced)) await this.show(this.engine.details ? "details" : undefined, pane);
    else if (this.shown === "text" && !this.contents.isFollowing) await this.show("text");
  }

  /** Shows the end of a path, whose matches are marked. */
  async marked(pane: Pane, path: string): Promise<void> {
    await pane.select(path, true);
    this.folded = undefined;
    this.tree.show(this.main.canvas.picture, this.main.selected);
    if (this.shown === "details") await this.show("details", pane);
  }

  /** Shows the details of a node that computes a weight of the selected one, or of that one. */
  async look(folded: number | undefined, pane: Pane): Promise<void> {
    this.folded = folded;
    await this.show("details", pane);
  }

  /** Selects the box of a level, wherever it is first shown. */
  async go(level: number | undefined, item: number | undefined, pane = this.main): Promise<void> {
    if (level === undefined || item === undefined) return;
    await this.select(pane, pane.pathOf(level, item), true);
  }

  // Panels

  async show(name: PanelName | undefined, pane = this.main): Promise<void> {
    // A panel that is shown again, such as a table after other sizes, stays where it was scrolled to.
    const about = name === "details" ? `${pane.side} ${pane.selected} ${this.folded}` : name;
    const isOther = about !== this.about;
    [this.shown, this.about] = [name, about];
    for (const [key, made] of this.tabs) made.setAttribute("aria-pressed", String(key === name));
    const wasHidden = this.panel.hidden;
    this.panel.hidden = name === undefined;
    // What is pointed at stays under the pointer, and what the panel moved comes back.
    if (wasHidden && name !== undefined) this.isStill = pane.selected !== "";
    if (wasHidden !== this.panel.hidden) this.resize(this.isStill);
    if (name !== undefined) {
      const contents = await this.contents.of(name, pane);
      if (this.shown === name) {
        this.panel.replaceChildren(...contents);
        if (isOther) this.panel.scrollTop = 0;
      }
      if (wasHidden || this.covered(pane) > 0) this.uncover(pane);
    }
    this.remember(false);
  }

  // Files and changes

  async older(files: File[]): Promise<void> {
    const { compare } = this.engine;
    if (!compare) return;
    const opened = async (): Promise<void> => {
      await openOlder(this.engine, await chosen(files));
      await this.compare(compare);
    };
    await this.act(OPENING, opened, OPENING);
  }

  /** Opens another model. What is shown stays until that has succeeded. */
  private async reopen(sources: () => Promise<Source[]>): Promise<void> {
    const opened = async (): Promise<void> => {
      await openAll(this.engine, await sources());
      if (this.panes.length > 1) this.dropOlder();
      this.contents.reset();
      this.search.clear();
      history.replaceState(null, "", "#");
      await this.start();
    };
    await this.act(OPENING, opened, OPENING);
  }

  async change(title: string, apply: (() => Promise<Edits>) | undefined): Promise<void> {
    if (apply) await this.act("working", () => this.changed(title, apply), title);
  }

  /** Makes a box the model, unless the model is another one when its turn comes. */
  async extract(level: number, item: number): Promise<void> {
    const { extract } = this.engine;
    const { overview } = this;
    if (!extract) return;
    const kept = async (): Promise<void> => {
      if (this.overview === overview) await this.changed("Kept", () => extract(level, item));
      else this.work.warn("The model was changed meanwhile: choose the box again.");
    };
    await this.act("working", kept, "Kept");
  }

  /** Takes back the last change; each request takes back one. */
  private async undone(): Promise<void> {
    const { undo } = this.engine;
    if (undo && this.overview?.undo !== 0) await this.changed("Undone", undo);
  }

  /** What the buttons for that do. */
  readonly undoes = (): void => void this.act("working", () => this.undone());

  readonly saves = (): void => {
    if (this.engine.save) void this.act("saving", () => this.contents.save(), "save");
  };

  private async changed(title: string, apply: () => Promise<Edits>): Promise<void> {
    const done = await apply();
    if (this.panes.length > 1) {
      await this.engine.single?.();
      this.dropOlder();
    }
    this.main.opens([]);
    this.main.selected = "";
    this.folded = undefined;
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
  fileName(): string {
    return (this.title.textContent ?? "model").replace(/\.(onnxtxt|textproto|pbtxt|json)$/i, "").replace(/[^\w.-]+/g, "_").replace(/\.onnx$/i, "");
  }

  private async svg(): Promise<void> {
    const open = [...this.main.open].map((path) => path.split("/").map(Number));
    const found = await this.engine.picture?.(open, this.main.canvas.coloring);
    if (found) download(`${this.fileName()}.svg`, found.svg, "image/svg+xml");
  }

  private async png(): Promise<void> {
    const blob = await this.main.canvas.image();
    if (blob) download(`${this.fileName()}.png`, blob, "image/png");
    else this.work.say("the picture is too large for an image: close some boxes");
  }

  private theme(): void {
    document.documentElement.classList.toggle("dark");
    for (const pane of this.panes) {
      pane.canvas.colors = palette(document.documentElement);
      pane.canvas.draw();
    }
  }

  // The address

  /** The state in the address, so that a link shows the same. */
  remember(isStep: boolean): void {
    const { overview } = this;
    const [model, of] = [this.engine.open ? overview?.title : undefined, overview && fingerprint(overview)];
    write(
      { color: this.main.canvas.coloring, open: [...this.main.open], at: this.main.selected, panel: this.shown, find: this.search.field.value.trim(), model, of },
      isStep,
    );
  }

  /** Shows what the address holds. Returns why its places are not shown if they are those of another model. */
  private async restore(): Promise<string | undefined> {
    await this.main.level(0);
    const state = read();
    if (COLORINGS.includes(state.color as Coloring) && (state.color !== "diff" || this.panes.length > 1)) this.color(state.color as Coloring);
    const { overview } = this;
    const isSame = overview === undefined || state.of === undefined || state.of === fingerprint(overview);
    const [open, at] = isSame ? [state.open, state.at] : [[], ""];
    this.main.opens(open);
    await this.main.load(open);
    this.main.selected = at;
    this.folded = undefined;
    await this.render();
    if (at) this.main.canvas.reveal(at);
    await this.search.restore(state.find);
    const isShown = (name: PanelName): boolean => name === state.panel && this.tabs.has(name) && (name !== "changes" || this.contents.hasChanges);
    const panel = PANELS.find(isShown);
    if (panel !== this.shown || panel === "details") await this.show(panel);
    if (isSame || (state.open.length === 0 && !state.at)) return undefined;
    const isNamed = state.model !== undefined && state.model !== overview.title;
    return isNamed
      ? `The link is about ${state.model}, and ${overview.title} is open: the place that it leads to is not shown.`
      : "The link is about the model as it was before or after a change: the place that it leads to is not shown.";
  }

  /** Goes back or forward. */
  private async moved(): Promise<void> {
    const problem = await this.restore();
    if (problem) this.work.say(problem);
  }

  /** Ends what is begun, or closes the panel. */
  escape(): void {
    if (this.closeTree()) return;
    if (this.search.from === undefined) void this.show(undefined);
    this.search.from = undefined;
    this.work.rest();
  }
}
