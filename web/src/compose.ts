// The picture from the levels that are open. A level is laid out with its boxes closed; a box that opens pushes what is
// right of it in its rank to the right, what is left of it to the left, and the ranks below it down.

import type { Edge, Item, Level } from "./model";

export interface Box {
  item: Item;
  level: number;
  index: number;
  /** The indices of the boxes from the outermost one, joined by slashes. */
  path: string;
  depth: number;
  x: number;
  y: number;
  w: number;
  h: number;
  isOpen: boolean;
}

export interface Line {
  /** Coordinates: x, y, x, y… Between points at the same x it is straight, otherwise a curve. */
  points: number[];
  /** A text above the first point. */
  label?: string;
  isDashed: boolean;
  hasArrow: boolean;
  /** Paths of the boxes at its ends. */
  from: string;
  to: string;
}

export interface Picture {
  w: number;
  h: number;
  boxes: Box[];
  lines: Line[];
}

/** Height of the title of an open box, and the space around its contents. */
export const TITLE = 24;
const PADDING = 12;
const STUB = 14;
/** Height of a label, below which its edge begins. */
const LABEL = 14;

interface Placed {
  w: number;
  h: number;
  x: number[];
  y: number[];
  width: number[];
  height: number[];
  children: Map<number, Placed>;
  level: Level;
  id: number;
  tops: number[];
  bottoms: number[];
  moved: (rank: number, x: number) => number;
  shiftOf: number[];
}

/** Everything that is open, step by step. `levels` has the levels that are loaded; a box whose level is not loaded is drawn closed. */
export function* composed(root: number, levels: Map<number, Level>, open: Set<string>): Generator<void, Picture> {
  const level = levels.get(root);
  const picture: Picture = { w: 0, h: 0, boxes: [], lines: [] };
  if (!level) return picture;
  const placed = yield* place(root, level, "", levels, open, 0);
  picture.w = placed.w;
  picture.h = placed.h;
  yield* emit(placed, "", 0, 0, 0, picture);
  return picture;
}

const inner = (path: string, index: number): string => (path ? `${path}/${index}` : String(index));

function* place(
  id: number,
  level: Level,
  path: string,
  levels: Map<number, Level>,
  open: Set<string>,
  depth: number,
): Generator<void, Placed> {
  yield;
  const width = level.items.map((item) => item.w);
  const height = level.items.map((item) => item.h);
  const children = new Map<number, Placed>();
  for (const [index, item] of level.items.entries()) {
    const inside = item.in === undefined ? undefined : levels.get(item.in);
    if (!inside || item.in === undefined || depth > 60 || !open.has(inner(path, index))) continue;
    const child = yield* place(item.in, inside, inner(path, index), levels, open, depth + 1);
    children.set(index, child);
    width[index] = Math.max(item.w, child.w + 2 * PADDING);
    height[index] = child.h + TITLE + 2 * PADDING;
  }
  // Open boxes of each rank, with the width that they need.
  const wider = new Map<number, { left: number; right: number; more: number }[]>();
  const higher = level.bands.map(() => 0);
  for (const index of children.keys()) {
    const item = level.items[index] as Item;
    const band = level.bands[item.r] ?? [0, 0];
    const rank = wider.get(item.r) ?? [];
    rank.push({ left: item.x, right: item.x + item.w, more: (width[index] ?? 0) - item.w });
    wider.set(item.r, rank);
    higher[item.r] = Math.max(higher[item.r] ?? 0, item.y + (height[index] ?? 0) - band[1]);
  }
  const shift = (rank: number, x: number): number => {
    let sum = 0;
    for (const { left, right, more } of wider.get(rank) ?? []) {
      const part = right > left ? Math.min(Math.max((x - left) / (right - left), 0), 1) : 0.5;
      sum += (part - 0.5) * more;
    }
    return sum;
  };
  const tops: number[] = [];
  const bottoms: number[] = [];
  let down = 0;
  level.bands.forEach(([top, bottom], rank) => {
    tops.push(top + down);
    down += Math.max(higher[rank] ?? 0, 0);
    bottoms.push(bottom + down);
  });
  const shiftOf = level.items.map((item) => shift(item.r, item.x + item.w / 2));
  const x = level.items.map((item, index) => item.x + item.w / 2 + (shiftOf[index] ?? 0) - (width[index] ?? 0) / 2);
  const y = level.items.map((item) => item.y - (level.bands[item.r]?.[0] ?? 0) + (tops[item.r] ?? 0));
  let left = 0;
  let right = level.w;
  x.forEach((value, index) => {
    left = Math.min(left, value);
    right = Math.max(right, value + (width[index] ?? 0));
  });
  for (const edge of level.edges) {
    for (const [rank, at] of edge.via ?? []) {
      left = Math.min(left, at + shift(rank, at));
      right = Math.max(right, at + shift(rank, at));
    }
  }
  return {
    w: right - left,
    h: level.h + down,
    x: x.map((value) => value - left),
    y,
    width,
    height,
    children,
    level,
    id,
    tops,
    bottoms,
    moved: (rank, at) => at + shift(rank, at) - left,
    shiftOf: shiftOf.map((value) => value - left),
  };
}

