// What the page works on, and what it says about it.

import { button, element } from "./dom";
import { Restored } from "./model";

/** Milliseconds after which work that goes on can be cancelled. */
export const PATIENCE = 700;

/** Work that opens files. */
export const OPENING = "reading the files";

export interface WorkEvents {
  /** Shows the model anew. */
  restart(): Promise<void>;
  /** Whether a choice of the user is waited for, which is what was said last. */
  isChoosing(): boolean;
}

export class Work {
  readonly status = element("div", { id: "status", role: "status" });
  readonly busy = element("div", { id: "busy", role: "alert", hidden: "" });
  readonly notice = element("div", { id: "notice", role: "alert", hidden: "" });
  isBusy = false;
  private readonly cancel: (() => void) | undefined;
  private readonly events: WorkEvents;
  private facts = "";

  constructor(cancel: (() => void) | undefined, events: WorkEvents) {
    this.cancel = cancel;
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

  /** Does work, one at a time for the user: errors are said, and work that takes long can be ended. */
  async guard(what: string, work: () => Promise<void>): Promise<void> {
    if (this.isBusy) {
      await work();
      return;
    }
    this.isBusy = true;
    this.notice.hidden = true;
    if (!this.events.isChoosing()) this.rest();
    document.body.dataset["busy"] = what;
    const { cancel } = this;
    const timer = setTimeout(() => {
      this.busy.replaceChildren(`${what} … `);
      if (cancel) this.busy.append(button("Cancel", cancel, { id: "cancel" }));
      this.busy.hidden = false;
    }, PATIENCE);
    try {
      await work();
    } catch (error) {
      await this.failed(what, error);
    } finally {
      clearTimeout(timer);
      this.busy.hidden = true;
      this.isBusy = false;
      delete document.body.dataset["busy"];
    }
  }

  private async failed(what: string, error: unknown): Promise<void> {
    const text = error instanceof Error ? error.message : String(error);
    if (error instanceof Restored) await this.events.restart().catch(() => undefined);
    this.warn(what === OPENING ? `Not opened: ${text}. What is shown stays.` : text);
  }
}
