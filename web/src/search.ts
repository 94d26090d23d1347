// Searches and paths: what is marked, and the match that is shown.

import { element } from "./dom";
import type { Hit, Hits, Side } from "./model";
import type { Page } from "./page";
import type { Pane } from "./pane";

const NONE: Hits = { hits: [], count: 0 };

export class Search {
  readonly field = element("input", { id: "search", type: "search", placeholder: "Search: name or Softmax() -> MatMul()", "aria-label": "Search" });
  readonly found = element("span", { id: "found" });
  /** The box at which a path begins whose other end is not chosen yet. */
  from: string | undefined;
  private readonly page: Page;
  private hits: Hit[] = [];
  /** Number of matches, of which `hits` are the first. */
  private count = 0;
  private hit = -1;
  private side: Side = 0;
  /** The text whose matches are shown. */
  private text = "";
  /** The text that was asked for last. */
  private asked = "";

  constructor(page: Page) {
    this.page = page;
    this.field.addEventListener("change", () => this.begin());
    this.field.addEventListener("keydown", (event) => {
      // A text that is new is searched when the field changes.
      const isSame = this.field.value.trim() === this.text;
      if (event.key !== "Enter") return;
      if (isSame && this.hits.length > 0) void page.at("searching", () => this.entered(event.shiftKey));
      else this.begin();
    });
  }

  /** Searches the text of the field. A key and the change of the field that follows it are one request. */
  private begin(): void {
    const text = this.field.value.trim();
    if (text === this.asked) return;
    this.asked = text;
    void this.page.act("searching", () => this.find());
  }

  private async entered(isBack: boolean): Promise<void> {
    const end = this.from === undefined ? undefined : this.hits[this.hit];
    if (end) await this.page.go(end.level, end.item);
    else await this.step(isBack ? -1 : 1);
  }

  private async find(): Promise<void> {
    const { page, from } = this;
    const text = this.field.value.trim();
    this.forget();
    [this.text, this.asked, this.from] = [text, text, from];
    if (!text) {
      page.work.rest();
      page.remember(false);
      return;
    }
    const found = await page.engine.search(text);
    this.take(found, 0);
    const isEnd = from !== undefined && found.count > 1;
    const matches = `${found.count} ${found.count === 1 ? "match" : "matches"}${this.cut()}${hidden(found)}`;
    page.work.say(found.note ?? (isEnd ? `${matches} are marked: ‹ and › step through them; a click on one, or Enter in the search, takes it as the other end of the path` : matches));
    if (this.hits.length > 0 && !isEnd) await this.step(1);
    page.remember(false);
  }

  /** Says that not all matches are listed. */
  private cut(): string {
    return this.count > this.hits.length ? `, of which the first ${this.hits.length}` : "";
  }

  /** Searches the text of a link. */
  async restore(text: string): Promise<void> {
    if (!text || text === this.field.value) return;
    this.field.value = text;
    [this.text, this.asked] = [text, text];
    this.take(await this.page.engine.search(text), 0);
  }

  /** Ends a search or a path, whose matches are boxes of the model as it was. */
  forget(): void {
    this.take(NONE, 0);
    this.found.textContent = "";
    [this.text, this.asked, this.from] = ["", "", undefined];
  }

  /** Empties the field, too. */
  clear(): void {
    this.field.value = "";
    this.forget();
  }

  private take(found: Hits, side: Side): void {
    [this.hits, this.count, this.hit, this.side] = [found.hits, found.count, -1, side];
    this.found.textContent = String(found.count);
    const pane = this.pane();
    pane.mark(found.hits.map((hit) => pane.pathOf(hit.level, hit.item)));
  }

  private pane(): Pane {
    const { panes, main } = this.page;
    return panes.find((pane) => pane.side === this.side) ?? main;
  }

  async step(by: number): Promise<void> {
    const { length } = this.hits;
    if (length === 0) return;
    this.hit = (this.hit + by + length) % length;
    const hit = this.hits[this.hit] as Hit;
    const pane = this.pane();
    const path = pane.pathOf(hit.level, hit.item);
    // A single match is the other end of a path that is begun. Among several the user chooses.
    if (length === 1 && this.from !== undefined) {
      await this.page.select(pane, path, true);
      return;
    }
    await this.page.selected(pane, path, true, hit.folded);
    const more = this.count > length ? ` of ${this.count}` : "";
    this.found.textContent = `${this.hit + 1} / ${length}${more}`;
    const without = hit.folded === undefined ? "" : ", which is in the box of its user";
    this.page.work.say(`match ${this.hit + 1} of ${this.count}${more ? `, of which the first ${length} are listed` : ""}: ${hit.label}${without}`);
  }

  /** Marks the nodes between a box, by default the selected one, and another one. */
  async path(pane: Pane, path: string, from = pane.selected): Promise<void> {
    const { page } = this;
    if (!page.engine.path) return;
    // A match of a search may be in a box that is closed.
    for (const end of [from, path]) if (!pane.box(end)) await pane.select(end, false);
    const [a, b] = [pane.box(from), pane.box(path)];
    if (!a || !b || a === b) {
      page.work.say("a path has two ends: select one box, and choose another one");
      return;
    }
    const found = await page.engine.path([a.level, a.index], [b.level, b.index], pane.side);
    this.take(found, pane.side);
    // The matches are those of the path, and not of a text.
    [this.field.value, this.text, this.asked] = ["", "", ""];
    await page.marked(pane, path);
    const isEnd = ({ level, item }: Hit): boolean => [from, path].some((end) => `${pane.pathOf(level, item)}/`.startsWith(`${end}/`));
    const between = found.count - found.hits.filter(isEnd).length;
    const nodes = between === 1 ? "1 node" : `${between} nodes`;
    page.work.say(found.note ?? `${nodes} between ${a.item.t} and ${b.item.t}: ‹ and › step through the ${found.count} that are marked, the ends included${this.cut()}`);
  }
}

/** Says that some matches have no box, such as weights that nothing uses. */
function hidden({ hidden }: Hits): string {
  if (!hidden) return "";
  return hidden === 1 ? "; 1 more is not in the picture" : `; ${hidden} more are not in the picture`;
}
