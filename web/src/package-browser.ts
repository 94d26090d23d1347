// The npm package in browsers and bundlers, of which some copy the module and replace its address.

import { packageWith } from "./package.js";

export type * from "./package.js";

async function fetched(url: string | URL): Promise<ArrayBuffer> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: status ${response.status}: \`init\` takes another address of onnx.wasm, or its bytes`);
  return response.arrayBuffer();
}

// This form of the address is the one that bundlers look for.
export const { init, open } = packageWith(fetched, () => new URL("./onnx.wasm", import.meta.url));
