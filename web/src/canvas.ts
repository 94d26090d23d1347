// The picture on a canvas: what is visible, and nothing else.

import type { Box, Line, Picture } from "./compose";
import { TITLE } from "./compose";
import type { Coloring, Item } from "./model";
import { sliced } from "./slices";

/** Rows of boxes and lines that are searched together. */
const ROW = 400;
/** Boxes or lines that are put into rows without a pause. */
const STEP = 1_000;
/** Rows of a line at most; longer lines are looked at in every frame. */
const MOST_ROWS = 64;
/** Pixels of an image at most, in a direction and in all: browsers make no larger canvas. */
const MOST_PIXELS = 16_000;
const MOST_AREA = 100_000_000;
/** Pixels between a box that is shown and the sides of the element. */
const EDGE = 6;
/** Space around the picture of an image. */
const MARGIN = 16;
/** How far a label reaches from its center, and a mark or a border from its box. */
const OVERHANG = 16;
const LABEL_OVERHANG = 200;

export interface View {
  x: number;
  y: number;
  scale: number;
}

export interface Palette {
  background: string;
  ink: string;
  faint: string;
  line: string;
  border: string;
  box: string;
  group: string;
  port: string;
  accent: string;
  /** Matches of a search, and nodes of a path. */
  mark: string;
  dark: boolean;
}

export function palette(element: HTMLElement): Palette {
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  return {
    background: color("--background"),
    ink: color("--ink"),
    faint: color("--faint"),
    line: color("--line"),
    border: color("--border"),
    box: color("--box"),
    group: color("--group"),
    port: color("--port"),
    accent: color("--accent"),
    mark: color("--mark"),
    dark: color("--dark") === "1",
  };
}

/** A part of the picture. */
interface Region {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Boxes and lines by rows. */
class Rows {
  /** The leftmost and the rightmost place of each line. */
  readonly extents: Float64Array;
  largestCost = 0;
  private readonly boxes = new Map<number, number[]>();
  private readonly lines = new Map<number, number[]>();
  private readonly long: number[] = [];

  private constructor(lines: number) {
    this.extents = new Float64Array(2 * lines);
  }

  /** The rows of a picture, step by step. */
  static *of(picture: Picture): Generator<void, Rows> {
    const made = new Rows(picture.lines.length);
    const add = (map: Map<number, number[]>, from: number, to: number, index: number): void => {
      for (let row = Math.floor(from / ROW); row <= Math.floor(to / ROW); row += 1) {
        const list = map.get(row);
        if (list) list.push(index);
        else map.set(row, [index]);
      }
    };
    for (const [index, box] of picture.boxes.entries()) {
      if (index % STEP === 0) yield;
      add(made.boxes, box.y, box.y + box.h, index);
      if (!box.isOpen) made.largestCost = Math.max(made.largestCost, box.item.c ?? 0);
    }
    for (const [index, line] of picture.lines.entries()) {
      if (index % STEP === 0) yield;
      let [left, right] = [Infinity, -Infinity];
      for (let at = 0; at < line.points.length; at += 2) {
        left = Math.min(left, line.points[at] ?? 0);
        right = Math.max(right, line.points[at] ?? 0);
      }
      made.extents[2 * index] = left;
      made.extents[2 * index + 1] = right;
      const [from, to] = [line.points[1] ?? 0, line.points.at(-1) ?? 0];
      if ((to - from) / ROW > MOST_ROWS) made.long.push(index);
      else add(made.lines, Math.min(from, to) - OVERHANG, Math.max(from, to), index);
    }
    return made;
  }

  static none(): Rows {
    return new Rows(0);
  }

  private static found(map: Map<number, number[]>, top: number, bottom: number): number[] {
    const [first, last] = [Math.floor(top / ROW), Math.floor(bottom / ROW)];
    const found = new Set<number>();
    if (last - first > map.size) {
      for (const [row, list] of map) if (row >= first && row <= last) for (const index of list) found.add(index);
    } else {
      for (let row = first; row <= last; row += 1) for (const index of map.get(row) ?? []) found.add(index);
    }
    return [...found].sort((a, b) => a - b);
  }

  boxesBetween(top: number, bottom: number): number[] {
    return Rows.found(this.boxes, top, bottom);
  }

