// The workers of the page. A model is opened in another worker than the one that is open, which ends when that has succeeded:
// what fails or is cancelled changes nothing. A worker that lost its session is replaced by one that opens the same files and
// makes the same changes.

import type { ModelFiles, Source } from "./files";
import { Restored, type Progress } from "./engine";

interface Answer {
  id: number;
  value?: unknown;
  error?: string;
  /** The worker has no session any more. */
  isLost?: boolean;
  /** This is not an answer: the kind of work, the amount that is done, and the total. */
  progress?: [string, number, number];
}

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/** A worker, and what it was asked. */
class Thread {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, Waiting>();
  private readonly lost: (reason: string) => Error;
  private next = 0;
  /** How far the work on what was asked is. */
  progress: Progress = {};
  private ended: Error | undefined;

  /** `lost` makes the error of what the worker was asked when it lost its session. */
  constructor(url: string, module: WebAssembly.Module, lost: (reason: string) => Error) {
    this.lost = lost;
    this.worker = new Worker(url);
    this.worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      if (data.progress) {
        const [task, done, total] = data.progress;
        this.progress[task] = [done, total];
        return;
      }
      if (data.isLost) {
        this.fail(data.error ?? "");
        return;
      }
      const entry = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (data.error === undefined) entry?.resolve(data.value);
      else entry?.reject(new Error(data.error));
    };
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.fail(event.message || "the worker ended");
    };
    this.ask("module", module).catch(() => undefined);
  }

  ask(kind: string, value: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.ended) {
        reject(this.ended);
        return;
      }
      this.next += 1;
      if (this.waiting.size === 0) this.progress = {};
      this.waiting.set(this.next, { resolve, reject });
      this.worker.postMessage({ id: this.next, kind, value });
    });
  }

  get isBusy(): boolean {
    return this.waiting.size > 0;
  }

  end(reason: Error): void {
    this.worker.terminate();
    this.ended ??= reason;
    for (const entry of this.waiting.values()) entry.reject(reason);
    this.waiting.clear();
  }

  private fail(reason: string): void {
    if (!this.ended) this.end(this.lost(reason));
  }
}

/** A model that is open, and an older one with which it is compared. */
interface Opened {
  model: ModelFiles;
  older?: ModelFiles | undefined;
}

/** What every worker needs. It is loaded once, so that the page works when the network is gone. */
interface Parts {
  script: string;
  module: WebAssembly.Module;
}

async function load(url: string): Promise<Parts> {
  const asked = async (name: string): Promise<Response> => {
    const response = await fetch(new URL(name, location.href)).catch(() => {
      throw new Error(`${name} could not be loaded: is the network or the server gone?`);
    });
    if (!response.ok) throw new Error(`${name} could not be loaded: status ${response.status}`);
    return response;
  };
  const [script, library] = await Promise.all([asked(url), asked("onnx.wasm")]);
  // What is compiled while it arrives is kept by the browser, but only a server that knows the type of the file allows that.
  const isTyped = library.headers.get("content-type")?.startsWith("application/wasm");
  const module = isTyped ? WebAssembly.compileStreaming(library) : WebAssembly.compile(await library.arrayBuffer());
  return { script: URL.createObjectURL(new Blob([await script.text()], { type: "text/javascript" })), module: await module };
}

/** Bytes of a model file at most whose changed model is kept. */
const MOST_SAVED = 500_000_000;

/** A request that changed the model, and its answer. */
interface Change {
  text: string;
  answer: string;
}

/** Files with the contents that were read, in the order of `sources`: what is copied is independent of the disk. */
function kept(files: ModelFiles, blobs: Blob[]): ModelFiles {
  const next = ({ path, size, file }: Source): Source => ({ path, size, file: blobs.shift() ?? file });
  const model = next(files.model);
  return { name: files.name, model, data: new Map([...files.data].map(([path, source]) => [path, next(source)])) };
}

export class Workers {
  private readonly url: string;
  private loading: Promise<Parts> | undefined;
  private parts: Parts | undefined;
  /** Ends opening. */
  private stop: ((reason: Error) => void) | undefined;
  private active: Thread | undefined;
  /** What the session of `active` comes from: files, and the requests that changed the model. */
  private files: Opened | undefined;
  private changes: Change[] = [];
  /** The model with its changes, if they depend on files that may be changed by others. */
  private saved: Blob | undefined;
  /** Ends when the session is what it was before. */
  private restoring: Promise<unknown> = Promise.resolve();

  constructor(url: string) {
    this.url = url;
    this.load().catch(() => undefined);
  }

  private load(): Promise<Parts> {
    this.loading ??= load(this.url);
    this.loading.catch(() => {
      this.loading = undefined;
    });
    return this.loading;
  }

