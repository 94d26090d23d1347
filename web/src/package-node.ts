// The npm package in Node.

import { readFile } from "node:fs/promises";

import { packageWith } from "./package.js";

export type * from "./package.js";

/** A string without a protocol is a path. */
async function fetched(url: string | URL): Promise<Uint8Array<ArrayBuffer> | ArrayBuffer> {
  const address = String(url);
  if (!/^https?:/.test(address)) return readFile(/^file:/.test(address) ? new URL(address) : address);
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: status ${response.status}`);
  return response.arrayBuffer();
}

export const { init, open } = packageWith(fetched, () => new URL("./onnx.wasm", import.meta.url));
