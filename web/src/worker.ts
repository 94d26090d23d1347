// The worker of the page: the libraries as WebAssembly, so that a large model never blocks the page.

interface Exports {
  memory: WebAssembly.Memory;
  onnx_new(): number;
  onnx_input(state: number, bytes: number): number;
  onnx_open(state: number, nameBytes: number): number;
  onnx_call(state: number): number;
  onnx_save(state: number): number;
  onnx_answer(state: number, length: number): number;
}

interface Message {
  id: number;
  kind: "open" | "call" | "save";
  value: unknown;
}

interface Library {
  exports: Exports;
  state: number;
}

let loading: Promise<Library> | undefined;

async function library(): Promise<Library> {
  const response = await fetch(new URL("onnx.wasm", self.location.href));
  if (!response.ok) throw new Error(`onnx.wasm: status ${response.status}`);
  const { instance } = await WebAssembly.instantiate(await response.arrayBuffer(), {});
  const exports = instance.exports as unknown as Exports;
  return { exports, state: exports.onnx_new() };
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

/** The answer of the last call, which has so many bytes. */
function answer({ exports, state }: Library, length: number): Uint8Array {
  const at = exports.onnx_answer(state, 0);
  return new Uint8Array(exports.memory.buffer, at, length).slice();
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

function answered(library: Library, message: Message): unknown {
  const { exports, state } = library;
  switch (message.kind) {
    case "open": {
      const { name, bytes } = message.value as { name: string; bytes: Uint8Array };
      const encoded = new TextEncoder().encode(name);
      give(library, encoded, bytes);
      const text = decode(answer(library, exports.onnx_open(state, encoded.length)));
      const { error } = JSON.parse(text) as { error?: string };
      if (error !== undefined) throw new Error(error);
      return null;
    }
    case "call":
      give(library, new TextEncoder().encode(message.value as string));
      return decode(answer(library, exports.onnx_call(state)));
    case "save": {
      const isSaved = exports.onnx_save(state) === 1;
      // Room for the length that the library writes.
      const bytes = saved(library);
      if (!isSaved) throw new Error((JSON.parse(decode(bytes)) as { error: string }).error);
      return bytes;
    }
  }
}

function saved({ exports, state }: Library): Uint8Array {
  const length = exports.onnx_input(state, 4);
  const at = exports.onnx_answer(state, length);
  const count = new DataView(exports.memory.buffer).getUint32(length, true);
  return new Uint8Array(exports.memory.buffer, at, count).slice();
}

self.onmessage = async (event: MessageEvent<Message>) => {
  const { id } = event.data;
  try {
    loading ??= library();
    self.postMessage({ id, value: answered(await loading, event.data) });
  } catch (error) {
    // A trap leaves the memory of the library in an unknown state: the next file begins with a new one.
    if (error instanceof WebAssembly.RuntimeError) loading = undefined;
    const text = error instanceof WebAssembly.RuntimeError ? "the model needs more memory than the tab has, or the library has a defect" : String(error instanceof Error ? error.message : error);
    self.postMessage({ id, error: text });
  }
};
