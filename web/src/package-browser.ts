// The npm package in browsers and bundlers, which copy the module and replace its address.

import { opener } from "./package.js";

export type * from "./package.js";

/** Opens a model: a file of this name with these contents. The extension of the name decides about the format. */
export const open = opener(async () => {
  const response = await fetch(new URL("onnx.wasm", import.meta.url));
  if (!response.ok) throw new Error(`onnx.wasm: status ${response.status}`);
  return WebAssembly.compile(await response.arrayBuffer());
});
