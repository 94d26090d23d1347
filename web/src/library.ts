// The libraries as WebAssembly: six functions over memory that both sides read and write.

interface Exports {
  memory: WebAssembly.Memory;
  onnx_new(): number;
  onnx_input(state: number, bytes: number): number;
  onnx_open(state: number, nameBytes: number): number;
  onnx_call(state: number): number;
  onnx_save(state: number): number;
  onnx_answer(state: number, length: number): number;
}

/** An instance of the module, with a state. */
export interface Library {
  exports: Exports;
  state: number;
}

/** A library with an empty state. */
export async function instantiate(module: WebAssembly.Module): Promise<Library> {
  const instance = await WebAssembly.instantiate(module, {});
  const exports = instance.exports as unknown as Exports;
  return { exports, state: exports.onnx_new() };
}

/** Opens a file; throws the error of the library. */
export function open(library: Library, name: string, bytes: Uint8Array): void {
  const { exports, state } = library;
  const encoded = new TextEncoder().encode(name);
  give(library, encoded, bytes);
  const text = decode(answer(library, exports.onnx_open(state, encoded.length)));
  const { error } = JSON.parse(text) as { error?: string };
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
  let at = exports.onnx_input(state, length);
  for (const part of parts) {
    new Uint8Array(exports.memory.buffer).set(part, at);
    at += part.length;
  }
}

/** The answer of the last call, which has `length` bytes. */
function answer({ exports, state }: Library, length: number): Uint8Array {
  const at = exports.onnx_answer(state, 0);
  return new Uint8Array(exports.memory.buffer, at, length).slice();
}

function saved({ exports, state }: Library): Uint8Array {
  const length = exports.onnx_input(state, 4);
  const at = exports.onnx_answer(state, length);
  const count = new DataView(exports.memory.buffer).getUint32(length, true);
  return new Uint8Array(exports.memory.buffer, at, count).slice();
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
