// The npm package: a model in a program, with the calls of the page.

import { session } from "./engines";
import { call, instantiate, open as openIn, save } from "./library";
import type { Engine } from "./model.js";

export type * from "./model.js";

/** An open model. Its memory is freed with it. */
export type Model = Required<Omit<Engine, "open">>;

/** Opens models with the module that `compile` returns, which is called once. */
export function opener(
  compile: () => Promise<WebAssembly.Module>,
): (name: string, contents: string | Uint8Array | ArrayBuffer) => Promise<Model> {
  let module: Promise<WebAssembly.Module> | undefined;
  return async (name, contents) => {
    module ??= compile();
    // Each model has separate memory: a trap in one leaves the others as they are.
    const library = await instantiate(await module);
    const bytes = typeof contents === "string" ? new TextEncoder().encode(contents) : new Uint8Array(contents);
    openIn(library, name, bytes);
    const engine = session({
      call: async (request) => JSON.parse(call(library, JSON.stringify(request))) as unknown,
      save: async () => save(library),
    });
    return engine as Model;
  };
}
