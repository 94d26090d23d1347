// What engines return. The names are those of crates/onnx-draw/src/json.rs and crates/onnx-page.

export type Kind = "node" | "group" | "graph" | "input" | "output" | "arriving" | "leaving";
export type Severity = "error" | "warning" | "note";
export type Coloring = "type" | "cost" | "scope" | "findings" | "diff";
export type Difference = "added" | "removed" | "changed";
/** The model: 0; the older one of a comparison: 1. */
export type Side = 0 | 1;

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
  /** How it differs from the other model of a comparison. */
  d?: Difference;
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
  /** The dimension variables of the inputs. */
  variables?: string[];
  /** The title of the older model of a comparison. */
  other?: string;
}

export interface Hit {
  label: string;
  level: number;
  item: number;
  /** The node is one that computes a weight of the node with the box: its position among them. */
  folded?: number;
}

export interface Hits {
  /** Number of matches, of which `hits` are the first. */
  count: number;
  hits: Hit[];
  /** Number of matches that are not in the picture. */
  hidden?: number;
  note?: string;
}

export interface Details {
  title: string;
  selector?: string;
  rows: [string, string][];
  /** The node with the box, if this is one that computes a weight of it. */
  of?: string;
  /** `places` are the boxes that rows are about, to which the cell `link` leads; with `folded`, rows are nodes that compute weights. */
  lists: { title: string; rows: string[][]; places?: ([number, number] | null)[]; link?: number; folded?: boolean }[];
  weights?: { input: number; name: string; type: string }[];
  documentation?: { text: string; address: string };
}

export interface Weight {
  name: string;
  rows: [string, string][];
  histogram: number[] | null;
  elements: string[];
  /** What is stored, if nodes compute the weight from that. */
  stored?: Weight;
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
  edits: { what: string; nodes: string; proof: string }[];
  more?: number;
}

export interface Text {
  text: string;
  /** The line at which a node begins, with its box. */
  places: [number, number, number][];
}

export interface Reach {
  version: number;
  changed: number;
  prevented: number;
  refusals: { op: string; version: number; reason: string; help: string; level?: number; item?: number }[];
}

export interface Versions {
  current: number;
  oldest: Reach;
  newest: Reach;
}

export interface Run {
  sizes: [string, number][];
  variables: string[];
  rows: { name: string; type: string; range: string; mean: string | null; bad: boolean; elements: string[]; level?: number; item?: number }[];
  /** Number of values, of which rows are some. */
  values: number;
  failure?: { message: string; node?: string; level?: number; item?: number };
}

export interface Change {
  kind: Difference;
  element: string;
  text: string;
  where: string | null;
  note: boolean;
  aspects: string[];
  /** The boxes in the newer and in the older model. */
  after?: [number, number];
  before?: [number, number];
}

export interface Comparison {
  titles: [string, string];
  counts: [number, number, number];
  same: number;
  unread: number;
  changes: Change[];
  more: number;
}

/** What a session answers about the model that is open. An engine that has a scene only does not have the optional calls. */
export interface Calls {
  overview(side?: Side): Promise<Overview>;
  level(id: number, side?: Side): Promise<Level>;
  /** Levels, and for each the values of the last run at its edges if `labels` says so. */
  levels?(ids: number[], labels: boolean, side?: Side): Promise<{ levels: Level[]; labels: (string | null)[][] }>;
  search(text: string, side?: Side): Promise<Hits>;
  /** The nodes between two boxes: the level and the index of each. */
  path?(from: [number, number], to: [number, number], side?: Side): Promise<Hits>;
  /** What the model says of itself. */
  model?(side?: Side): Promise<Details>;
  /** A box; with `folded`, a node that computes a weight of the node with the box. */
  details?(level: number, item: number, side?: Side, folded?: number): Promise<Details>;
  /** Statistics of the operand of a node. */
  weight?(level: number, item: number, input: number, side?: Side, folded?: number): Promise<Weight>;
  findings?(side?: Side): Promise<Findings>;
  repair?(): Promise<Edits>;
  cost?(sizes: string, side?: Side): Promise<CostTable>;
  /** Simplifies; with `prove`, the values of each edit are compared. */
  simplify?(prove?: boolean): Promise<Edits>;
  versions?(): Promise<Versions>;
  convert?(version: number): Promise<Edits>;
  /** Makes the nodes of a box the model. */
  extract?(level: number, item: number): Promise<Edits>;
  undo?(): Promise<Edits>;
  text?(level: number, item: number, side?: Side): Promise<Text>;
  /** Runs the model on generated inputs. */
  run?(sizes: string, seed: number): Promise<Run>;
  /** The differences from the older model. */
  compare?(): Promise<Comparison>;
  /** The differences from the model before the last change. */
  before?(): Promise<Comparison>;
  /** Ends a comparison. */
  single?(): Promise<null>;
  /** The box of the other model that corresponds to a box of the model `from`. */
  counterpart?(level: number, item: number, from: Side): Promise<{ path?: number[] | null } | null>;
  /** The picture as SVG. */
  picture?(open: number[][], color: Coloring, side?: Side): Promise<{ svg: string }>;
  save?(): Promise<Uint8Array>;
}
