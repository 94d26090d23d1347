// The worker of the page: the libraries as WebAssembly, so that a large model never blocks the page.

import { call, instantiate, open, save, type Library } from "./library";

interface Message {
  id: number;
  kind: "open" | "call" | "save";
  value: unknown;
}

let loading: Promise<Library> | undefined;

async function library(): Promise<Library> {
  const response = await fetch(new URL("onnx.wasm", self.location.href));
  if (!response.ok) throw new Error(`onnx.wasm: status ${response.status}`);
  return instantiate(await WebAssembly.compile(await response.arrayBuffer()));
}

function answered(library: Library, message: Message): unknown {
  switch (message.kind) {
    case "open": {
      const { name, bytes } = message.value as { name: string; bytes: Uint8Array };
      open(library, name, bytes);
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
    if (error instanceof WebAssembly.RuntimeError) loading = undefined;
    const text = error instanceof WebAssembly.RuntimeError ? "the model needs more memory than the tab has, or the library has a defect" : String(error instanceof Error ? error.message : error);
    self.postMessage({ id, error: text });
  }
};
