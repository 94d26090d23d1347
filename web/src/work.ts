// What the page works on, one after the other, and what it says about it.

import { button, element } from "./dom";
import { Restored, type Engine, type Progress } from "./engine";

/** Milliseconds after which work that goes on can be cancelled. */
export const PATIENCE = 700;

/** Milliseconds after which it is asked again how far the work is. */
const ASK = 500;

/** Work that opens files. */
export const OPENING = "reading the files";

/** Requests of the user that wait for work at most: a key that is held sends thirty in a second. */
const MOST_WAITING = 30;

export interface WorkEvents {
  /** Shows the model anew. */
  restart(): Promise<void>;
  /** Whether a choice of the user is waited for, which is what was said last. */
  isChoosing(): boolean;
}

interface Task {
  what: string;
  work: () => Promise<void>;
  /** What is not begun again while it goes on or waits. */
  once: string | undefined;
  done: () => void;
}

export class Work {
  readonly status = element("div", { id: "status", role: "status" });
  readonly busy = element("div", { id: "busy", role: "alert", hidden: "" });
  readonly notice = element("div", { id: "notice", role: "alert", hidden: "" });
  private readonly engine: Pick<Engine, "cancel" | "progress">;
  private readonly events: WorkEvents;
  private readonly waiting: Task[] = [];
  private current: Task | undefined;
  private facts = "";

  constructor(engine: Pick<Engine, "cancel" | "progress">, events: WorkEvents) {
    this.engine = engine;
    this.events = events;
  }

  /** Takes the lines about a model that is new or was changed. */
  begin(facts: [string, string][]): void {
    this.facts = facts.filter(([, value]) => value !== "").map(([name, value]) => `${name}: ${value}`).join(" · ");
    this.rest();
  }

  /** Says what was done, until the next thing is done. */
  say(text: string): void {
    this.status.textContent = text;
    this.status.title = text;
    this.status.classList.remove("error");
  }

  /** Says what the model is. */
  rest(): void {
    this.notice.hidden = true;
    this.say(this.facts);
  }

  /** Says what failed, where it cannot be overlooked. */
  warn(text: string): void {
    this.say(text);
    this.status.classList.add("error");
    this.notice.replaceChildren(element("p", {}, text), button("Close", () => (this.notice.hidden = true), { id: "notice-close" }));
    this.notice.hidden = false;
  }

  /** Does the first work. Its errors are those of the caller. */
  async first(work: () => Promise<void>): Promise<void> {
    this.current = { what: "reading", work, once: undefined, done: () => undefined };
    try {
      await work();
    } finally {
      this.current = undefined;
      void this.next();
    }
  }

  /**
   * Does what the user asks for, after what was asked before: errors are said, and work that takes long can be ended. What has a name
   * in `once` is not begun while the same goes on or waits: the second click of a double click is not another request. Work does
   * not call this.
   */
  guard(what: string, work: () => Promise<void>, once?: string): Promise<void> {
    const begun = this.current ? [this.current, ...this.waiting] : this.waiting;
    if (once !== undefined && begun.some((task) => task.once === once)) {
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
  get isWaiting(): boolean {
    return this.waiting.length > 0;
  }

  private async next(): Promise<void> {
    if (this.current) return;
    for (let task = this.waiting.shift(); task; task = this.waiting.shift()) {
      this.current = task;
      await this.run(task);
      this.current = undefined;
      task.done();
    }
    delete document.body.dataset["busy"];
  }

  /** Says what the page waits for before there is a model; without a text, that it goes on. */
  waits(text: string | undefined): void {
    this.busy.replaceChildren(text ?? "");
    this.busy.hidden = text === undefined;
  }

  /** Says what goes on, and how far it is. */
  private async watch(task: Task): Promise<void> {
    const begin = performance.now() - PATIENCE;
    // What changes all the time is not read aloud.
    const far = element("span", { "aria-live": "off", id: "progress" });
    this.busy.replaceChildren(`${task.what} … `, far);
    const { cancel } = this.engine;
    if (cancel) this.busy.append(button("Cancel", cancel, { id: "cancel" }));
    this.busy.hidden = false;
    while (this.current === task) {
      const progress = (await this.engine.progress?.().catch(() => undefined)) ?? {};
      far.textContent = [...amounts(progress), `${Math.round((performance.now() - begin) / 1000)} s`].join(", ");
      await new Promise((done) => setTimeout(done, ASK));
    }
  }

  private async run(task: Task): Promise<void> {
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

  private async failed(what: string, error: unknown): Promise<void> {
    // What waits was asked of what is not shown any more.
    for (const task of this.waiting.splice(0)) task.done();
    let text = message(error);
    if (error instanceof Restored) {
      try {
        text = await error.outcome;
        await this.events.restart();
      } catch (failure) {
        text = message(failure);
      }
    }
    this.warn(what === OPENING ? `Not opened: ${text}. What is shown stays.` : text);
  }
}

/** How far work is: the edits, or else the operations of a run or the part of the nodes or bytes. */
function amounts(progress: Progress): string[] {
  const { edit, run, ...parts } = progress;
  if (edit) return [edit[0] === 1 ? "1 edit" : `${edit[0].toLocaleString("en")} edits`];
  if (run) return [`${run[0].toLocaleString("en")} operations`];
  const [done, total] = Object.values(parts).sort((a, b) => b[1] - a[1])[0] ?? [0, 0];
  return total > 0 ? [`${Math.min(100, Math.floor((100 * done) / total))} %`] : [];
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));
