// Where the page gets its picture: a scene in the file, a server on this machine, or a worker.

import type {
  Coloring,
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
  open?(name: string, bytes: Uint8Array): Promise<void>;
}

/** A session of crates/onnx-page behind a transport. */
export function session(transport: Transport): Engine {
  const call = async <T>(request: object): Promise<T> => {
    const answer = (await transport.call(request)) as { ok?: T; error?: string };
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.ok as T;
  };
  const engine: Engine = {
    overview: () => call<Overview>({ call: "overview" }),
    level: (id) => call<Level>({ call: "level", id }),
    search: (text) => call<Hits>({ call: "search", text }),
    details: (level, item) => call<Details>({ call: "details", level, item }),
    findings: () => call<Findings>({ call: "findings" }),
    repair: () => call<Edits>({ call: "repair" }),
    cost: (sizes) => call<CostTable>({ call: "cost", sizes }),
    simplify: () => call<Edits>({ call: "simplify" }),
    undo: () => call<Edits>({ call: "undo" }),
    text: (level, item) => call<{ text: string }>({ call: "text", level, item }),
    save: () => transport.save(),
  };
  const open = transport.open;
  if (open) engine.open = (name, bytes) => open(name, bytes);
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

/** The libraries as WebAssembly in a worker. */
export function worker(url: string): Engine {
  const thread = new Worker(url);
  let next = 0;
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  thread.onmessage = (event: MessageEvent<{ id: number; value?: unknown; error?: string }>) => {
    const entry = waiting.get(event.data.id);
    waiting.delete(event.data.id);
    if (event.data.error === undefined) entry?.resolve(event.data.value);
    else entry?.reject(new Error(event.data.error));
  };
  thread.onerror = (event) => {
    for (const entry of waiting.values()) entry.reject(new Error(event.message || "the worker ended"));
    waiting.clear();
  };
  const ask = (kind: string, value: unknown, transfer: Transferable[] = []): Promise<unknown> =>
    new Promise((resolve, reject) => {
      next += 1;
      waiting.set(next, { resolve, reject });
      thread.postMessage({ id: next, kind, value }, transfer);
    });
  return session({
    call: async (request) => JSON.parse((await ask("call", JSON.stringify(request))) as string),
    save: async () => (await ask("save", null)) as Uint8Array,
    open: async (name, bytes) => {
      await ask("open", { name, bytes }, [bytes.buffer as ArrayBuffer]);
    },
  });
}
