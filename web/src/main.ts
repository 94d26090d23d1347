// The page: a picture, or two side by side, a tree, a search, and panels.

import { palette, type View } from "./canvas";
import { button, download, element, picks } from "./dom";
import { embedded, remote, worker } from "./engines";
import { droppable } from "./drop";
import { chosen, type Source } from "./files";
import { help } from "./help";
import { Restored, type Change, type Coloring, type Comparison, type CostTable, type Edits, type Engine, type Hit, type Overview, type Run, type Side } from "./model";
import { Pane } from "./pane";
import * as panels from "./panels";
import { singular } from "./panels";
import { openAll, openOlder, start } from "./start";
import { read, write } from "./state";
import { Tree } from "./tree";
import { OPENING, Work } from "./work";

const COLORINGS: Coloring[] = ["type", "cost", "scope", "findings", "diff"];
const PANELS = ["details", "findings", "cost", "values", "simplify", "versions", "compare", "text"] as const;
type PanelName = (typeof PANELS)[number];
const TITLES: Record<PanelName, string> = {
  details: "Details",
  findings: "Findings",
  cost: "Cost",
  values: "Values",
  simplify: "Simplify",
  versions: "Versions",
  compare: "Compare",
  text: "Text",
};
/** Nodes at most whose edits are proved unless the user says otherwise. */
const MOST_PROVED = 1000;

/** What is added to the name of a file that is saved after a change, so that it does not replace the original. */
const CHANGED: Record<string, string> = { Simplified: "simplified", Repaired: "repaired", Converted: "converted", Kept: "part" };

class Page {
  private readonly engine: Engine;
  private readonly tree: Tree;
  private readonly panel = element("aside", { id: "panel", "aria-label": "Panel", hidden: "", tabindex: "-1" });
  private readonly work: Work;
  private readonly title = element("h1");
  private readonly found = element("span", { id: "found" });
  private readonly search = element("input", { id: "search", type: "search", placeholder: "Search: name or Softmax() -> MatMul()", "aria-label": "Search" });
  private readonly coloring = element("select", { id: "coloring", "aria-label": "Color by" });
  private readonly undo: HTMLButtonElement;
  private readonly picture = element("main", { id: "picture" });
  private readonly tabs = new Map<PanelName, HTMLButtonElement>();
  private panes: Pane[];
  private overview: Overview | undefined;
  private shown: PanelName | undefined;
  private hits: Hit[] = [];
  private hit = -1;
  private hitSide: Side = 0;
  private searched = "";
  private sizes = "";
  private seed = 0;
  private run: Run | undefined;
  private edits: { title: string; done: Edits } | undefined;
  private comparison: Comparison | undefined;
  /** The variables of inputs, once they are known. */
  private variables: string[] | undefined;
  private problem: string | undefined;
  private pathFrom: string | undefined;
  private isFollowing = false;
  private isStill = false;

  constructor(root: HTMLElement, engine: Engine) {
    this.engine = engine;
    this.work = new Work(engine.cancel, { restart: () => this.start(), isChoosing: () => this.pathFrom !== undefined });
    this.panes = [this.pane(0)];
    this.tree = new Tree({ select: (path) => void this.select(this.main, path, true), toggle: (path) => void this.toggle(this.main, path) });
    for (const name of COLORINGS) if (name !== "diff") this.coloring.append(element("option", { value: name }, `color: ${name}`));
    this.undo = button("Undo", () => void this.change("Undone", engine.undo), { id: "undo", disabled: "" });
    root.replaceChildren(this.header(), this.tree.element, this.picture, this.panel, this.rail(), this.work.status);
    this.picture.append(this.main.element, this.work.busy, this.work.notice);
    this.listen();
  }

  private get main(): Pane {
    return this.panes[0] as Pane;
  }