function* emit(placed: Placed, path: string, left: number, top: number, depth: number, picture: Picture): Generator<void, void> {
  yield;
  for (const [index, item] of placed.level.items.entries()) {
    const x = left + (placed.x[index] ?? 0);
    const y = top + (placed.y[index] ?? 0);
    const [w, h] = [placed.width[index] ?? 0, placed.height[index] ?? 0];
    const child = placed.children.get(index);
    const own = inner(path, index);
    picture.boxes.push({ item, level: placed.id, index, path: own, depth, x, y, w, h, isOpen: child !== undefined });
    if (child) yield* emit(child, own, x + (w - child.w) / 2, y + TITLE + PADDING, depth + 1, picture);
  }
  // Edges that begin at one place have one label.
  const begin = (edge: Edge): string => `${edge.f} ${edge.a}`;
  const labeled = new Set(placed.level.edges.filter((edge) => edge.label !== undefined).map(begin));
  for (const edge of placed.level.edges) emitEdge(placed, edge, labeled.has(begin(edge)), path, left, top, picture.lines);
}

function emitEdge(placed: Placed, edge: Edge, isLabeled: boolean, path: string, left: number, top: number, lines: Line[]): void {
  const at = (x: number, y: number): [number, number] => [left + x, top + y];
  const start = edge.a + (placed.shiftOf[edge.f] ?? 0);
  const end = edge.b + (placed.shiftOf[edge.t] ?? 0);
  const startY = (placed.y[edge.f] ?? 0) + (placed.height[edge.f] ?? 0);
  const below = startY + (isLabeled ? LABEL : 0);
  const endY = placed.y[edge.t] ?? 0;
  const target = placed.level.items[edge.t];
  const hasArrow = target?.k !== "arriving" && target?.k !== "leaving";
  const [from, to] = [inner(path, edge.f), inner(path, edge.t)];
  const line = (points: number[], isDashed: boolean, hasArrow: boolean, label?: string): void => {
    lines.push({ points, isDashed, hasArrow, from, to, ...(label === undefined ? {} : { label }) });
  };
  if (edge.cut || edge.back) {
    line([...at(start, below), ...at(start, below + STUB)], true, false, edge.label);
    line([...at(end, endY - STUB), ...at(end, endY)], true, hasArrow);
  } else {
    const rank = placed.level.items[edge.f]?.r ?? 0;
    const points = [...at(start, below), ...at(start, Math.max((placed.bottoms[rank] ?? 0) + 2, below))];
    for (const [rank, x] of edge.via ?? []) {
      const moved = placed.moved(rank, x);
      points.push(...at(moved, placed.tops[rank] ?? 0), ...at(moved, placed.bottoms[rank] ?? 0));
    }
    points.push(...at(end, endY));
    line(points, false, hasArrow, edge.label);
  }
  for (const [index, isStart, x, y] of [
    [edge.f, true, start, startY],
    [edge.t, false, end, endY],
  ] as const) {
    const child = placed.children.get(index);
    if (!child) continue;
    const originX = (placed.x[index] ?? 0) + ((placed.width[index] ?? 0) - child.w) / 2;
    const originY = (placed.y[index] ?? 0) + TITLE + PADDING;
    const done = new Set<number>();
    for (const value of edge.v) {
      const port = child.level.items.findIndex(
        (item) =>
          (isStart ? item.k === "leaving" || item.k === "output" : item.k === "arriving" || item.k === "input") &&
          item.v?.includes(value),
      );
      if (port < 0 || done.has(port)) continue;
      done.add(port);
      const px = originX + (child.x[port] ?? 0) + (child.width[port] ?? 0) / 2;
      const py = originY + (child.y[port] ?? 0) + (isStart ? (child.height[port] ?? 0) : 0);
      line(isStart ? [...at(px, py), ...at(x, y)] : [...at(x, y), ...at(px, py)], false, false);
    }
  }
}
