// The npm package in Node.

import { readFile } from "node:fs/promises";

import { opener } from "./package.js";

export type * from "./package.js";

/** Opens a model: a file of this name with these contents. The extension of the name decides about the format. */
export const open = opener(async () => WebAssembly.compile(await readFile(new URL("onnx.wasm", import.meta.url))));