  linesBetween(top: number, bottom: number): number[] {
    return [...this.long, ...Rows.found(this.lines, top, bottom)];
  }
}

export class Canvas {
  readonly element: HTMLCanvasElement;
  view: View = { x: 0, y: 0, scale: 1 };
  picture: Picture = { w: 0, h: 0, boxes: [], lines: [] };
  coloring: Coloring = "type";
  selected = "";
  marked = new Set<string>();
  colors: Palette;
  private rows = Rows.none();
  private isScheduled = false;
  /** Where the picture is on the element, in device pixels, unless all of it must be painted. */
  private painted: { x: number; y: number } | undefined;
  private largestCost = 0;
  private width = 0;
  private left = 0;
  /** Pixels at the bottom that something else covers. */
  covered: () => number = () => 0;
  /** Pixels at the top that a title covers. */
  titled: () => number = () => 0;
  /** Number of frames that were drawn, for tests and measurements. */
  frames = 0;

  constructor(element: HTMLCanvasElement) {
    this.element = element;
    this.colors = palette(document.documentElement);
  }

  async show(picture: Picture): Promise<void> {
    const rows = await sliced(Rows.of(picture));
    [this.picture, this.rows, this.largestCost] = [picture, rows, rows.largestCost];
    this.draw();
  }

  /** Draws everything soon, once however often it is called. */
  draw(): void {
    this.painted = undefined;
    this.schedule();
  }

