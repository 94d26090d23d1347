// The contents of the panels: what is asked for them, and what their buttons do.

import { button, download, element, picks } from "./dom";
import { Cancelled, type Engine } from "./engine";
import type { Change, Comparison, CostTable, Details, Edits, Run } from "./model";
import type { Page } from "./page";
import type { Pane } from "./pane";
import * as panels from "./panels";
import { singular } from "./panels";

export const PANELS = ["details", "findings", "cost", "values", "simplify", "versions", "compare", "text", "changes"] as const;
export type PanelName = (typeof PANELS)[number];
export const TITLES: Record<PanelName, string> = {
  details: "Details",
  findings: "Findings",
  cost: "Cost",
  values: "Values",
  simplify: "Simplify",
  versions: "Versions",
  compare: "Compare",
  text: "Text",
  changes: "Changes",
};

/** The panels that an engine can fill. */
export function available(engine: Engine): PanelName[] {
  const asks: Record<PanelName, unknown> = {
    details: engine.details,
    findings: engine.findings,
    cost: engine.cost,
    values: engine.run,
    simplify: engine.simplify,
    versions: engine.versions,
    compare: engine.compare,
    text: engine.text,
    changes: engine.undo,
  };
  return PANELS.filter((name) => asks[name] !== undefined);
}

/** Nodes at most whose edits are proved unless the user says otherwise. */
const MOST_PROVED = 1000;

/** What is added to the name of a file that is saved after a change, so that it does not replace the original. */
const CHANGED: Record<string, string> = { Simplified: "simplified", Repaired: "repaired", Converted: "converted", Kept: "part" };

type Go = (level: number | undefined, item: number | undefined) => void;

export class Contents {
  /** Whether the text is what the selection came from. */
  isFollowing = false;
  comparison: Comparison | undefined;
  private readonly page: Page;
  private sizes = "";
  private seed = 0;
  private run: Run | undefined;
  private edits: { title: string; done: Edits } | undefined;
  private problem: string | undefined;

  constructor(page: Page) {
    this.page = page;
  }

  /** Forgets what was found out about another model. */
  reset(): void {
    [this.run, this.edits, this.sizes] = [undefined, undefined, ""];
  }

  /** Takes what a change did. Returns its summary. */
  changed(title: string, done: Edits): string {
    [this.run, this.edits] = [undefined, { title, done: { ...done, summary: singular(done.summary) } }];
    return this.edits.done.summary;
  }

  /** Whether a change was made, of which there are edits. */
  get hasChanges(): boolean {
    return this.edits !== undefined;
  }

  async of(name: PanelName, pane: Pane): Promise<Node[]> {
    const { page } = this;
    const { engine } = page;
    const go = this.go(page.main);
    switch (name) {
      case "details":
        return this.details(pane);
      case "findings":
        return engine.findings ? panels.findings(await engine.findings(), go, engine.repair ? () => void page.change("Repaired", engine.repair) : undefined) : [];
      case "cost":
        return this.cost(go);
      case "values": {
        const variables = page.overview?.variables ?? [];
        const state = { sizes: this.sizes, seed: this.seed, isShown: page.main.hasValues, variables, problem: this.problem };
        this.problem = undefined;
        const toggle = (isShown: boolean): void => void page.act("reading", () => this.values(isShown));
        return panels.values(this.run, state, go, { run: (sizes, seed) => void page.act("running", () => this.runs(sizes, seed), "run"), toggle });
      }
      case "simplify":
        return this.simplify();
      case "versions":
        return engine.versions ? panels.versions(await engine.versions(), go, (version) => void page.change(`Converted to version ${version}`, () => (engine.convert as NonNullable<typeof engine.convert>)(version))) : [];
      case "compare":
        return this.comparing();
      case "text":
        return this.text(pane);
      case "changes":
        return this.changes();
    }
  }

  /** Leads to boxes of a picture. */
  private go(pane: Pane): Go {
    return (level, item) => void this.page.at("selecting", () => this.page.go(level, item, pane));
  }

  private async cost(go: Go): Promise<Node[]> {
    const { page, sizes } = this;
    if (!page.engine.cost) return [];
    page.color("cost");
    const [found, problem] = await this.counted(sizes);
    await page.main.reload();
    await page.render();
    if (problem !== undefined) page.work.say(problem);
    return panels.cost(found, sizes, problem, go, (sizes) => {
      this.sizes = sizes;
      void page.act("cost", () => page.show("cost"));
    });
  }

  /** The costs for sizes; for none, and why, if they cannot be read. */
  private async counted(sizes: string): Promise<[CostTable, string | undefined]> {
    const count = this.page.engine.cost as NonNullable<Engine["cost"]>;
    try {
      return [await count(sizes), undefined];
    } catch (error) {
      if (sizes.trim() === "" || error instanceof Cancelled) throw error;
      return [await count(""), error instanceof Error ? error.message : String(error)];
    }
  }

