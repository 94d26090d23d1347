// The worker of the page: the libraries as WebAssembly, so that a large model never blocks the page.

import type { ModelFiles, Source } from "./files";
import { call, instantiate, open, save, type Data, type Library } from "./library";
import { contents } from "./zip";

/** Workers read files without waiting; the types of documents do not have it. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

/** A model to open, and an older one with which it is compared. */
interface Opened {
  model: ModelFiles;
  older?: ModelFiles;
}

interface Message {
  id: number;
  kind: "open" | "older" | "call" | "save" | "module";
  value: unknown;
}

/** Milliseconds between what is said about the progress of a kind of work. */
const PAUSE = 200;
const told = new Map<string, number>();

/** Says how far work is. */
function tell(task: string, done: number, total: number): void {
  const now = performance.now();
  if (now - (told.get(task) ?? -PAUSE) < PAUSE) return;
  told.set(task, now);
  self.postMessage({ progress: [task, done, total] });
}

let loading: Promise<Library> | undefined;
/** The files next to the model, and next to the older one. */
const sides: Map<string, Blob>[] = [new Map(), new Map()];
const reader = new FileReaderSync();
const data: Data = {
  size: (side, name) => sides[side]?.get(normal(name))?.size ?? -1,
  read(side, name, offset, length) {
    const file = sides[side]?.get(normal(name));
    return file ? new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + length))) : new Uint8Array();
  },
};

/** A path without `./`. Paths that leave the folder are not in the maps. */
function normal(path: string): string {
  return path.replace(/^(\.\/)+/, "");
}

function library(): Promise<Library> {
  return loading ?? Promise.reject(new Error("the worker has no library"));
}

/** Bytes of a model file at most that are copied. Larger ones, and external data, are opened again from the disk. */
const MOST_COPIED = 500_000_000;
/** Bytes that are copied at once, which the browser may move out of memory. */
const PART = 64_000_000;

/** The contents of a file as they are now, whatever happens to it on the disk. */
function copied(file: Blob): Blob {
  if (file.size > MOST_COPIED) return file;
  const parts: Blob[] = [];
  for (let at = 0; at < file.size; at += PART) parts.push(new Blob([reader.readAsArrayBuffer(file.slice(at, at + PART))]));
  return new Blob(parts);
}

/** Opens a model; only then its files replace those of the one before. Returns the contents of its files. */
function opened(library: Library, files: ModelFiles, blobs: Map<Source, Blob>, side: 0 | 1): Blob[] {
  const { name, model, data } = files;
  const file = copied(blobs.get(model) as Blob);
  const before = sides[side];
  sides[side] = new Map([...data].map(([path, source]) => [path, blobs.get(source) as Blob]));
  const read = (offset: number, length: number): Uint8Array => new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + length)));
  try {
    open(library, name, { size: file.size, read }, side === 1);
  } catch (error) {
    if (before) sides[side] = before;
    throw error;
  }
  return [file, ...sides[side].values()];
}

const all = (files: ModelFiles): Source[] => [files.model, ...files.data.values()];

async function answered(message: Message): Promise<unknown> {
  switch (message.kind) {
    case "module":
      loading = instantiate(message.value as WebAssembly.Module, data, tell);
      return null;
    case "open": {
      const { model, older } = message.value as Opened;
      const blobs = await contents([...all(model), ...(older ? all(older) : [])]);
      const loaded = await library();
      const found = opened(loaded, model, blobs, 0);
      return older ? [...found, ...opened(loaded, older, blobs, 1)] : found;
    }
    case "older": {
      const older = message.value as ModelFiles;
      return opened(await library(), older, await contents(all(older)), 1);
    }
    case "call":
      return call(await library(), message.value as string);
    case "save":
      return save(await library());
  }
}

async function answer(message: Message): Promise<void> {
  const { id } = message;
  try {
    self.postMessage({ id, value: await answered(message) });
  } catch (error) {
    // A trap leaves the memory of the library in an unknown state: the page begins with another worker.
    const isLost = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
    const text = isLost ? "the model needs more memory than the tab has, or the library has a defect: `onnx view` opens it without the limits of a tab" : String(error instanceof Error ? error.message : error);
    self.postMessage({ id, error: text, isLost });
  }
}

// One after the other, also where an answer waits for something.
let last = Promise.resolve();
self.onmessage = (event: MessageEvent<Message>) => {
  last = last.then(() => answer(event.data));
};
