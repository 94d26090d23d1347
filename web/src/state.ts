// What the address holds, so that a link shows the same.

import type { Overview } from "./model";

export interface State {
  color: string | null;
  open: string[];
  at: string;
  panel: string | undefined;
  find: string;
  /** The title of the model that the address is about, where others can be opened. */
  model: string | undefined;
  /** The fingerprint of that model: `open` and `at` are places of a model like it. */
  of: string | undefined;
}

/** Thousands of open boxes do not fit into an address. */
const MOST_OPEN = 200;

const isPath = (path: string): boolean => /^\d+(\/\d+)*$/.test(path);

/** A number for the boxes of a model: those of another one, or of the same after a change, are at other places. */
export function fingerprint({ facts, parents }: Overview): string {
  let hash = 2166136261;
  for (const c of JSON.stringify([facts, parents])) hash = Math.imul(hash ^ (c.codePointAt(0) ?? 0), 16777619) >>> 0;
  return hash.toString(36);
}

export function read(): State {
  const state = new URLSearchParams(location.hash.slice(1));
  const at = state.get("at") ?? "";
  return {
    color: state.get("color"),
    open: (state.get("open") ?? "").split(",").filter(isPath),
    at: isPath(at) ? at : "",
    panel: state.get("panel") ?? undefined,
    find: state.get("find") ?? "",
    model: state.get("model") ?? undefined,
    of: state.get("of") ?? undefined,
  };
}

export function write(state: State, isStep: boolean): void {
  const parts = [`color=${state.color}`];
  if (state.open.length > 0 && state.open.length < MOST_OPEN) parts.push(`open=${state.open.join(",")}`);
  if (state.at) parts.push(`at=${state.at}`);
  if (state.panel) parts.push(`panel=${state.panel}`);
  if (state.find) parts.push(`find=${encodeURIComponent(state.find)}`);
  if (state.model) parts.push(`model=${encodeURIComponent(state.model)}`);
  if (state.of) parts.push(`of=${state.of}`);
  const hash = `#${parts.join("&")}`;
  if (hash === location.hash) return;
  if (isStep) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
}
