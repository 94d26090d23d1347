// What engines return. The names are those of crates/onnx-draw/src/json.rs and crates/onnx-page.

export type Kind = "node" | "group" | "graph" | "input" | "output" | "arriving" | "leaving";
export type Severity = "error" | "warning" | "note";
export type Coloring = "type" | "cost" | "scope" | "findings";

/** A box of a level, in coordinates of the level. */
export interface Item {
  k: Kind;
  t: string;
  l?: string[];
  x: number;
  y: number;
  w: number;
  h: number;
  /** Index of the rank. */
  r: number;
  /** The level inside. */
  in?: number;
  /** Number of nodes inside. */
  n?: number;
  /** Cost. */
  c?: number;
  s?: Severity;
  /** Values of an input, an output or a port. */
  v?: string[];
}

export interface Edge {
  f: number;
  t: number;
  a: number;
  b: number;
  via?: [number, number][];
  cut?: boolean;
  back?: boolean;
  label?: string;
  v: string[];
}

export interface Level {
  w: number;
  h: number;
  bands: [number, number][];
  items: Item[];
  edges: Edge[];
}

/** The level and the box that contain a level. */
export type Parent = [number, number] | null;

export interface Overview {
  title: string;
  coloring: Coloring;
  parents: Parent[];
  /** Lines about the model. */
  facts: [string, string][];
  /** Number of changes that can be undone. */
  undo: number;
}

export interface Hit {
  label: string;
  level: number;
  item: number;
}

export interface Hits {
  count: number;
  hits: Hit[];
  note?: string;
}

export interface Details {
  title: string;
  selector?: string;
  rows: [string, string][];
  lists: { title: string; rows: string[][] }[];
}

export interface Finding {
  rule: string;
  severity: Severity;
  message: string;
  where: string;
  help?: string;
  canRepair: boolean;
  level?: number;
  item?: number;
}

export interface Findings {
  findings: Finding[];
  counts: [number, number, number];
  repairable: number;
}

export interface CostRow {
  name: string;
  op: string;
  operations: string;
  part: number;
  level?: number;
  item?: number;
}

export interface CostTable {
  totals: [string, string][];
  rows: CostRow[];
  variables: string[];
}

export interface Edits {
  summary: string;
  edits: string[];
}

/** What the page asks. An engine that has a scene only does not have the optional calls. */
export interface Engine {
  overview(): Promise<Overview>;
  level(id: number): Promise<Level>;
  search(text: string): Promise<Hits>;
  details?(level: number, item: number): Promise<Details>;
  findings?(): Promise<Findings>;
  repair?(): Promise<Edits>;
  cost?(sizes: string): Promise<CostTable>;
  simplify?(): Promise<Edits>;
  undo?(): Promise<Edits>;
  text?(level: number, item: number): Promise<{ text: string }>;
  save?(): Promise<Uint8Array>;
  /** Opens a file that the user gave. */
  open?(name: string, bytes: Uint8Array): Promise<void>;
}