  private thread({ script, module }: Parts): Thread {
    const made: Thread = new Thread(script, module, (reason) => (made === this.active ? this.restore(reason) : new Error(reason)));
    return made;
  }

  async open(model: ModelFiles, older?: ModelFiles): Promise<void> {
    let made: Thread | undefined;
    let isStopped = false;
    const stopped = new Promise<never>((_, reject) => {
      this.stop = reject;
    });
    const opened = async (): Promise<[Thread, Blob[]]> => {
      this.parts = await this.load();
      if (isStopped) throw new Error("cancelled");
      made = this.thread(this.parts);
      return [made, (await made.ask("open", { model, older })) as Blob[]];
    };
    try {
      const [thread, blobs] = await Promise.race([opened(), stopped]);
      this.active?.end(new Error("another model is open"));
      [this.active, this.files] = [thread, { model: kept(model, blobs), older: older && kept(older, blobs) }];
      [this.changes, this.saved] = [[], undefined];
    } catch (error) {
      isStopped = true;
      made?.end(new Error("the model was not opened"));
      throw error;
    } finally {
      this.stop = undefined;
    }
  }

  async older(older: ModelFiles): Promise<void> {
    const blobs = (await this.ask("older", older)) as Blob[];
    if (this.files) this.files.older = kept(older, blobs);
  }

  async call(request: object): Promise<unknown> {
    const text = JSON.stringify(request);
    const answer = (await this.ask("call", text)) as string;
    const found = JSON.parse(answer) as { ok?: { edits?: unknown[] } };
    const name = (request as { call?: string }).call;
    const isUndo = name === "undo" && found.ok !== undefined;
    // Of other requests, only those that change the model have edits.
    const isChange = (found.ok?.edits?.length ?? 0) > 0;
    if (isUndo) this.changes.pop();
    else if (isChange) this.changes.push({ text, answer });
    if (name === "single" && this.files) this.files.older = undefined;
    if (isUndo || isChange) await this.keep();
    return found;
  }

  /** Keeps the model as it is now if its changes may depend on external data, which is read where it is needed. */
  private async keep(): Promise<void> {
    this.saved = undefined;
    const { model } = this.files ?? {};
    if (this.changes.length === 0 || !model || model.data.size === 0 || model.model.size > MOST_SAVED) return;
    const bytes = await this.save().catch(() => undefined);
    if (bytes) this.saved = new Blob([bytes as BlobPart]);
  }

  async save(): Promise<Uint8Array> {
    return (await this.ask("save", null)) as Uint8Array;
  }

  progress(): Promise<Progress> {
    return Promise.resolve({ ...this.active?.progress });
  }

  cancel(): void {
    if (this.stop) this.stop(new Error("cancelled"));
    else if (this.active?.isBusy) this.active.end(this.restore("cancelled"));
  }

  private async ask(kind: string, value: unknown): Promise<unknown> {
    await this.restoring;
    if (!this.active) throw new Error("no model is open");
    return this.active.ask(kind, value);
  }

  /** Opens the same files in another worker, and makes the same changes. What is asked meanwhile waits for that. */
  private restore(reason: string): Error {
    const { parts, files, changes, saved } = this;
    if (!parts || !files) return new Error(reason);
    const made = this.thread(parts);
    this.active = made;
    const outcome = this.opened(made, files, changes, saved).then(
      (again) => `${reason}: ${again}`,
      (error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        if (made !== this.active) throw error;
        const lost = new Error(`${reason}, and the model cannot be opened again as it was: ${why}. Open it again; what is shown stays`);
        made.end(lost);
        throw lost;
      },
    );
    outcome.catch(() => undefined);
    this.restoring = outcome;
    return new Restored(reason, outcome);
  }

  /** Makes a worker have the session. Returns what is said about it. */
  private async opened(made: Thread, files: Opened, changes: Change[], saved: Blob | undefined): Promise<string> {
    try {
      await made.ask("open", files);
      for (const { text, answer } of changes) {
        if ((await made.ask("call", text)) !== answer) throw new Error("the same changes have another result, because a file was changed");
      }
      return "the model is as it was before";
    } catch (error) {
      if (!saved || made !== this.active) throw error;
      const { name, path } = { name: files.model.name, path: files.model.model.path };
      const model = { name: name.replace(/\.\w+$/, ".onnx"), model: { path, size: saved.size, file: saved }, data: files.model.data };
      await made.ask("open", { model });
      [this.files, this.changes, this.saved] = [{ model }, [], undefined];
      return "the model has its changes, which cannot be undone any more, because a file was changed";
    }
  }
}
