// The engine of the page: what a session answers, and the work of the page with it.

import type { ModelFiles } from "./files";
import type { Calls } from "./model";

/** What the page asks. An engine without a worker or a server does not have these calls. */
export interface Engine extends Calls {
  /** Opens files that the user gave. What was open stays until they are read completely. */
  open?(model: ModelFiles, older?: ModelFiles): Promise<void>;
  /** Opens an older model, with which the open one is compared. */
  older?(older: ModelFiles): Promise<void>;
  /** Ends the work that goes on, which fails. */
  cancel?(): void;
  /** How far that work is. */
  progress?(): Promise<Progress>;
}

/** For each kind of work the amount that is done, and the total, which is 0 if it is not known. */
export type Progress = Record<string, [number, number]>;

/** Work was ended by the user, and changed nothing. */
export class Cancelled extends Error {}

/** Work was ended. The model is opened again with its changes, and the page shows it anew. */
export class Restored extends Cancelled {
  /** What is said when that has succeeded. */
  readonly outcome: Promise<string>;

  constructor(reason: string, outcome: Promise<string>) {
    super(reason);
    this.outcome = outcome;
  }
}
