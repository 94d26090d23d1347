// The worker of the page: the libraries as WebAssembly, so that a large model never blocks the page.

import { call, instantiate, open, save, type Data, type Library } from "./library";

/** Workers read files without waiting; the types of documents do not have it. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

/** A file to open, and those next to it. */
interface Opened {
  name: string;
  file: Blob;
  data: Map<string, Blob>;
  isOlder: boolean;
}

interface Message {
  id: number;
  kind: "open" | "call" | "save";
  value: unknown;
}

// Loaded at once, so that the page works when the network is gone.
let loading: Promise<Library> | undefined = library();
loading.catch(() => {
  loading = undefined;
});
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

async function library(): Promise<Library> {
  const response = await fetch(new URL("onnx.wasm", self.location.href));
  if (!response.ok) throw new Error(`onnx.wasm: status ${response.status}`);
  // What is compiled while it arrives is kept by the browser, but only a server that knows the type of the file allows that.
  const isTyped = response.headers.get("content-type")?.startsWith("application/wasm");
  const module = isTyped ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
  return instantiate(await module, data);
}

function answered(library: Library, message: Message): unknown {
  switch (message.kind) {
    case "open": {
      const { name, file, data, isOlder } = message.value as Opened;
      sides[isOlder ? 1 : 0] = data;
      const read = (offset: number, length: number): Uint8Array => new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + length)));
      open(library, name, { size: file.size, read }, isOlder);
      return null;
    }
    case "call":
      return call(library, message.value as string);
    case "save":
      return save(library);
  }
}

self.onmessage = async (event: MessageEvent<Message>) => {
  const { id } = event.data;
  try {
    loading ??= library();
    self.postMessage({ id, value: answered(await loading, event.data) });
  } catch (error) {
    // A trap leaves the memory of the library in an unknown state: the next file begins with a new one.
    const isTrap = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
    if (isTrap) loading = undefined;
    const text = isTrap ? "the model needs more memory than the tab has, or the library has a defect: `onnx view` opens it without the limits of a tab" : String(error instanceof Error ? error.message : error);
    self.postMessage({ id, error: text });
  }
};
