// The libraries as WebAssembly: functions over memory that both sides read and write.

interface Exports {
  memory: WebAssembly.Memory;
  onnx_new(): number;
  onnx_input(state: number, bytes: number): number;
  onnx_open(state: number, nameBytes: number): number;
  onnx_compare(state: number, nameBytes: number): number;
  onnx_call(state: number): number;
  onnx_save(state: number): number;
  onnx_answer(state: number, length: number): number;
}

/** Files next to a model: 0 is the open one, 1 the older one of a comparison. */
export interface Data {
  /** The size of a file; negative if there is none. */
  size(side: number, name: string): number;
  read(side: number, name: string, offset: number, length: number): Uint8Array;
}

/** Takes how far work is; the total is 0 if it is not known. */
export type Receive = (task: string, done: number, total: number) => void;

/** An instance of the module, with a state. */
export interface Library {
  exports: Exports;
  state: number;
}

/** A library with an empty state. */
export async function instantiate(module: WebAssembly.Module, data?: Data, receive?: Receive): Promise<Library> {
  let memory: WebAssembly.Memory | undefined;
  const text = (at: number, length: number): string => decode(new Uint8Array((memory as WebAssembly.Memory).buffer, place(at), length).slice());
  // An error of the page must not unwind through the module.
  const safe = <T>(work: () => T, otherwise: T): T => {
    try {
      return work();
    } catch {
      return otherwise;
    }
  };
  const host = {
    size: (side: number, name: number, length: number): number => safe(() => data?.size(side, text(name, length)) ?? -1, -1),
    read: (side: number, name: number, length: number, offset: number, count: number, to: number): number =>
      safe(() => {
        const bytes = data?.read(side, text(name, length), offset, place(count)) ?? new Uint8Array();
        if (bytes.length > place(count)) return 0;
        new Uint8Array((memory as WebAssembly.Memory).buffer).set(bytes, place(to));
        return bytes.length;
      }, 0),
    progress: (task: number, length: number, done: number, total: number): void => safe(() => receive?.(text(task, length), done, total), undefined),
  };
  const instance = await WebAssembly.instantiate(module, { host });
  const exports = instance.exports as unknown as Exports;
  memory = exports.memory;
  return { exports, state: exports.onnx_new() };
}

/** The contents of a file, of which parts are read at once. */
export interface Readable {
  size: number;
  read(offset: number, length: number): Uint8Array;
}

/** Bytes of a file that are read at once. */
const PART = 64_000_000;

/** Opens a file, as the older one of a comparison if `isOlder`; throws the error of the library. */
export function open(library: Library, name: string, contents: Uint8Array | Readable, isOlder = false): void {
  const { exports, state } = library;
  const encoded = new TextEncoder().encode(name);
  if (contents instanceof Uint8Array) give(library, contents, encoded);
  else {
    // A file of gigabytes is in memory once.
    const at = place(exports.onnx_input(state, contents.size + encoded.length));
    const write = (part: Uint8Array, offset: number): void => new Uint8Array(exports.memory.buffer).set(part, at + offset);
    for (let offset = 0; offset < contents.size; offset += PART) write(contents.read(offset, Math.min(PART, contents.size - offset)), offset);
    write(encoded, contents.size);
  }
  const length = isOlder ? exports.onnx_compare(state, encoded.length) : exports.onnx_open(state, encoded.length);
  const { error } = JSON.parse(decode(answer(library, length))) as { error?: string };
  if (error !== undefined) throw new Error(error);
}

/** Answers a request; both are JSON. */
export function call(library: Library, request: string): string {
  give(library, new TextEncoder().encode(request));
  return decode(answer(library, library.exports.onnx_call(library.state)));
}

/** The model as bytes; throws the error of the library. */
export function save(library: Library): Uint8Array {
  const isSaved = library.exports.onnx_save(library.state) === 1;
  // Room for the length that the library writes.
  const bytes = saved(library);
  if (!isSaved) throw new Error((JSON.parse(decode(bytes)) as { error: string }).error);
  return bytes;
}

/** Writes the input of the next call. */
function give({ exports, state }: Library, ...parts: Uint8Array[]): void {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  let at = place(exports.onnx_input(state, length));
  for (const part of parts) {
    new Uint8Array(exports.memory.buffer).set(part, at);
    at += part.length;
  }
}

/** The answer of the last call, which has `length` bytes. */
function answer({ exports, state }: Library, length: number): Uint8Array {
  const at = place(exports.onnx_answer(state, 0));
  return new Uint8Array(exports.memory.buffer, at, place(length)).slice();
}

function saved({ exports, state }: Library): Uint8Array {
  const length = place(exports.onnx_input(state, 4));
  const at = place(exports.onnx_answer(state, length));
  const count = new DataView(exports.memory.buffer).getUint32(length, true);
  return new Uint8Array(exports.memory.buffer, at, count).slice();
}

/** A number of the module, whose numbers have no sign: an address in the upper half of its memory looks negative here. */
const place = (number: number): number => number >>> 0;
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
