// The npm package: a model in a program, with the calls of the page.

import { session } from "./engines";
import { call, instantiate, open as openIn, save, type Data } from "./library";
import type { Calls } from "./model.js";

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
export type Model = Required<Calls>;

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

/** Where the module is: its address, its bytes, or the module itself. */
export type Source = { url: string | URL } | { bytes: Uint8Array<ArrayBuffer> | ArrayBuffer } | { module: WebAssembly.Module };

/** The calls of the package, of which the first one loads the module. */
export interface Package {
  /** Loads the module from another place than the file next to the code, before the first model is opened. */
  init(source: Source): Promise<void>;
  /** Opens a model: a file of this name with these contents. The extension of the name decides about the format. */
  open(name: string, contents: Contents, options?: Options): Promise<Model>;
}

/** The package where `fetched` returns the bytes at an address, and `usual` is that of the module. */
export function packageWith(fetched: (url: string | URL) => Promise<Uint8Array<ArrayBuffer> | ArrayBuffer>, usual: () => URL): Package {
  let module: Promise<WebAssembly.Module> | undefined;
  const load = async (source: Source): Promise<WebAssembly.Module> => {
    if ("module" in source) return source.module;
    return WebAssembly.compile("bytes" in source ? source.bytes : await fetched(source.url));
  };
  // What could not be loaded is tried again by the next call.
  const loaded = (source: Source): Promise<WebAssembly.Module> => {
    const current = load(source);
    module = current;
    current.catch(() => {
      if (module === current) module = undefined;
    });
    return current;
  };
  return {
    async init(source) {
      if (module) throw new Error("the module is loaded already: call `init` once, before `open`");
      await loaded(source);
    },
    async open(name, contents, options = {}) {
      // Each model has separate memory: a trap in one leaves the others as they are.
      const library = await instantiate(await (module ?? loaded({ url: usual() })), dataOf(options.data ?? {}));
      openIn(library, name, bytesOf(contents));
      if (options.older) openIn(library, options.older[0], bytesOf(options.older[1]), true);
      const engine = session({
        call: async (request) => JSON.parse(call(library, JSON.stringify(request))) as unknown,
        save: async () => save(library),
      });
      return engine as Model;
    },
  };
}