  private pane(side: Side): Pane {
    const pane = new Pane(this.engine, side, {
      select: (pane, path, isPath) => void (isPath ? this.path(pane, path) : this.select(pane, path, false)),
      toggle: (pane, path) => void this.toggle(pane, path),
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
    const header = element("header", {}, tree, this.title, this.search);
    header.append(
      button("‹", () => void this.step(-1), { id: "previous", "aria-label": "Previous match" }),
      button("›", () => void this.step(1), { id: "next", "aria-label": "Next match" }),
      this.found,
      this.coloring,
      button("Fit", () => this.main.canvas.fit(), { id: "fit" }),
      button("Open all", () => void this.openAll(), { id: "open-all" }),
      button("Close all", () => this.closeAll(), { id: "close-all" }),
    );
    if (engine.undo) header.append(this.undo);
    if (engine.save) header.append(button("Save", () => void this.save(), { id: "save", class: "primary" }));
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
    const available: Record<PanelName, unknown> = {
      details: engine.details,
      findings: engine.findings,
      cost: engine.cost,
      values: engine.run,
      simplify: engine.simplify,
      versions: engine.versions,
      compare: engine.compare,
      text: engine.text,
    };
    const rail = element("nav", { id: "rail", "aria-label": "Panels" });
    for (const name of PANELS) {
      if (!available[name]) continue;
      const made = button(TITLES[name], () => void this.show(this.shown === name ? undefined : name), { id: `panel-${name}`, "aria-pressed": "false" });
      this.tabs.set(name, made);
      rail.append(made);
    }
    rail.append(element("span", { class: "space" }));
    if (engine.picture) rail.append(button("SVG", () => void this.svg(), { id: "save-svg", "aria-label": "Save the picture as SVG" }));
    rail.append(
      button("PNG", () => void this.png(), { id: "save-png", "aria-label": "Save the picture as PNG" }),
      button("◐", () => this.theme(), { id: "theme", "aria-label": "Light or dark" }),
      button("?", () => help(), { id: "help", "aria-label": "Keys" }),
    );
    return rail;
  }

  private listen(): void {
    this.coloring.addEventListener("change", () => {
      this.color(this.coloring.value as Coloring);
      this.remember(false);
    });
    this.search.addEventListener("change", () => void this.find());
    this.search.addEventListener("keydown", (event) => {
      // A text that is new is searched when the field changes.
      const isSame = this.search.value.trim() === this.searched;
      if (event.key !== "Enter" || !isSame || this.hits.length === 0) return;
      const end = this.pathFrom === undefined ? undefined : this.hits[this.hit];
      if (end) void this.go(end.level, end.item);
      else void this.step(event.shiftKey ? -1 : 1);
    });
    window.addEventListener("resize", () => this.resize());
    window.addEventListener("popstate", () => void this.work.guard("reading", () => this.restore()));
    document.addEventListener("keydown", (event) => this.key(event));
    // Work that begins while other work goes on has no guard of its own.
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
      pane.open.clear();
      pane.selected = "";
    }
    const overview = await this.refresh();
    this.color(overview.coloring);
    this.resize();
    await this.restore();
    if (overview.other !== undefined) await this.compare(this.engine.compare);
    else if (this.panes.length > 1) this.dropOlder();
    for (const pane of this.panes) pane.canvas.fit();
    if (this.main.selected) this.main.canvas.reveal(this.main.selected);
    document.body.dataset["ready"] = "true";
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

  private async refresh(): Promise<Overview> {
    const overview = await this.engine.overview();
    this.overview = overview;
    this.main.begin(overview);
    this.title.textContent = overview.title;
    this.title.title = overview.title;
    document.title = overview.title;
    this.undo.disabled = overview.undo === 0;
    this.work.begin(overview.facts);
    return overview;
  }

  private render(): void {
    for (const pane of this.panes) pane.render();
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

  private color(coloring: Coloring): void {
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
  private together(pane: Pane, before: View): void {
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

  private async compare(ask: (() => Promise<Comparison>) | undefined): Promise<void> {
    if (!ask) return;
    await this.work.guard("comparing", async () => {
      this.comparison = await ask();
      if (this.panes.length === 1) {
        const older = this.pane(1);
        this.panes.push(older);
        this.picture.prepend(older.element);
        if (!this.coloring.querySelector("[value=diff]")) this.coloring.append(element("option", { value: "diff" }, "color: diff"));
      }
      const older = this.panes[1] as Pane;
      older.begin(await this.engine.overview(1));
      for (const [pane, title] of [[older, this.comparison.titles[0]], [this.main, this.comparison.titles[1]]] as const) {
        pane.title.hidden = false;
        pane.title.textContent = title;
        await pane.reload();
      }
      this.color("diff");
      this.render();
      this.resize();
      for (const pane of this.panes) pane.canvas.fit();
      await this.show("compare");
    });
  }

  private async single(): Promise<void> {
    await this.work.guard("closing", async () => {
      await this.engine.single?.();
      this.dropOlder();
      await this.main.reload();
      this.render();
      await this.show("compare");
    });
  }

  private dropOlder(): void {
    this.comparison = undefined;
    for (const pane of this.panes.splice(1)) pane.element.remove();
    this.main.title.hidden = true;
    this.coloring.querySelector("[value=diff]")?.remove();
    if (this.main.canvas.coloring === "diff") this.color("type");
    this.resize();
    this.main.canvas.fit();
  }

  // Boxes

  private async toggle(pane: Pane, path: string): Promise<void> {
    await this.work.guard("opening", async () => {
      const twin = await this.counterpart(pane, path);
      if (!(await pane.toggle(path))) return;
      if (twin && twin.other.box(twin.path) && twin.other.open.has(twin.path) !== pane.open.has(path)) {
        await twin.other.toggle(twin.path);
        this.align(pane, path, twin.other, twin.path);
      }
      this.tree.show(this.main.canvas.picture, this.main.selected);
    });
    this.remember(true);
  }

  private async openAll(): Promise<void> {
    await this.work.guard("opening", async () => {
      for (const pane of this.panes) await pane.openAll();
      this.tree.show(this.main.canvas.picture, this.main.selected);
      this.remember(true);
    });
  }

  private closeAll(): void {
    this.work.rest();
    for (const pane of this.panes) pane.closeAll();
    this.tree.show(this.main.canvas.picture, this.main.selected);
    this.remember(true);
  }

  private async select(pane: Pane, path: string, reveal: boolean): Promise<void> {
    if (this.pathFrom !== undefined && path) {
      const from = this.pathFrom;
      this.pathFrom = undefined;
      await this.path(pane, path, from);
      return;
    }
    await this.work.guard("selecting", () => this.selected(pane, path, reveal));
  }

  private async selected(pane: Pane, path: string, reveal: boolean): Promise<void> {
    const open = pane.open.size;
    await pane.select(path, reveal);
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
    if (path && (this.shown === undefined || this.shown === "details")) await this.show(this.engine.details ? "details" : undefined, pane);
    else if (this.shown === "text" && !this.isFollowing) await this.show("text");
  }

  /** Selects the box of a level, wherever it is first shown. */
  private async go(level: number | undefined, item: number | undefined, pane = this.main): Promise<void> {
    if (level === undefined || item === undefined) return;
    await this.select(pane, pane.pathOf(level, item), true);
  }

  // Search and paths

  private async find(): Promise<void> {
    const text = this.search.value.trim();
    const from = this.pathFrom;
    this.forget();
    [this.searched, this.pathFrom] = [text, from];
    if (!text) {
      this.work.rest();
      this.remember(false);
      return;
    }
    await this.work.guard("searching", async () => {
      const found = await this.engine.search(text);
      this.take(found, 0);
      const isEnd = from !== undefined && found.count > 1;
      this.work.say(found.note ?? (isEnd ? `${found.count} matches are marked: ‹ and › step through them; a click on one, or Enter in the search, takes it as the other end of the path` : `${found.count} matches`));
      if (this.hits.length > 0 && !isEnd) await this.step(1);
      this.remember(false);
    });
  }

  /** Ends a search or a path, whose matches are boxes of the model as it was. */
  private forget(): void {
    this.take({ hits: [], count: 0 }, 0);
    this.found.textContent = "";
    [this.searched, this.pathFrom] = ["", undefined];
  }

  private take(found: { hits: Hit[]; count: number }, side: Side): void {
    this.hits = found.hits;
    this.hit = -1;
    this.hitSide = side;
    this.found.textContent = String(found.count);
    const pane = this.panes.find((pane) => pane.side === side) ?? this.main;
    pane.mark(found.hits.map((hit) => pane.pathOf(hit.level, hit.item)));
  }

  private async step(by: number): Promise<void> {
    const count = this.hits.length;
    if (count === 0) return;
    this.hit = (this.hit + by + count) % count;
    const hit = this.hits[this.hit] as Hit;
    await this.work.guard("searching", async () => {
      const pane = this.panes.find((pane) => pane.side === this.hitSide) ?? this.main;
      const path = pane.pathOf(hit.level, hit.item);
      // A single match is the other end of a path that is begun. Among several the user chooses.
      if (count === 1 && this.pathFrom !== undefined) {
        await this.select(pane, path, true);
        return;
      }
      await this.selected(pane, path, true);
      this.found.textContent = `${this.hit + 1} / ${count}`;
      this.work.say(`match ${this.hit + 1} of ${count}: ${hit.label}`);
    });
  }

  /** Marks the nodes between the selected box and another one. */
  private async path(pane: Pane, path: string, from = pane.selected): Promise<void> {
    if (!this.engine.path) return;
    await this.work.guard("searching", async () => {
      // A match of a search may be in a box that is closed.
      for (const end of [from, path]) if (!pane.box(end)) await pane.select(end, false);
      const [a, b] = [pane.box(from), pane.box(path)];
      if (!a || !b || a === b) {
        this.work.say("a path has two ends: select one box, and choose another one");
        return;
      }
      const found = await this.engine.path?.([a.level, a.index], [b.level, b.index], pane.side);
      if (!found) return;
      this.take(found, pane.side);
      // The matches are those of the path, and not of a text.
      [this.search.value, this.searched] = ["", ""];
      await pane.select(path, true);
      this.tree.show(this.main.canvas.picture, this.main.selected);
      if (this.shown === "details") await this.show("details", pane);
      const isEnd = ({ level, item }: Hit): boolean => [from, path].some((end) => `${pane.pathOf(level, item)}/`.startsWith(`${end}/`));
      const between = found.count - found.hits.filter(isEnd).length;
      const nodes = between === 1 ? "1 node" : `${between} nodes`;
      this.work.say(found.note ?? `${nodes} between ${a.item.t} and ${b.item.t}: ‹ and › step through what is marked`);
    });
  }

  // Panels

  private async show(name: PanelName | undefined, pane = this.main): Promise<void> {
    this.shown = name;
    for (const [key, made] of this.tabs) made.setAttribute("aria-pressed", String(key === name));
    const wasHidden = this.panel.hidden;
    this.panel.hidden = name === undefined;
    // What is pointed at stays under the pointer, and what the panel moved comes back.
    if (wasHidden && name !== undefined) this.isStill = pane.selected !== "";
    if (wasHidden !== this.panel.hidden) this.resize(this.isStill);
    if (name !== undefined) {
      await this.work.guard(name, async () => {
        const contents = await this.content(name, pane);
        if (this.shown === name) this.panel.replaceChildren(...contents);
      });
      if (wasHidden || this.covered(pane) > 0) this.uncover(pane);
    }
    this.remember(false);
  }

  private async content(name: PanelName, pane: Pane): Promise<Node[]> {
    const { engine } = this;
    const go: panels.Go = (level, item) => void this.go(level, item);
    const box = pane.box(pane.selected);
    switch (name) {
      case "details":
        return this.details(pane);
      case "findings":
        return engine.findings ? panels.findings(await engine.findings(), go, engine.repair ? () => void this.change("Repaired", engine.repair) : undefined) : [];
      case "cost": {
        if (!engine.cost) return [];
        this.color("cost");
        const { sizes } = this;
        const [found, problem] = await this.counted(sizes);
        this.variables = found.variables;
        await this.main.reload();
        this.render();
        if (problem !== undefined) this.work.say(problem);
        return panels.cost(found, sizes, problem, go, (sizes) => {
          this.sizes = sizes;
          void this.show("cost");
        });
      }
      case "values": {
        // Without the names of variables the field has no example; a run says what is wrong.
        this.variables ??= (await engine.cost?.("").catch(() => undefined))?.variables;
        const state = { sizes: this.sizes, seed: this.seed, isShown: this.main.hasValues, variables: this.variables ?? [], problem: this.problem };
        this.problem = undefined;
        return panels.values(this.run, state, go, { run: (sizes, seed) => void this.runs(sizes, seed), toggle: (isShown) => void this.values(isShown) });
      }
      case "simplify":
        return this.simplify();
      case "versions":
        return engine.versions ? panels.versions(await engine.versions(), go, (version) => void this.change(`Converted to version ${version}`, () => (engine.convert as NonNullable<typeof engine.convert>)(version))) : [];
      case "compare":
        return this.comparing();
      case "text": {
        if (!engine.text) return [];
        const isInside = box !== undefined && box.item.in === undefined && box.item.k === "node";
        // A node is shown among those of its box.
        const parent = isInside ? this.parentOf(pane) : box;
        const found = await engine.text(parent?.level ?? 0, parent?.index ?? -1, pane.side);
        return panels.text(found, (level, item) => box !== undefined && level === box.level && item === box.index, (level, item) => {
          this.isFollowing = true;
          void this.go(level, item, pane).finally(() => {
            this.isFollowing = false;
            void this.show("text", pane);
          });
        });
      }
    }
  }

  /** The costs for sizes; for none, and why, if they cannot be read. */
  private async counted(sizes: string): Promise<[CostTable, string | undefined]> {
    const count = this.engine.cost as NonNullable<Engine["cost"]>;
    try {
      return [await count(sizes), undefined];
    } catch (error) {
      if (sizes.trim() === "" || error instanceof Restored) throw error;
      return [await count(""), error instanceof Error ? error.message : String(error)];
    }
  }

  private parentOf(pane: Pane): { level: number; index: number } | undefined {
    const end = pane.selected.lastIndexOf("/");
    return end < 0 ? undefined : pane.box(pane.selected.slice(0, end));
  }

  private async details(pane: Pane): Promise<Node[]> {
    const { engine } = this;
    const box = pane.box(pane.selected);
    if (!box || !engine.details) return panels.hint("Details", "Select a box. Its types, attributes, weights and metadata are shown here.");
    const found = await engine.details(box.level, box.index, pane.side);
    const { weight, extract } = engine;
    const canKeep = extract !== undefined && pane.side === 0 && (box.item.k === "node" || box.item.k === "group");
    return panels.details(found, {
      go: (level, item) => void this.go(level, item, pane),
      ...(weight ? { weight: (input: number) => weight(box.level, box.index, input, pane.side) } : {}),
      ...(engine.path
        ? {
            path: () => {
              this.pathFrom = box.path;
              this.work.say(`path from ${box.item.t}: choose the other end in the picture or the tree, or search it; Escape ends this`);
            },
          }
        : {}),
      ...(canKeep ? { extract: () => void this.change("Kept", () => extract(box.level, box.index)) } : {}),
    });
  }

  private simplify(): Node[] {
    const { engine } = this;
    const again = (isProved: boolean): void => void this.change("Simplified", () => (engine.simplify as NonNullable<typeof engine.simplify>)(isProved));
    if (this.edits) {
      const actions = [
        ...(engine.before ? [button("Before and after", () => void this.compare(engine.before), { id: "before" })] : []),
        button("Undo", () => void this.change("Undone", engine.undo)),
        button("Save", () => void this.save(), { class: "primary" }),
      ];
      const form = panels.simplify(false, again);
      return [...panels.changes(this.edits.title, this.edits.done, this.edits.title === "Undone" ? [] : actions), element("hr"), ...form];
    }
    const nodes = Number(this.overview?.facts.find(([name]) => name === "nodes")?.[1] ?? 0);
    return panels.simplify(nodes <= MOST_PROVED, again);
  }

  private comparing(): Node[] {
    const { engine } = this;
    if (this.comparison) {
      const go = (change: Change): void => {
        const place = change.after ?? change.before;
        const pane = change.after ? this.main : this.panes[1];
        if (place && pane) void this.go(place[0], place[1], pane);
      };
      return panels.comparison(this.comparison, go, [button("End the comparison", () => void this.single(), { id: "single" })]);
    }
    const parts = panels.hint("Comparison", "Two models side by side: what was added, removed and changed.");
    if ((this.overview?.undo ?? 0) > 0 && engine.before) parts.push(element("p", {}, button("With the model before the last change", () => void this.compare(engine.before), { id: "before" })));
    if (engine.open) {
      const input = element("input", { type: "file", id: "older", "aria-label": "The older model", multiple: "", class: "hidden" });
      picks(input, (files) => void this.older(files));
      parts.push(element("p", {}, button("With an older file…", () => input.click(), { class: "primary" }), input));
    } else parts.push(element("p", { class: "hint" }, "`onnx view OLD NEW` compares two files."));
    return parts;
  }

  private async older(files: File[]): Promise<void> {
    await this.work.guard(OPENING, async () => {
      await openOlder(this.engine, await chosen(files));
      await this.compare(this.engine.compare);
    });
  }

  /** Opens another model. What is shown stays until that has succeeded. */
  private async reopen(sources: () => Promise<Source[]>): Promise<void> {
    if (this.work.isBusy) {
      this.work.warn("Something is worked on. Wait for it or cancel it, then open the file.");
      return;
    }
    await this.work.guard(OPENING, async () => {
      await openAll(this.engine, await sources());
      if (this.panes.length > 1) this.dropOlder();
      [this.run, this.edits, this.sizes, this.variables] = [undefined, undefined, "", undefined];
      this.search.value = "";
      this.forget();
      history.replaceState(null, "", "#");
      await this.start();
    });
  }

  // Runs and changes

  private async runs(sizes: string, seed: number): Promise<void> {
    await this.work.guard("running", async () => {
      [this.sizes, this.seed] = [sizes, seed];
      try {
        this.run = await this.engine.run?.(sizes, seed);
      } catch (error) {
        if (error instanceof Restored) throw error;
        this.problem = error instanceof Error ? error.message : String(error);
        const { problem } = this;
        await this.show("values");
        this.work.say(problem);
        return;
      }
      await this.values(true);
      await this.show("values");
      if (this.run?.failure) this.work.say(`the run failed: ${this.run.failure.message}`);
    });
  }

  private async values(isShown: boolean): Promise<void> {
    await this.work.guard("reading", async () => {
      this.main.hasValues = isShown;
      await this.main.reload();
      this.render();
    });
  }

  private async change(title: string, apply: (() => Promise<Edits>) | undefined): Promise<void> {
    if (!apply) return;
    await this.work.guard("working", async () => {
      const done = await apply();
      if (this.panes.length > 1) {
        await this.engine.single?.();
        this.dropOlder();
      }
      this.main.open.clear();
      this.main.selected = "";
      this.forget();
      await this.refresh();
      [this.run, this.edits] = [undefined, { title, done: { ...done, summary: singular(done.summary) } }];
      await this.main.reload();
      this.render();
      this.main.canvas.fit();
      this.count();
      await this.show("simplify");
      this.work.say(this.edits.done.summary);
      this.remember(true);
    });
  }

  private async save(): Promise<void> {
    await this.work.guard("saving", async () => {
      const bytes = await this.engine.save?.();
      if (!bytes) return;
      const name = this.fileName();
      const changed = this.edits && this.edits.title !== "Undone" ? `.${CHANGED[this.edits.title.split(" ")[0] ?? ""] ?? "changed"}` : "";
      download(`${name.replace(/\.onnx$/i, "")}${changed}.onnx`, bytes as BlobPart, "application/octet-stream");
      this.work.say(`saved ${bytes.length} bytes`);
    });
  }

  private fileName(): string {
    return (this.title.textContent ?? "model").replace(/\.(onnxtxt|textproto|pbtxt|json)$/i, "").replace(/[^\w.-]+/g, "_");
  }

  private async svg(): Promise<void> {
    await this.work.guard("drawing", async () => {
      const open = [...this.main.open].map((path) => path.split("/").map(Number));
      const found = await this.engine.picture?.(open, this.main.canvas.coloring);
      if (found) download(`${this.fileName().replace(/\.onnx$/, "")}.svg`, found.svg, "image/svg+xml");
    });
  }

  private async png(): Promise<void> {
    const blob = await this.main.canvas.image();
    if (blob) download(`${this.fileName().replace(/\.onnx$/, "")}.png`, blob, "image/png");
    else this.work.say("the picture is too large for an image: close some boxes");
  }

  private theme(): void {
    document.documentElement.classList.toggle("dark");
    for (const pane of this.panes) {
      pane.canvas.colors = palette(document.documentElement);
      pane.canvas.draw();
    }
  }

  // The address and keys

  /** The state in the address, so that a link shows the same. */
  private remember(isStep: boolean): void {
    write(
      { color: this.main.canvas.coloring, open: [...this.main.open], at: this.main.selected, panel: this.shown, find: this.search.value.trim(), model: this.engine.open ? this.overview?.title : undefined },
      isStep,
    );
  }

  private async restore(): Promise<void> {
    await this.main.level(0);
    const state = read();
    if (COLORINGS.includes(state.color as Coloring) && (state.color !== "diff" || this.panes.length > 1)) this.color(state.color as Coloring);
    this.main.open = new Set(state.open);
    for (const path of state.open) await this.main.load(path);
    this.main.selected = state.at;
    this.render();
    if (state.at) this.main.canvas.reveal(state.at);
    if (state.find && state.find !== this.search.value) {
      this.search.value = state.find;
      this.searched = state.find;
      this.take(await this.engine.search(state.find), 0);
    }
    const panel = PANELS.find((name) => name === state.panel && this.tabs.has(name));
    if (panel !== this.shown) await this.show(panel);
  }

  /** Ends what is begun, or closes the panel. */
  private escape(): void {
    if (this.pathFrom === undefined) void this.show(undefined);
    this.pathFrom = undefined;
    this.work.rest();
  }

  private key(event: KeyboardEvent): void {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const pane = this.panes.find((pane) => pane.canvas.element === event.target) ?? this.main;
    const { clientWidth, clientHeight } = pane.canvas.element;
    const zoom = (factor: number): void => {
      const before = { ...pane.canvas.view };
      pane.canvas.zoom(factor, clientWidth / 2, clientHeight / 2);
      this.together(pane, before);
    };
    const isPicture = event.target === pane.canvas.element || event.target === document.body;
    const follow = (direction: "up" | "down" | "left" | "right"): void => {
      const next = pane.neighbor(direction);
      if (next !== undefined) void this.select(pane, next, true);
    };
    const keys: Record<string, (() => void) | undefined> = {
      "/": () => this.search.focus(),
      "+": () => zoom(1.25),
      "=": () => zoom(1.25),
      "-": () => zoom(0.8),
      "0": () => pane.canvas.fit(),
      "?": () => help(),
      n: () => void this.step(1),
      p: () => void this.step(-1),
      Escape: () => this.escape(),
      ...(isPicture
        ? {
            Enter: () => void this.toggle(pane, pane.selected),
            ArrowDown: () => follow("down"),
            ArrowUp: () => follow("up"),
            ArrowLeft: () => follow("left"),
            ArrowRight: () => follow("right"),
          }
        : {}),
    };
    const digit = PANELS[Number(event.key) - 1];
    const action = keys[event.key] ?? (digit && this.tabs.has(digit) ? () => void this.show(this.shown === digit ? undefined : digit) : undefined);
    if (!action) return;
    action();
    event.preventDefault();
  }
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
  let take: ((sources: () => Promise<Source[]>) => void) | undefined;
  droppable((sources) => take?.(sources));
  const show = (engine: Engine): Promise<void> => {
    const page = new Page(root, engine);
    take = (sources) => page.drop(sources);
    return page.start();
  };
  try {
    if (scene) show(embedded(scene)).catch(fail);
    else if (base !== undefined) {
      // The server ends with the page.
      window.addEventListener("pagehide", () => navigator.sendBeacon(`${base}bye`));
      show(remote(base)).catch(fail);
    } else if (wasm !== undefined) {
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
