// The npm package: a model in a program, with the calls of the page.

import { session } from "./engines";
import { call, instantiate, open as openIn, save, type Data } from "./library";
import type { Engine } from "./model.js";

export type * from "./model.js";

/** Bytes, or the text of a form that is text. */
export type Contents = string | Uint8Array | ArrayBuffer;

export interface Options {
  /** External data by its location in the model: the contents of the files, or functions that read a range of one. */
  data?: Record<string, Contents | { size: number; read(offset: number, length: number): Uint8Array }>;
  /** An older model, with which the model is compared: its name and contents. */
  older?: [string, Contents];
}

/** An open model. Its memory is freed with it. */
export type Model = Required<Omit<Engine, "open" | "cancel">>;

const bytesOf = (contents: Contents): Uint8Array =>
  typeof contents === "string" ? new TextEncoder().encode(contents) : new Uint8Array(contents);

function dataOf(files: NonNullable<Options["data"]>): Data {
  const found = new Map(
    Object.entries(files).map(([name, file]) => {
      if (typeof file === "object" && "read" in file) return [name, file] as const;
      const bytes = bytesOf(file);
      return [name, { size: bytes.length, read: (offset: number, length: number) => bytes.subarray(offset, offset + length) }] as const;
    }),
  );
  return {
    size: (_, name) => found.get(name)?.size ?? -1,
    read: (_, name, offset, length) => found.get(name)?.read(offset, length) ?? new Uint8Array(),
  };
}

/** Opens models with the module that `compile` returns, which is called once. */
export function opener(
  compile: () => Promise<WebAssembly.Module>,
): (name: string, contents: Contents, options?: Options) => Promise<Model> {
  let module: Promise<WebAssembly.Module> | undefined;
  return async (name, contents, options = {}) => {
    module ??= compile();
    // Each model has separate memory: a trap in one leaves the others as they are.
    const library = await instantiate(await module, dataOf(options.data ?? {}));
    openIn(library, name, bytesOf(contents));
    if (options.older) openIn(library, options.older[0], bytesOf(options.older[1]), true);
    const engine = session({
      call: async (request) => JSON.parse(call(library, JSON.stringify(request))) as unknown,
      save: async () => save(library),
    });
    return engine as Model;
  };
}