  /** Moves the picture. At the same scale only what comes into view is drawn. */
  look(view: View): void {
    if (view.scale !== this.view.scale) this.painted = undefined;
    this.view = view;
    this.schedule();
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      this.paint();
    });
  }

  /** Takes the size of the element: what is in the middle stays there, or every point stays where it is on the screen. */
  resize(isStill = false): void {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.element;
    const { left } = this.element.getBoundingClientRect();
    if (this.width > 0) this.view.x += isStill ? this.left - left : (clientWidth - this.width) / 2;
    [this.width, this.left] = [clientWidth, left];
    this.element.width = Math.max(1, Math.round(clientWidth * ratio));
    this.element.height = Math.max(1, Math.round(clientHeight * ratio));
    this.draw();
  }

  fit(): void {
    const { clientWidth } = this.element;
    const top = this.titled();
    const clientHeight = this.element.clientHeight - top;
    const { w, h } = this.picture;
    const scale = Math.min((clientWidth - 40) / Math.max(w, 1), (clientHeight - 40) / Math.max(h, 1), 1);
    // A long picture begins at its top, large enough to be read.
    const readable = Math.max(scale, Math.min(0.45, (clientWidth - 40) / Math.max(w, 1)));
    const s = Math.max(readable, 0.02);
    this.view = { scale: s, x: (clientWidth - w * s) / 2, y: top + (scale < s ? 20 : (clientHeight - h * s) / 2) };
    this.draw();
  }

  /** Moves a box into the middle of what is visible, unless it is visible; large enough to be read, unless it keeps the scale. */
  reveal(path: string, keepsScale = false): void {
    const box = this.picture.boxes.find((box) => box.path === path);
    if (!box) return;
    const { clientWidth } = this.element;
    const height = this.element.clientHeight - this.covered();
    const scale = keepsScale ? this.view.scale : Math.min(Math.max(this.view.scale, 0.6), 1.5);
    const x = this.view.x + (box.x + box.w / 2) * this.view.scale;
    const y = this.view.y + (box.y + TITLE / 2) * this.view.scale;
    // What was pointed at moves only if it must, and as little as it must.
    const margin = keepsScale ? 12 : 60;
    const half = (box.w / 2) * scale;
    if (keepsScale && 2 * half < clientWidth - 2 * EDGE && x > margin && x < clientWidth - margin) {
      const moved = Math.min(Math.max(x, half + EDGE), clientWidth - half - EDGE);
      this.view = { ...this.view, x: this.view.x + moved - x };
    }
    const isVisible = x > margin && y > 40 && x < clientWidth - margin && y < height - 40 && scale === this.view.scale;
    if (!isVisible) {
      const middle = Math.min(box.h, Math.max(height / scale - 60, 0)) / 2;
      this.view = {
        scale,
        x: clientWidth / 2 - (box.x + box.w / 2) * scale,
        y: height / 2 - (box.y + middle) * scale,
      };
    }
    this.draw();
  }

  zoom(factor: number, x: number, y: number): void {
    const scale = Math.min(Math.max(this.view.scale * factor, 0.005), 4);
    const ratio = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * ratio, y: y - (y - this.view.y) * ratio };
    this.draw();
  }

  /** The innermost box at a point of the element. */
  at(x: number, y: number): Box | undefined {
    const px = (x - this.view.x) / this.view.scale;
    const py = (y - this.view.y) / this.view.scale;
    let found: Box | undefined;
    for (const index of this.rows.boxesBetween(py, py)) {
      const box = this.picture.boxes[index];
      if (box && px >= box.x && px <= box.x + box.w && py >= box.y && py <= box.y + box.h) found = box;
    }
    return found;
  }

  /** The whole picture as an image, smaller if it is very large. */
  image(): Promise<Blob | null> {
    const { w, h } = this.picture;
    const scale = Math.min(2, MOST_PIXELS / Math.max(w + 2 * MARGIN, h + 2 * MARGIN), Math.sqrt(MOST_AREA / ((w + 2 * MARGIN) * (h + 2 * MARGIN))));
    const copy = document.createElement("canvas");
    copy.width = Math.ceil((w + 2 * MARGIN) * scale);
    copy.height = Math.ceil((h + 2 * MARGIN) * scale);
    const view = this.view;
    this.view = { x: MARGIN * scale, y: MARGIN * scale, scale };
    const context = copy.getContext("2d");
    if (context) this.paintOn(context, { x: 0, y: 0, w: copy.width, h: copy.height }, 1);
    this.view = view;
    return new Promise((resolve) => copy.toBlob(resolve, "image/png"));
  }

  private paint(): void {
    const context = this.element.getContext("2d", { alpha: false });
    if (!context) return;
    const { width, height } = this.element;
    const ratio = window.devicePixelRatio || 1;
    const at = { x: Math.round(this.view.x * ratio), y: Math.round(this.view.y * ratio) };
    const [dx, dy] = this.painted ? [at.x - this.painted.x, at.y - this.painted.y] : [width, height];
    if (Math.abs(dx) >= width || Math.abs(dy) >= height) this.paintOn(context, { x: 0, y: 0, w: width, h: height }, ratio);
    else {
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.drawImage(this.element, dx, dy);
      // What came into view: a strip at a side, and one at the top or the bottom.
      if (dx !== 0) this.paintOn(context, { x: dx > 0 ? 0 : width + dx, y: 0, w: Math.abs(dx), h: height }, ratio);
      if (dy !== 0) this.paintOn(context, { x: 0, y: dy > 0 ? 0 : height + dy, w: width, h: Math.abs(dy) }, ratio);
    }
    this.painted = at;
    this.frames += 1;
  }

  /** Paints a part of the element, which is in device pixels. */
  private paintOn(context: CanvasRenderingContext2D, part: { x: number; y: number; w: number; h: number }, ratio: number): void {
    const scale = this.view.scale * ratio;
    // Whole pixels, so that a part fits to what was painted before.
    const [x, y] = [Math.round(this.view.x * ratio), Math.round(this.view.y * ratio)];
    const region = { left: (part.x - x) / scale, top: (part.y - y) / scale, right: (part.x + part.w - x) / scale, bottom: (part.y + part.h - y) / scale };
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.beginPath();
    context.rect(part.x, part.y, part.w, part.h);
    context.clip();
    context.fillStyle = this.colors.background;
    context.fillRect(part.x, part.y, part.w, part.h);
    context.setTransform(scale, 0, 0, scale, x, y);
    this.contents(context, region);
    context.restore();
  }

  /** Draws what is in a region or reaches into it. */
  private contents(context: CanvasRenderingContext2D, { left, top, right, bottom }: Region): void {
    const { scale } = this.view;
    const boxes: Box[] = [];
    for (const index of this.rows.boxesBetween(top - OVERHANG, bottom + OVERHANG)) {
      const box = this.picture.boxes[index];
      if (box && box.x <= right + OVERHANG && box.x + box.w >= left - OVERHANG) boxes.push(box);
    }
    for (const box of boxes) if (box.isOpen) this.container(context, box);
    const lines: Line[] = [];
    const labels: Line[] = [];
    for (const index of this.rows.linesBetween(top - OVERHANG, bottom + OVERHANG)) {
      const line = this.picture.lines[index];
      if (!line) continue;
      const [from, to] = [this.rows.extents[2 * index] ?? 0, this.rows.extents[2 * index + 1] ?? 0];
      if (to >= left - OVERHANG && from <= right + OVERHANG) lines.push(line);
      const at = line.points[0] ?? 0;
      if (line.label !== undefined && at >= left - LABEL_OVERHANG && at <= right + LABEL_OVERHANG) labels.push(line);
    }
    if (scale > 0.04) this.strokes(context, lines, top - OVERHANG, bottom + OVERHANG);
    if (scale > 0.2) for (const box of boxes) if (box.isOpen) this.heading(context, box);
    for (const box of boxes) if (!box.isOpen) this.closed(context, box, scale);
    if (scale > 0.35) this.labels(context, labels);
  }

  private container(context: CanvasRenderingContext2D, box: Box): void {
    context.fillStyle = box.depth % 2 === 0 ? this.colors.group : this.colors.background;
    const isChosen = box.path === this.selected;
    context.strokeStyle = isChosen ? this.colors.accent : this.colors.border;
    context.lineWidth = isChosen ? 2.5 : 1;
    rounded(context, box.x, box.y, box.w, box.h, 8);
    context.fill();
    context.stroke();
  }

  /** The title of an open box, on the lines that enter it. */
  private heading(context: CanvasRenderingContext2D, box: Box): void {
    context.font = "600 12.5px system-ui, sans-serif";
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = box.depth % 2 === 0 ? this.colors.group : this.colors.background;
    context.strokeText(`▾ ${box.item.t}`, box.x + 10, box.y + 16);
    context.fillStyle = this.colors.ink;
    context.fillText(`▾ ${box.item.t}`, box.x + 10, box.y + 16);
  }

  private strokes(context: CanvasRenderingContext2D, lines: Line[], top: number, bottom: number): void {
    const draw = (lines: Line[], color: string, width: number): void => {
      context.strokeStyle = color;
      context.fillStyle = color;
      context.lineWidth = width;
      for (const isDashed of [false, true]) {
        context.setLineDash(isDashed ? [4, 3] : []);
        for (const line of lines) {
          if (line.isDashed !== isDashed) continue;
          context.beginPath();
          // The dashes of a line begin at its end.
          if (isDashed) trace(context, line.points, -Infinity, Infinity);
          else trace(context, line.points, top, bottom);
          context.stroke();
        }
      }
      context.setLineDash([]);
      if (this.view.scale <= 0.25) return;
      context.beginPath();
      for (const { points, hasArrow } of lines) {
        const [x, y] = [points.at(-2) ?? 0, points.at(-1) ?? 0];
        if (!hasArrow || y < top || y - 6 > bottom) continue;
        context.moveTo(x - 3, y - 6);
        context.lineTo(x + 3, y - 6);
        context.lineTo(x, y);
      }
      context.fill();
    };
    const isChosen = (line: Line): boolean => line.from === this.selected || line.to === this.selected;
    draw(this.selected ? lines.filter((line) => !isChosen(line)) : lines, this.colors.line, 1.2);
    if (this.selected) draw(lines.filter(isChosen), this.colors.accent, 2);
  }

  private closed(context: CanvasRenderingContext2D, box: Box, scale: number): void {
    const { item } = box;
    if (item.k === "arriving" || item.k === "leaving") {
      if (scale < 0.15) return;
      context.fillStyle = box.path === this.selected ? this.colors.accent : this.colors.line;
      context.beginPath();
      context.arc(box.x + box.w / 2, box.y + box.h / 2, 2.5, 0, 2 * Math.PI);
      context.fill();
      return;
    }
    const isPort = item.k === "input" || item.k === "output";
    context.fillStyle = isPort ? this.colors.port : this.fill(item, box.path);
    const isChosen = box.path === this.selected;
    const isMarked = this.marked.has(box.path);
    context.strokeStyle = isChosen ? this.colors.accent : isMarked ? this.colors.mark : this.colors.border;
    context.lineWidth = isChosen ? 2.5 : isMarked ? 2.5 : 1;
    if (scale < 0.12) {
      context.fillRect(box.x, box.y, box.w, box.h);
      if (isChosen || isMarked) {
        context.lineWidth = 2 / scale;
        context.strokeRect(box.x, box.y, box.w, box.h);
      }
      return;
    }
    rounded(context, box.x, box.y, box.w, box.h, isPort ? box.h / 2 : 5);
    context.fill();
    context.stroke();
    if (scale > 0.2) {
      context.fillStyle = this.colors.ink;
      context.font = "12.5px system-ui, sans-serif";
      const marker = item.in === undefined ? "" : "▸ ";
      context.fillText(`${marker}${item.t}`, box.x + 11, box.y + 16, box.w - 14);
    }
    if (scale > 0.35) {
      context.fillStyle = this.colors.faint;
      context.font = "10.5px system-ui, sans-serif";
      item.l?.forEach((line, index) => context.fillText(line, box.x + 11, box.y + TITLE + 14 * index + 9, box.w - 14));
    }
    if (item.s) {
      context.fillStyle = item.s === "error" ? "#c62828" : item.s === "warning" ? "#e08a00" : "#3f7fc4";
      context.beginPath();
      context.arc(box.x + box.w - 2, box.y + 2, 5, 0, 2 * Math.PI);
      context.fill();
    }
  }

  private labels(context: CanvasRenderingContext2D, lines: Line[]): void {
    context.font = "10.5px system-ui, sans-serif";
    context.textAlign = "center";
    context.lineWidth = 3;
    context.lineJoin = "round";
    for (const line of lines) {
      const [x, y] = [line.points[0] ?? 0, (line.points[1] ?? 0) - 3];
      if (line.label === undefined) continue;
      context.strokeStyle = this.colors.background;
      context.strokeText(line.label, x, y);
      context.fillStyle = this.colors.faint;
      context.fillText(line.label, x, y);
    }
    context.textAlign = "start";
  }

  private fill(item: Item, path: string): string {
    const { dark } = this.colors;
    const pastel = (hue: number): string => `hsl(${hue} ${dark ? 28 : 62}% ${dark ? 30 : 88}%)`;
    switch (this.coloring) {
      case "type":
        return item.k === "group" ? this.colors.box : pastel(hueOf(item.t));
      case "scope":
        return pastel((Number(path.split("/")[0]) * 137.5) % 360);
      case "cost": {
        if (item.c === undefined || this.largestCost === 0) return this.colors.box;
        const part = Math.sqrt(Math.min(item.c / this.largestCost, 1));
        return dark ? `hsl(24 ${70 * part}% ${20 + 25 * part}%)` : `hsl(26 ${90 * part}% ${100 - 42 * part}%)`;
      }
      case "findings":
        return item.s === "error" ? pastel(2) : item.s === "warning" ? pastel(40) : this.colors.box;
      case "diff":
        return item.d === "added" ? pastel(130) : item.d === "removed" ? pastel(2) : item.d === "changed" ? pastel(40) : this.colors.box;
    }
  }
}

