// Where the page gets its picture: a scene in the file, a server on this machine, or a worker.

import type { ModelFiles } from "./files";
import { Cancelled, type Engine, type Progress } from "./engine";
import type {
  Coloring,
  Comparison,
  CostTable,
  Details,
  Edits,
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
import { Workers } from "./workers";

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
  open?(model: ModelFiles, older?: ModelFiles): Promise<void>;
  older?(older: ModelFiles): Promise<void>;
  cancel?(): void;
  progress?(): Promise<Progress>;
}

/** A session of crates/onnx-page behind a transport. */
export function session(transport: Transport): Engine {
  const call = async <T>(request: object): Promise<T> => {
    const answer = (await transport.call(request)) as { ok?: T; error?: string };
    if (answer.error?.startsWith("cancelled")) throw new Cancelled(answer.error);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.ok as T;
  };
  const engine: Engine = {
    overview: (side = 0) => call<Overview>({ call: "overview", side }),
    level: (id, side = 0) => call<Level>({ call: "level", id, side }),
    levels: (ids, labels, side = 0) => call<{ levels: Level[]; labels: (string | null)[][] }>({ call: "levels", ids, labels, side }),
    search: (text, side = 0) => call<Hits>({ call: "search", text, side }),
    path: (from, to, side = 0) => call<Hits>({ call: "path", from, to, side }),
    model: (side = 0) => call<Details>({ call: "model", side }),
    details: (level, item, side = 0, folded) => call<Details>({ call: "details", level, item, side, folded }),
    weight: (level, item, input, side = 0, folded) => call<Weight>({ call: "weight", level, item, input, side, folded }),
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
    compare: () => call<Comparison>({ call: "compare" }),
    before: () => call<Comparison>({ call: "before" }),
    single: () => call<null>({ call: "single" }),
    counterpart: (level, item, from) => call<{ path?: number[] | null } | null>({ call: "counterpart", level, item, from }),
    picture: (open, color, side = 0) => call<{ svg: string }>({ call: "picture", open, color, side }),
    save: () => transport.save(),
  };
  // The properties of a transport may be methods.
  if (transport.open) engine.open = (model, older) => transport.open?.(model, older) ?? Promise.resolve();
  if (transport.older) engine.older = (older) => transport.older?.(older) ?? Promise.resolve();
  if (transport.cancel) engine.cancel = () => transport.cancel?.();
  if (transport.progress) engine.progress = () => transport.progress?.() ?? Promise.resolve({});
  return engine;
}

/** Where the browser keeps the name of a tab while it is loaded again. */
const TAB = "onnx-view-tab";

/** Milliseconds after which a tab for which there was no place asks again. */
const AGAIN = 1_000;

/**
 * The server of `onnx view`, which knows this page by the token in its address, and has a session for each tab. `waits` takes what is
 * waited for before the model can be shown.
 */
export function remote(base: string, waits: (text: string | undefined) => void): Engine {
  const ask = async (path: string, options: RequestInit = {}): Promise<Response> => {
    let response: Response;
    try {
      response = await fetch(`${base}${path}`, options);
    } catch {
      throw new Error("`onnx view` does not answer: it was ended. Start it again with the same files, and open the address that it prints; changes that were not saved are lost");
    }
    if (response.ok) return response;
    if (response.status === 503 && path === "open") {
      waits((await response.text()).trim());
      await new Promise((done) => setTimeout(done, AGAIN));
      return ask(path, options);
    }
    const reason = (await response.text().catch(() => "")).trim();
    throw new Error(reason && reason !== String(response.status) ? reason : `\`onnx view\` refused the request with status ${response.status}: reload the page`);
  };
  const open = async (): Promise<string> => {
    const name = await (await ask("open", { method: "POST", body: sessionStorage.getItem(TAB) ?? "" })).text();
    waits(undefined);
    sessionStorage.setItem(TAB, name);
    // A tab that is closed leaves its place to others at once, and the server ends with the last one.
    window.addEventListener("pagehide", () => navigator.sendBeacon(`${base}${name}/bye`));
    return name;
  };
  const tab = open();
  tab.catch(() => undefined);
  return session({
    call: async (request) => (await ask(`${await tab}/call`, { method: "POST", body: JSON.stringify(request) })).json(),
    save: async () => new Uint8Array(await (await ask(`${await tab}/model`)).arrayBuffer()),
    cancel: () => void tab.then((name) => ask(`${name}/cancel`, { method: "POST" })).catch(() => undefined),
    progress: async () => (await (await ask(`${await tab}/progress`, { method: "POST" })).json()) as Progress,
  });
}

/** The libraries as WebAssembly in workers. */
export function worker(url: string): Engine {
  return session(new Workers(url));
}