  private async text(pane: Pane): Promise<Node[]> {
    const { page } = this;
    if (!page.engine.text) return [];
    const box = pane.box(pane.selected);
    const isInside = box !== undefined && box.item.in === undefined && box.item.k === "node";
    // A node is shown among those of its box.
    const parent = isInside ? parentOf(pane) : box;
    const found = await page.engine.text(parent?.level ?? 0, parent?.index ?? -1, pane.side);
    const follow = async (level: number | undefined, item: number | undefined): Promise<void> => {
      this.isFollowing = true;
      try {
        await page.go(level, item, pane);
      } finally {
        this.isFollowing = false;
      }
      await page.show("text", pane);
    };
    const isSelected = (level: number, item: number): boolean => box !== undefined && level === box.level && item === box.index;
    return panels.text(found, isSelected, (level, item) => void page.at("selecting", () => follow(level, item)));
  }

  private async details(pane: Pane): Promise<Node[]> {
    const { page } = this;
    const { engine, folded } = page;
    const go = this.go(pane);
    const box = pane.box(pane.selected);
    const advice = "Select a box: its types, attributes, weights and metadata are shown here.";
    if (!engine.details || !(box ?? engine.model)) return panels.hint("Details", advice);
    if (!box) {
      const about = await (engine.model as NonNullable<Engine["model"]>)(pane.side);
      return [...panels.details(about, { go }), ...panels.hint(undefined, advice)];
    }
    const found: Details = await engine.details(box.level, box.index, pane.side, folded);
    const { weight, extract } = engine;
    const inside = (index: number | undefined): void => void page.at("selecting", () => page.look(index, pane));
    if (folded !== undefined) {
      return panels.details(found, { go, inside, ...(weight ? { weight: (input: number) => weight(box.level, box.index, input, pane.side, folded) } : {}) });
    }
    const canKeep = extract !== undefined && pane.side === 0 && (box.item.k === "node" || box.item.k === "group");
    const path = (): void => {
      page.search.from = box.path;
      page.work.say(`path from ${box.item.t}: choose the other end in the picture or the tree, or search it; Escape ends this`);
    };
    return panels.details(found, {
      go,
      inside,
      ...(weight ? { weight: (input: number) => weight(box.level, box.index, input, pane.side) } : {}),
      ...(engine.path ? { path } : {}),
      ...(canKeep ? { extract: () => void page.extract(box.level, box.index) } : {}),
    });
  }

  private simplify(): Node[] {
    const { page } = this;
    const { engine } = page;
    const again = (isProved: boolean): void => void page.change("Simplified", () => (engine.simplify as NonNullable<typeof engine.simplify>)(isProved));
    const nodes = Number(page.overview?.facts.find(([name]) => name === "nodes")?.[1] ?? 0);
    return panels.simplify(this.edits === undefined && nodes <= MOST_PROVED, again);
  }

  /** What the last change did. */
  private changes(): Node[] {
    const { page } = this;
    const { engine } = page;
    if (!this.edits) return panels.hint(TITLES.changes, "No change was made since the page was loaded.");
    const actions = [
      ...(engine.before ? [button("Before and after", () => void page.compareWith(engine.before), { id: "before" })] : []),
      button("Undo", page.undoes),
      button("Save", page.saves, { class: "primary" }),
    ];
    return panels.changes(this.edits.title, this.edits.done, this.edits.title === "Undone" ? [] : actions);
  }

  private comparing(): Node[] {
    const { page } = this;
    const { engine } = page;
    if (this.comparison) {
      const go = (change: Change): void => {
        const place = change.after ?? change.before;
        const pane = change.after ? page.main : page.panes[1];
        if (place && pane) this.go(pane)(place[0], place[1]);
      };
      return panels.comparison(this.comparison, go, [button("End the comparison", () => void page.act("closing", () => page.single(), "single"), { id: "single" })]);
    }
    const parts = panels.hint("Comparison", "Two models side by side: what was added, removed and changed.");
    if ((page.overview?.undo ?? 0) > 0 && engine.before) parts.push(element("p", {}, button("With the model before the last change", () => void page.compareWith(engine.before), { id: "before" })));
    if (engine.open) {
      const input = element("input", { type: "file", id: "older", "aria-label": "The older model", multiple: "", class: "hidden" });
      picks(input, (files) => void page.older(files));
      parts.push(element("p", {}, button("With an older file…", () => input.click(), { class: "primary" }), input));
    } else parts.push(element("p", { class: "hint" }, "`onnx view OLD NEW` compares two files."));
    return parts;
  }

  private async runs(sizes: string, seed: number): Promise<void> {
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

  private async values(isShown: boolean): Promise<void> {
    const { page } = this;
    page.main.hasValues = isShown;
    await page.main.reload();
    await page.render();
  }

  async save(): Promise<void> {
    const { page } = this;
    const bytes = await page.engine.save?.();
    if (!bytes) return;
    // After a reload, and after one of several changes was undone, only their number is known.
    const last = this.edits?.title === "Undone" ? undefined : this.edits?.title.split(" ")[0];
    const isChanged = last !== undefined || (page.overview?.undo ?? 0) > 0;
    download(`${page.fileName()}${isChanged ? `.${CHANGED[last ?? ""] ?? "changed"}` : ""}.onnx`, bytes as BlobPart, "application/octet-stream");
    page.work.say(`saved ${bytes.length} bytes`);
  }
}

function parentOf(pane: Pane): { level: number; index: number } | undefined {
  const end = pane.selected.lastIndexOf("/");
  return end < 0 ? undefined : pane.box(pane.selected.slice(0, end));
}
