// The workers of the page. A model is opened in another worker than the one that is open, which ends when that has succeeded:
// what fails or is cancelled changes nothing. A worker that lost its session is replaced by one that opens the same files and
// makes the same changes.

import type { ModelFiles } from "./files";
import { Restored } from "./model";

interface Answer {
  id: number;
  value?: unknown;
  error?: string;
  /** The worker has no session any more. */
  isLost?: boolean;
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
  private ended: Error | undefined;

  /** `lost` makes the error of what the worker was asked when it lost its session. */
  constructor(url: string, module: WebAssembly.Module, lost: (reason: string) => Error) {
    this.lost = lost;
    this.worker = new Worker(url);
    this.worker.onmessage = ({ data }: MessageEvent<Answer>) => {
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

export class Workers {
  private readonly url: string;
  private loading: Promise<Parts> | undefined;
  private parts: Parts | undefined;
  /** Ends opening. */
  private stop: ((reason: Error) => void) | undefined;
  private active: Thread | undefined;
  /** What the session of `active` comes from: files, and the requests that changed the model. */
  private files: { model: ModelFiles; older?: ModelFiles | undefined } | undefined;
  private changes: string[] = [];

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
    const opened = async (): Promise<Thread> => {
      this.parts = await this.load();
      if (isStopped) throw new Error("cancelled");
      made = this.thread(this.parts);
      await made.ask("open", { model, older });
      return made;
    };
    try {
      const thread = await Promise.race([opened(), stopped]);
      this.active?.end(new Error("another model is open"));
      [this.active, this.files, this.changes] = [thread, { model, older }, []];
    } catch (error) {
      isStopped = true;
      made?.end(new Error("the model was not opened"));
      throw error;
    } finally {
      this.stop = undefined;
    }
  }

  async older(older: ModelFiles): Promise<void> {
    await this.ask("older", older);
    if (this.files) this.files.older = older;
  }

  async call(request: object): Promise<unknown> {
    const text = JSON.stringify(request);
    const answer = JSON.parse((await this.ask("call", text)) as string) as { ok?: { edits?: unknown[] } };
    const name = (request as { call?: string }).call;
    if (name === "undo" && answer.ok) this.changes.pop();
    // Of other requests, only those that change the model have edits.
    else if ((answer.ok?.edits?.length ?? 0) > 0) this.changes.push(text);
    if (name === "single" && this.files) this.files.older = undefined;
    return answer;
  }

  async save(): Promise<Uint8Array> {
    return (await this.ask("save", null)) as Uint8Array;
  }

  cancel(): void {
    if (this.stop) this.stop(new Error("cancelled"));
    else if (this.active?.isBusy) this.active.end(this.restore("cancelled"));
  }

  private ask(kind: string, value: unknown): Promise<unknown> {
    return this.active?.ask(kind, value) ?? Promise.reject(new Error("no model is open"));
  }

  /** Opens the same files in another worker, and makes the same changes. What is asked meanwhile is answered after that. */
  private restore(reason: string): Error {
    if (!this.parts || !this.files) return new Error(reason);
    const { changes } = this;
    const made = new Thread(this.parts.script, this.parts.module, (again) => new Error(`${again}; open the file again`));
    this.active = made;
    const requests: [string, unknown][] = [["open", this.files], ...changes.map((text): [string, unknown] => ["call", text])];
    for (const [kind, value] of requests) made.ask(kind, value).catch(() => undefined);
    return new Restored(`${reason}: the model is as it was before`);
  }
}
