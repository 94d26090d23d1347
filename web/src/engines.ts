// Where the page gets its picture: a scene in the file, a server on this machine, or a worker.

import type {
  Coloring,
  Comparison,
  CostTable,
  Details,
  Edits,
  Engine,
  Findings,
  Hit,
  Hits,
  Level,
  Overview,
  Parent,
  Run,
  Text,
  Versions,
  Weight,
} from "./model";

/** Matches of a search that are listed. */
const MOST_HITS = 500;

interface Scene {
  title: string;
  coloring: Coloring;
  scene: { levels: Level[]; parents: Parent[]; nodes: [string, string, number, number][] };
}

/** The scene in the element `scene` of the document. */
export function embedded(element: HTMLElement): Engine {
  const data = JSON.parse(element.textContent ?? "") as Scene;
  const { levels, parents, nodes } = data.scene;
  return {
    overview: () =>
      Promise.resolve({
        title: data.title,
        coloring: data.coloring,
        parents,
        facts: [["nodes", String(nodes.length)]],
        undo: 0,
      }),
    level(id) {
      const level = levels[id];
      return level ? Promise.resolve(level) : Promise.reject(new Error(`no level ${id}`));
    },
    search(text) {
      const word = text.toLowerCase();
      const hits: Hit[] = [];
      let count = 0;
      for (const [name, op, level, item] of nodes) {
        if (!name.toLowerCase().includes(word) && !op.toLowerCase().includes(word)) continue;
        count += 1;
        if (hits.length < MOST_HITS) hits.push({ label: name ? `${op}  ${name}` : op, level, item });
      }
      return Promise.resolve({ count, hits });
    },
  };
}

/** How requests reach a session. */
export interface Transport {
  call(request: object): Promise<unknown>;
  save(): Promise<Uint8Array>;
  open?: NonNullable<Engine["open"]>;
  cancel?: NonNullable<Engine["cancel"]>;
}

/** A session of crates/onnx-page behind a transport. */
export function session(transport: Transport): Engine {
  const call = async <T>(request: object): Promise<T> => {
    const answer = (await transport.call(request)) as { ok?: T; error?: string };
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.ok as T;
  };
  const engine: Engine = {
    overview: (side = 0) => call<Overview>({ call: "overview", side }),
    level: (id, side = 0) => call<Level>({ call: "level", id, side }),
    search: (text, side = 0) => call<Hits>({ call: "search", text, side }),
    path: (from, to, side = 0) => call<Hits>({ call: "path", from, to, side }),
    details: (level, item, side = 0) => call<Details>({ call: "details", level, item, side }),
    weight: (level, item, input, side = 0) => call<Weight>({ call: "weight", level, item, input, side }),
    findings: (side = 0) => call<Findings>({ call: "findings", side }),
    repair: () => call<Edits>({ call: "repair" }),
    cost: (sizes, side = 0) => call<CostTable>({ call: "cost", sizes, side }),
    simplify: (prove = false) => call<Edits>({ call: "simplify", prove }),
    versions: () => call<Versions>({ call: "versions" }),
    convert: (version) => call<Edits>({ call: "convert", version }),
    extract: (level, item) => call<Edits>({ call: "extract", level, item }),
    undo: () => call<Edits>({ call: "undo" }),
    text: (level, item, side = 0) => call<Text>({ call: "text", level, item, side }),
    run: (sizes, seed) => call<Run>({ call: "run", sizes, seed }),
    labels: (level) => call<(string | null)[]>({ call: "labels", level }),
    compare: () => call<Comparison>({ call: "compare" }),
    before: () => call<Comparison>({ call: "before" }),
    single: () => call<null>({ call: "single" }),
    counterpart: (level, item, from) => call<{ path?: number[] | null } | null>({ call: "counterpart", level, item, from }),
    picture: (open, color, side = 0) => call<{ svg: string }>({ call: "picture", open, color, side }),
    save: () => transport.save(),
  };
  if (transport.open) engine.open = transport.open;
  if (transport.cancel) engine.cancel = transport.cancel;
  return engine;
}

/** The server of `onnx view`, which knows this page by the token in its address. */
export function remote(base: string): Engine {
  return session({
    async call(request) {
      const response = await fetch(`${base}call`, { method: "POST", body: JSON.stringify(request) });
      if (!response.ok) throw new Error(`the server answered ${response.status}`);
      return response.json();
    },
    async save() {
      const response = await fetch(`${base}model`);
      if (!response.ok) throw new Error(`the server answered ${response.status}`);
      return new Uint8Array(await response.arrayBuffer());
    },
  });
}

type Files = Parameters<NonNullable<Engine["open"]>>;

/** The libraries as WebAssembly in a worker. */
export function worker(url: string): Engine {
  let next = 0;
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  const opened: (Files | undefined)[] = [undefined, undefined];
  const fail = (error: Error): void => {
    for (const entry of waiting.values()) entry.reject(error);
    waiting.clear();
  };
  const start = (): Worker => {
    const thread = new Worker(url);
    thread.onmessage = (event: MessageEvent<{ id: number; value?: unknown; error?: string }>) => {
      const entry = waiting.get(event.data.id);
      waiting.delete(event.data.id);
      if (event.data.error === undefined) entry?.resolve(event.data.value);
      else entry?.reject(new Error(event.data.error));
    };
    thread.onerror = (event) => fail(new Error(event.message || "the worker ended"));
    return thread;
  };
  let thread = start();
  const ask = (kind: string, value: unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      next += 1;
      waiting.set(next, { resolve, reject });
      thread.postMessage({ id: next, kind, value });
    });
  const open = async (...[name, file, data, isOlder]: Files): Promise<void> => {
    await ask("open", { name, file, data, isOlder });
    opened[isOlder ? 1 : 0] = [name, file, data, isOlder];
    if (!isOlder) opened[1] = undefined;
  };
  return session({
    call: async (request) => JSON.parse((await ask("call", JSON.stringify(request))) as string),
    save: async () => (await ask("save", null)) as Uint8Array,
    open,
    async cancel() {
      thread.terminate();
      thread = start();
      fail(new Error("cancelled: the model is as it was opened"));
      for (const files of [...opened]) if (files) await open(...files);
    },
  });
}