/** The hues of the operators that were drawn. */
const hues = new Map<string, number>();

/** A hue that depends on the letters of an operator only. */
function hueOf(name: string): number {
  const known = hues.get(name);
  if (known !== undefined) return known;
  let hash = 2166136261;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
  const hue = (hash % 24) * 15;
  hues.set(name, hue);
  return hue;
}

function rounded(context: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, r: number): void {
  context.beginPath();
  context.roundRect(x, y, w, h, r);
}

/** The parts of a line between two heights. Each part lies between the heights of its ends. */
function trace(context: CanvasRenderingContext2D, points: number[], top: number, bottom: number): void {
  let [x, y] = [points[0] ?? 0, points[1] ?? 0];
  let isAt = false;
  for (let index = 2; index < points.length; index += 2) {
    const [nextX, nextY] = [points[index] ?? 0, points[index + 1] ?? 0];
    const isVisible = Math.max(y, nextY) >= top && Math.min(y, nextY) <= bottom;
    if (isVisible) {
      if (!isAt) context.moveTo(x, y);
      if (Math.abs(nextX - x) < 0.5) context.lineTo(nextX, nextY);
      else context.bezierCurveTo(x, (y + nextY) / 2, nextX, (y + nextY) / 2, nextX, nextY);
    }
    isAt = isVisible;
    [x, y] = [nextX, nextY];
  }
}
