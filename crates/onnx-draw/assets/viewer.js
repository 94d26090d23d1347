// Generated from web/src by `npm run build` in web.
"use strict";
(() => {
  // src/compose.ts
  var TITLE = 24;
  var PADDING = 12;
  var STUB = 14;
  var LABEL = 14;
  function compose(root2, levels, open) {
    const level = levels.get(root2);
    const picture = { w: 0, h: 0, boxes: [], lines: [] };
    if (!level) return picture;
    const placed = place(root2, level, "", levels, open, 0);
    picture.w = placed.w;
    picture.h = placed.h;
    emit(placed, "", 0, 0, 0, picture);
    return picture;
  }
  var inner = (path, index) => path ? `${path}/${index}` : String(index);
  function place(id, level, path, levels, open, depth) {
    const width = level.items.map((item) => item.w);
    const height = level.items.map((item) => item.h);
    const children = /* @__PURE__ */ new Map();
    level.items.forEach((item, index) => {
      const inside = item.in === void 0 ? void 0 : levels.get(item.in);
      if (!inside || item.in === void 0 || depth > 60 || !open.has(inner(path, index))) return;
      const child = place(item.in, inside, inner(path, index), levels, open, depth + 1);
      children.set(index, child);
      width[index] = Math.max(item.w, child.w + 2 * PADDING);
      height[index] = child.h + TITLE + 2 * PADDING;
    });
    const wider = /* @__PURE__ */ new Map();
    const higher = level.bands.map(() => 0);
    for (const index of children.keys()) {
      const item = level.items[index];
      const band = level.bands[item.r] ?? [0, 0];
      const rank = wider.get(item.r) ?? [];
      rank.push({ left: item.x, right: item.x + item.w, more: (width[index] ?? 0) - item.w });
      wider.set(item.r, rank);
      higher[item.r] = Math.max(higher[item.r] ?? 0, item.y + (height[index] ?? 0) - band[1]);
    }
    const shift = (rank, x2) => {
      let sum = 0;
      for (const { left: left2, right: right2, more } of wider.get(rank) ?? []) {
        const part = right2 > left2 ? Math.min(Math.max((x2 - left2) / (right2 - left2), 0), 1) : 0.5;
        sum += (part - 0.5) * more;
      }
      return sum;
    };
    const tops = [];
    const bottoms = [];
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
      shiftOf: shiftOf.map((value) => value - left)
    };
  }
  function emit(placed, path, left, top, depth, picture) {
    placed.level.items.forEach((item, index) => {
      const x = left + (placed.x[index] ?? 0);
      const y = top + (placed.y[index] ?? 0);
      const [w, h] = [placed.width[index] ?? 0, placed.height[index] ?? 0];
      const child = placed.children.get(index);
      const own = inner(path, index);
      picture.boxes.push({ item, level: placed.id, index, path: own, depth, x, y, w, h, isOpen: child !== void 0 });
      if (child) emit(child, own, x + (w - child.w) / 2, y + TITLE + PADDING, depth + 1, picture);
    });
    const begin = (edge) => `${edge.f} ${edge.a}`;
    const labeled = new Set(placed.level.edges.filter((edge) => edge.label !== void 0).map(begin));
    for (const edge of placed.level.edges) emitEdge(placed, edge, labeled.has(begin(edge)), path, left, top, picture.lines);
  }
  function emitEdge(placed, edge, isLabeled, path, left, top, lines) {
    const at = (x, y) => [left + x, top + y];
    const start2 = edge.a + (placed.shiftOf[edge.f] ?? 0);
    const end = edge.b + (placed.shiftOf[edge.t] ?? 0);
    const startY = (placed.y[edge.f] ?? 0) + (placed.height[edge.f] ?? 0);
    const below = startY + (isLabeled ? LABEL : 0);
    const endY = placed.y[edge.t] ?? 0;
    const target = placed.level.items[edge.t];
    const hasArrow = target?.k !== "arriving" && target?.k !== "leaving";
    const [from, to] = [inner(path, edge.f), inner(path, edge.t)];
    const line = (points, isDashed, hasArrow2, label) => {
      lines.push({ points, isDashed, hasArrow: hasArrow2, from, to, ...label === void 0 ? {} : { label } });
    };
    if (edge.cut || edge.back) {
      line([...at(start2, below), ...at(start2, below + STUB)], true, false, edge.label);
      line([...at(end, endY - STUB), ...at(end, endY)], true, hasArrow);
    } else {
      const rank = placed.level.items[edge.f]?.r ?? 0;
      const points = [...at(start2, below), ...at(start2, Math.max((placed.bottoms[rank] ?? 0) + 2, below))];
      for (const [rank2, x] of edge.via ?? []) {
        const moved = placed.moved(rank2, x);
        points.push(...at(moved, placed.tops[rank2] ?? 0), ...at(moved, placed.bottoms[rank2] ?? 0));
      }
      points.push(...at(end, endY));
      line(points, false, hasArrow, edge.label);
    }
    for (const [index, isStart, x, y] of [
      [edge.f, true, start2, startY],
      [edge.t, false, end, endY]
    ]) {
      const child = placed.children.get(index);
      if (!child) continue;
      const originX = (placed.x[index] ?? 0) + ((placed.width[index] ?? 0) - child.w) / 2;
      const originY = (placed.y[index] ?? 0) + TITLE + PADDING;
      const done = /* @__PURE__ */ new Set();
      for (const value of edge.v) {
        const port = child.level.items.findIndex(
          (item) => (isStart ? item.k === "leaving" || item.k === "output" : item.k === "arriving" || item.k === "input") && item.v?.includes(value)
        );
        if (port < 0 || done.has(port)) continue;
        done.add(port);
        const px = originX + (child.x[port] ?? 0) + (child.width[port] ?? 0) / 2;
        const py = originY + (child.y[port] ?? 0) + (isStart ? child.height[port] ?? 0 : 0);
        line(isStart ? [...at(px, py), ...at(x, y)] : [...at(x, y), ...at(px, py)], false, false);
      }
    }
  }

  // src/canvas.ts
  var ROW = 400;
  var MOST_ROWS = 64;
  var MOST_PIXELS = 16e3;
  var MOST_AREA = 1e8;
  var MARGIN = 16;
  var OVERHANG = 16;
  var LABEL_OVERHANG = 200;
  function palette(element2) {
    const style = getComputedStyle(element2);
    const color = (name) => style.getPropertyValue(name).trim();
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
      dark: color("--dark") === "1"
    };
  }
  var Rows = class _Rows {
    /** The leftmost and the rightmost place of each line. */
    extents;
    boxes = /* @__PURE__ */ new Map();
    lines = /* @__PURE__ */ new Map();
    long = [];
    constructor(picture) {
      const add2 = (map, from, to, index) => {
        for (let row = Math.floor(from / ROW); row <= Math.floor(to / ROW); row += 1) {
          const list = map.get(row);
          if (list) list.push(index);
          else map.set(row, [index]);
        }
      };
      this.extents = new Float64Array(2 * picture.lines.length);
      picture.boxes.forEach((box, index) => add2(this.boxes, box.y, box.y + box.h, index));
      picture.lines.forEach((line, index) => {
        let [left, right] = [Infinity, -Infinity];
        for (let at = 0; at < line.points.length; at += 2) {
          left = Math.min(left, line.points[at] ?? 0);
          right = Math.max(right, line.points[at] ?? 0);
        }
        this.extents[2 * index] = left;
        this.extents[2 * index + 1] = right;
        const [from, to] = [line.points[1] ?? 0, line.points.at(-1) ?? 0];
        if ((to - from) / ROW > MOST_ROWS) this.long.push(index);
        else add2(this.lines, Math.min(from, to) - OVERHANG, Math.max(from, to), index);
      });
    }
    static found(map, top, bottom) {
      const [first, last] = [Math.floor(top / ROW), Math.floor(bottom / ROW)];
      const found = /* @__PURE__ */ new Set();
      if (last - first > map.size) {
        for (const [row, list] of map) if (row >= first && row <= last) for (const index of list) found.add(index);
      } else {
        for (let row = first; row <= last; row += 1) for (const index of map.get(row) ?? []) found.add(index);
      }
      return [...found].sort((a, b) => a - b);
    }
    boxesBetween(top, bottom) {
      return _Rows.found(this.boxes, top, bottom);
    }
    linesBetween(top, bottom) {
      return [...this.long, ..._Rows.found(this.lines, top, bottom)];
    }
  };
  var Canvas = class {
    element;
    view = { x: 0, y: 0, scale: 1 };
    picture = { w: 0, h: 0, boxes: [], lines: [] };
    coloring = "type";
    selected = "";
    marked = /* @__PURE__ */ new Set();
    colors;
    rows = new Rows(this.picture);
    isScheduled = false;
    /** Where the picture is on the element, in device pixels, unless all of it must be painted. */
    painted;
    largestCost = 0;
    width = 0;
    left = 0;
    /** Pixels at the bottom that something else covers. */
    covered = () => 0;
    /** Number of frames that were drawn, for tests and measurements. */
    frames = 0;
    constructor(element2) {
      this.element = element2;
      this.colors = palette(document.documentElement);
    }
    show(picture) {
      this.picture = picture;
      this.rows = new Rows(picture);
      this.largestCost = 0;
      for (const box of picture.boxes) if (!box.isOpen) this.largestCost = Math.max(this.largestCost, box.item.c ?? 0);
      this.draw();
    }
    /** Draws everything soon, once however often it is called. */
    draw() {
      this.painted = void 0;
      this.schedule();
    }
    /** Moves the picture. At the same scale only what comes into view is drawn. */
    look(view) {
      if (view.scale !== this.view.scale) this.painted = void 0;
      this.view = view;
      this.schedule();
    }
    schedule() {
      if (this.isScheduled) return;
      this.isScheduled = true;
      requestAnimationFrame(() => {
        this.isScheduled = false;
        this.paint();
      });
    }
    /** Takes the size of the element: what is in the middle stays there, or every point stays where it is on the screen. */
    resize(isStill = false) {
      const ratio = window.devicePixelRatio || 1;
      const { clientWidth, clientHeight } = this.element;
      const { left } = this.element.getBoundingClientRect();
      if (this.width > 0) this.view.x += isStill ? this.left - left : (clientWidth - this.width) / 2;
      [this.width, this.left] = [clientWidth, left];
      this.element.width = Math.max(1, Math.round(clientWidth * ratio));
      this.element.height = Math.max(1, Math.round(clientHeight * ratio));
      this.draw();
    }
    fit() {
      const { clientWidth, clientHeight } = this.element;
      const { w, h } = this.picture;
      const scale = Math.min((clientWidth - 40) / Math.max(w, 1), (clientHeight - 40) / Math.max(h, 1), 1);
      const readable = Math.max(scale, Math.min(0.45, (clientWidth - 40) / Math.max(w, 1)));
      const s = Math.max(readable, 0.02);
      this.view = { scale: s, x: (clientWidth - w * s) / 2, y: scale < s ? 20 : (clientHeight - h * s) / 2 };
      this.draw();
    }
    /** Moves a box into the middle of what is visible, unless it is visible; large enough to be read, unless it keeps the scale. */
    reveal(path, keepsScale = false) {
      const box = this.picture.boxes.find((box2) => box2.path === path);
      if (!box) return;
      const { clientWidth } = this.element;
      const height = this.element.clientHeight - this.covered();
      const scale = keepsScale ? this.view.scale : Math.min(Math.max(this.view.scale, 0.6), 1.5);
      const x = this.view.x + (box.x + box.w / 2) * this.view.scale;
      const y = this.view.y + (box.y + TITLE / 2) * this.view.scale;
      const margin = keepsScale ? 12 : 60;
      const isVisible = x > margin && y > 40 && x < clientWidth - margin && y < height - 40 && scale === this.view.scale;
      if (!isVisible) {
        const middle = Math.min(box.h, Math.max(height / scale - 60, 0)) / 2;
        this.view = {
          scale,
          x: clientWidth / 2 - (box.x + box.w / 2) * scale,
          y: height / 2 - (box.y + middle) * scale
        };
      }
      this.draw();
    }
    zoom(factor, x, y) {
      const scale = Math.min(Math.max(this.view.scale * factor, 5e-3), 4);
      const ratio = scale / this.view.scale;
      this.view = { scale, x: x - (x - this.view.x) * ratio, y: y - (y - this.view.y) * ratio };
      this.draw();
    }
    /** The innermost box at a point of the element. */
    at(x, y) {
      const px = (x - this.view.x) / this.view.scale;
      const py = (y - this.view.y) / this.view.scale;
      let found;
      for (const index of this.rows.boxesBetween(py, py)) {
        const box = this.picture.boxes[index];
        if (box && px >= box.x && px <= box.x + box.w && py >= box.y && py <= box.y + box.h) found = box;
      }
      return found;
    }
    /** The whole picture as an image, smaller if it is very large. */
    image() {
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
    paint() {
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
        if (dx !== 0) this.paintOn(context, { x: dx > 0 ? 0 : width + dx, y: 0, w: Math.abs(dx), h: height }, ratio);
        if (dy !== 0) this.paintOn(context, { x: 0, y: dy > 0 ? 0 : height + dy, w: width, h: Math.abs(dy) }, ratio);
      }
      this.painted = at;
      this.frames += 1;
    }
    /** Paints a part of the element, which is in device pixels. */
    paintOn(context, part, ratio) {
      const scale = this.view.scale * ratio;
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
    contents(context, { left, top, right, bottom }) {
      const { scale } = this.view;
      const boxes = [];
      for (const index of this.rows.boxesBetween(top - OVERHANG, bottom + OVERHANG)) {
        const box = this.picture.boxes[index];
        if (box && box.x <= right + OVERHANG && box.x + box.w >= left - OVERHANG) boxes.push(box);
      }
      for (const box of boxes) if (box.isOpen) this.container(context, box);
      const lines = [];
      const labels = [];
      for (const index of this.rows.linesBetween(top - OVERHANG, bottom + OVERHANG)) {
        const line = this.picture.lines[index];
        if (!line) continue;
        const [from, to] = [this.rows.extents[2 * index] ?? 0, this.rows.extents[2 * index + 1] ?? 0];
        if (to >= left - OVERHANG && from <= right + OVERHANG) lines.push(line);
        const at = line.points[0] ?? 0;
        if (line.label !== void 0 && at >= left - LABEL_OVERHANG && at <= right + LABEL_OVERHANG) labels.push(line);
      }
      if (scale > 0.04) this.strokes(context, lines, top - OVERHANG, bottom + OVERHANG);
      if (scale > 0.2) {
        for (const box of boxes) if (box.isOpen) this.heading(context, box);
      }
      for (const box of boxes) if (!box.isOpen) this.closed(context, box, scale);
      if (scale > 0.35) this.labels(context, labels);
    }
    container(context, box) {
      context.fillStyle = box.depth % 2 === 0 ? this.colors.group : this.colors.background;
      const isChosen = box.path === this.selected;
      context.strokeStyle = isChosen ? this.colors.accent : this.colors.border;
      context.lineWidth = isChosen ? 2.5 : 1;
      rounded(context, box.x, box.y, box.w, box.h, 8);
      context.fill();
      context.stroke();
    }
    /** The title of an open box, on the lines that enter it. */
    heading(context, box) {
      context.font = "600 12.5px system-ui, sans-serif";
      context.lineJoin = "round";
      context.lineWidth = 4;
      context.strokeStyle = box.depth % 2 === 0 ? this.colors.group : this.colors.background;
      context.strokeText(`▾ ${box.item.t}`, box.x + 10, box.y + 16);
      context.fillStyle = this.colors.ink;
      context.fillText(`▾ ${box.item.t}`, box.x + 10, box.y + 16);
    }
    strokes(context, lines, top, bottom) {
      const draw = (lines2, color, width) => {
        context.strokeStyle = color;
        context.fillStyle = color;
        context.lineWidth = width;
        for (const isDashed of [false, true]) {
          context.setLineDash(isDashed ? [4, 3] : []);
          for (const line of lines2) {
            if (line.isDashed !== isDashed) continue;
            context.beginPath();
            if (isDashed) trace(context, line.points, -Infinity, Infinity);
            else trace(context, line.points, top, bottom);
            context.stroke();
          }
        }
        context.setLineDash([]);
        if (this.view.scale <= 0.25) return;
        context.beginPath();
        for (const { points, hasArrow } of lines2) {
          const [x, y] = [points.at(-2) ?? 0, points.at(-1) ?? 0];
          if (!hasArrow || y < top || y - 6 > bottom) continue;
          context.moveTo(x - 3, y - 6);
          context.lineTo(x + 3, y - 6);
          context.lineTo(x, y);
        }
        context.fill();
      };
      const isChosen = (line) => line.from === this.selected || line.to === this.selected;
      draw(this.selected ? lines.filter((line) => !isChosen(line)) : lines, this.colors.line, 1.2);
      if (this.selected) draw(lines.filter(isChosen), this.colors.accent, 2);
    }
    closed(context, box, scale) {
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
        const marker = item.in === void 0 ? "" : "▸ ";
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
    labels(context, lines) {
      context.font = "10.5px system-ui, sans-serif";
      context.textAlign = "center";
      context.lineWidth = 3;
      context.lineJoin = "round";
      for (const line of lines) {
        const [x, y] = [line.points[0] ?? 0, (line.points[1] ?? 0) - 3];
        if (line.label === void 0) continue;
        context.strokeStyle = this.colors.background;
        context.strokeText(line.label, x, y);
        context.fillStyle = this.colors.faint;
        context.fillText(line.label, x, y);
      }
      context.textAlign = "start";
    }
    fill(item, path) {
      const { dark } = this.colors;
      const pastel = (hue) => `hsl(${hue} ${dark ? 28 : 62}% ${dark ? 30 : 88}%)`;
      switch (this.coloring) {
        case "type":
          return item.k === "group" ? this.colors.box : pastel(hueOf(item.t));
        case "scope":
          return pastel(Number(path.split("/")[0]) * 137.5 % 360);
        case "cost": {
          if (item.c === void 0 || this.largestCost === 0) return this.colors.box;
          const part = Math.sqrt(Math.min(item.c / this.largestCost, 1));
          return dark ? `hsl(24 ${70 * part}% ${20 + 25 * part}%)` : `hsl(26 ${90 * part}% ${100 - 42 * part}%)`;
        }
        case "findings":
          return item.s === "error" ? pastel(2) : item.s === "warning" ? pastel(40) : this.colors.box;
        case "diff":
          return item.d === "added" ? pastel(130) : item.d === "removed" ? pastel(2) : item.d === "changed" ? pastel(40) : this.colors.box;
      }
    }
  };
  function hueOf(name) {
    let hash = 2166136261;
    for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
    return hash % 24 * 15;
  }
  function rounded(context, x, y, w, h, r) {
    context.beginPath();
    context.roundRect(x, y, w, h, r);
  }
  function trace(context, points, top, bottom) {
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

  // src/dom.ts
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.filter((child) => child !== void 0));
    return made;
  }
  function button(text2, onClick, attributes = {}) {
    const made = element("button", { type: "button", ...attributes }, text2);
    made.addEventListener("click", onClick);
    return made;
  }
  function picks(input, take) {
    input.addEventListener("change", () => {
      const files = [...input.files ?? []];
      input.value = "";
      if (files.length > 0) take(files);
    });
  }
  var LONG = 16;
  function breakable(text2) {
    if (text2.length < LONG) return document.createTextNode(text2);
    const made = document.createDocumentFragment();
    for (const part of text2.split(/(?<=[/._*+,)×])/)) made.append(part, element("wbr"));
    return made;
  }
  function table(rows, head, numbers = []) {
    const kind = (index) => numbers.includes(index) ? { class: "number" } : {};
    const made = element("table");
    const body = element("tbody");
    for (const row of rows) {
      body.append(element("tr", {}, ...row.map((cell, index) => element("td", kind(index), typeof cell === "string" ? breakable(cell) : cell))));
    }
    if (head) {
      const cells = head.map((text2, index) => {
        const cell = element("th", { scope: "col", ...kind(index) });
        cell.append(button(text2, () => sort(body, cell, index, numbers.includes(index)), { class: "sort" }));
        return cell;
      });
      made.append(element("thead", {}, element("tr", {}, ...cells)));
    }
    made.append(body);
    return made;
  }
  function sort(body, head, column, isNumber) {
    const first = isNumber ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? isNumber ? "ascending" : "descending" : first;
    for (const other of head.parentElement?.children ?? []) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const text2 = (row) => row.children[column]?.textContent ?? "";
    const number = (row) => {
      const found = /^-?[\d.]+(e[+-]?\d+)?/i.exec(text2(row).replace(/[\s\u202f]/g, ""));
      return found ? Number(found[0]) : -Infinity;
    };
    const compare = isNumber ? (a, b) => number(a) - number(b) : (a, b) => text2(a).localeCompare(text2(b), "en", { numeric: true });
    const sign = order === "ascending" ? 1 : -1;
    body.append(...[...body.children].sort((a, b) => sign * compare(a, b)));
  }
  function download(name, contents, type) {
    const url = URL.createObjectURL(new Blob([contents], { type }));
    element("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 6e4);
  }

  // src/model.ts
  var Restored = class extends Error {
  };

  // src/workers.ts
  var Thread = class {
    worker;
    waiting = /* @__PURE__ */ new Map();
    lost;
    next = 0;
    ended;
    /** `lost` makes the error of what the worker was asked when it lost its session. */
    constructor(url, module, lost) {
      this.lost = lost;
      this.worker = new Worker(url);
      this.worker.onmessage = ({ data }) => {
        if (data.isLost) {
          this.fail(data.error ?? "");
          return;
        }
        const entry = this.waiting.get(data.id);
        this.waiting.delete(data.id);
        if (data.error === void 0) entry?.resolve(data.value);
        else entry?.reject(new Error(data.error));
      };
      this.worker.onerror = (event) => {
        event.preventDefault();
        this.fail(event.message || "the worker ended");
      };
      this.ask("module", module).catch(() => void 0);
    }
    ask(kind, value) {
      return new Promise((resolve, reject) => {
        if (this.ended) {
          reject(this.ended);
          return;
        }
        this.next += 1;
        this.waiting.set(this.next, { resolve, reject });
        this.worker.postMessage({ id: this.next, kind, value });
      });
    }
    get isBusy() {
      return this.waiting.size > 0;
    }
    end(reason) {
      this.worker.terminate();
      this.ended ??= reason;
      for (const entry of this.waiting.values()) entry.reject(reason);
      this.waiting.clear();
    }
    fail(reason) {
      if (!this.ended) this.end(this.lost(reason));
    }
  };
  async function load(url) {
    const asked = async (name) => {
      const response = await fetch(new URL(name, location.href)).catch(() => {
        throw new Error(`${name} could not be loaded: is the network or the server gone?`);
      });
      if (!response.ok) throw new Error(`${name} could not be loaded: status ${response.status}`);
      return response;
    };
    const [script, library] = await Promise.all([asked(url), asked("onnx.wasm")]);
    const isTyped = library.headers.get("content-type")?.startsWith("application/wasm");
    const module = isTyped ? WebAssembly.compileStreaming(library) : WebAssembly.compile(await library.arrayBuffer());
    return { script: URL.createObjectURL(new Blob([await script.text()], { type: "text/javascript" })), module: await module };
  }
  var Workers = class {
    url;
    loading;
    parts;
    /** Ends opening. */
    stop;
    active;
    /** What the session of `active` comes from: files, and the requests that changed the model. */
    files;
    changes = [];
    constructor(url) {
      this.url = url;
      this.load().catch(() => void 0);
    }
    load() {
      this.loading ??= load(this.url);
      this.loading.catch(() => {
        this.loading = void 0;
      });
      return this.loading;
    }
    thread({ script, module }) {
      const made = new Thread(script, module, (reason) => made === this.active ? this.restore(reason) : new Error(reason));
      return made;
    }
    async open(model, older) {
      let made;
      let isStopped = false;
      const stopped = new Promise((_, reject) => {
        this.stop = reject;
      });
      const opened = async () => {
        this.parts = await this.load();
        if (isStopped) throw new Error("cancelled");
        made = this.thread(this.parts);
        await made.ask("open", { model, older });
        return made;
      };
      try {
        const thread = await Promise.race([opened(), stopped]);
        this.active?.end(new Error("another model is open"));
        [this.active, this.files, this.changes] = [thread, { model, older }, []];
      } catch (error) {
        isStopped = true;
        made?.end(new Error("the model was not opened"));
        throw error;
      } finally {
        this.stop = void 0;
      }
    }
    async older(older) {
      await this.ask("older", older);
      if (this.files) this.files.older = older;
    }
    async call(request) {
      const text2 = JSON.stringify(request);
      const answer = JSON.parse(await this.ask("call", text2));
      const name = request.call;
      if (name === "undo" && answer.ok) this.changes.pop();
      else if ((answer.ok?.edits?.length ?? 0) > 0) this.changes.push(text2);
      if (name === "single" && this.files) this.files.older = void 0;
      return answer;
    }
    async save() {
      return await this.ask("save", null);
    }
    cancel() {
      if (this.stop) this.stop(new Error("cancelled"));
      else if (this.active?.isBusy) this.active.end(this.restore("cancelled"));
    }
    ask(kind, value) {
      return this.active?.ask(kind, value) ?? Promise.reject(new Error("no model is open"));
    }
    /** Opens the same files in another worker, and makes the same changes. What is asked meanwhile is answered after that. */
    restore(reason) {
      if (!this.parts || !this.files) return new Error(reason);
      const { changes: changes2 } = this;
      const made = new Thread(this.parts.script, this.parts.module, (again) => new Error(`${again}; open the file again`));
      this.active = made;
      const requests = [["open", this.files], ...changes2.map((text2) => ["call", text2])];
      for (const [kind, value] of requests) made.ask(kind, value).catch(() => void 0);
      return new Restored(`${reason}: the model is as it was before`);
    }
  };

  // src/engines.ts
  var MOST_HITS = 500;
  function embedded(element2) {
    const data = JSON.parse(element2.textContent ?? "");
    const { levels, parents, nodes } = data.scene;
    return {
      overview: () => Promise.resolve({
        title: data.title,
        coloring: data.coloring,
        parents,
        facts: [["nodes", String(nodes.length)]],
        undo: 0
      }),
      level(id) {
        const level = levels[id];
        return level ? Promise.resolve(level) : Promise.reject(new Error(`no level ${id}`));
      },
      search(text2) {
        const word = text2.toLowerCase();
        const hits = [];
        let count = 0;
        for (const [name, op, level, item] of nodes) {
          if (!name.toLowerCase().includes(word) && !op.toLowerCase().includes(word)) continue;
          count += 1;
          if (hits.length < MOST_HITS) hits.push({ label: name ? `${op}  ${name}` : op, level, item });
        }
        return Promise.resolve({ count, hits });
      }
    };
  }
  function session(transport) {
    const call = async (request) => {
      const answer = await transport.call(request);
      if (answer.error !== void 0) throw new Error(answer.error);
      return answer.ok;
    };
    const engine = {
      overview: (side = 0) => call({ call: "overview", side }),
      level: (id, side = 0) => call({ call: "level", id, side }),
      search: (text2, side = 0) => call({ call: "search", text: text2, side }),
      path: (from, to, side = 0) => call({ call: "path", from, to, side }),
      details: (level, item, side = 0) => call({ call: "details", level, item, side }),
      weight: (level, item, input, side = 0) => call({ call: "weight", level, item, input, side }),
      findings: (side = 0) => call({ call: "findings", side }),
      repair: () => call({ call: "repair" }),
      cost: (sizes, side = 0) => call({ call: "cost", sizes, side }),
      simplify: (prove = false) => call({ call: "simplify", prove }),
      versions: () => call({ call: "versions" }),
      convert: (version) => call({ call: "convert", version }),
      extract: (level, item) => call({ call: "extract", level, item }),
      undo: () => call({ call: "undo" }),
      text: (level, item, side = 0) => call({ call: "text", level, item, side }),
      run: (sizes, seed) => call({ call: "run", sizes, seed }),
      labels: (level) => call({ call: "labels", level }),
      compare: () => call({ call: "compare" }),
      before: () => call({ call: "before" }),
      single: () => call({ call: "single" }),
      counterpart: (level, item, from) => call({ call: "counterpart", level, item, from }),
      picture: (open, color, side = 0) => call({ call: "picture", open, color, side }),
      save: () => transport.save()
    };
    if (transport.open) engine.open = (model, older) => transport.open?.(model, older) ?? Promise.resolve();
    if (transport.older) engine.older = (older) => transport.older?.(older) ?? Promise.resolve();
    if (transport.cancel) engine.cancel = () => transport.cancel?.();
    return engine;
  }
  function remote(base) {
    const ask = async (path, options = {}) => {
      let response;
      try {
        response = await fetch(`${base}${path}`, options);
      } catch {
        throw new Error("`onnx view` does not answer: it was ended. Start it again with the same files, and open the address that it prints; changes that were not saved are lost");
      }
      if (response.ok) return response;
      const reason = (await response.text().catch(() => "")).trim();
      throw new Error(reason && reason !== String(response.status) ? reason : `\`onnx view\` refused the request with status ${response.status}: reload the page`);
    };
    return session({
      call: async (request) => (await ask("call", { method: "POST", body: JSON.stringify(request) })).json(),
      save: async () => new Uint8Array(await (await ask("model")).arrayBuffer())
    });
  }
  function worker(url) {
    return session(new Workers(url));
  }

  // src/zip.ts
  async function archived(file, folder, most) {
    const tail = new DataView(await file.slice(Math.max(0, file.size - 65557)).arrayBuffer());
    let at = tail.byteLength - 22;
    while (at >= 0 && tail.getUint32(at, true) !== 101010256) at -= 1;
    if (at < 0) throw new Error("this is not a zip archive, or it is damaged");
    const [count, length, start2] = [tail.getUint16(at + 10, true), tail.getUint32(at + 12, true), tail.getUint32(at + 16, true)];
    if (start2 === 4294967295 || count === 65535) throw new Error("archives beyond 4 GB or of more than 65,534 files are not read: unpack it, and drop the folder");
    if (count > most) throw new Error(`the archive has ${count} files, more than the ${most} that are read: unpack it, and drop the model with its external data`);
    const directory = new DataView(await file.slice(start2, start2 + length).arrayBuffer());
    const decoder = new TextDecoder();
    const sources = [];
    let entry = 0;
    for (let index = 0; index < count; index += 1) {
      if (entry + 46 > directory.byteLength || directory.getUint32(entry, true) !== 33639248) throw new Error("the zip archive is damaged");
      const [flags, method] = [directory.getUint16(entry + 8, true), directory.getUint16(entry + 10, true)];
      const [packed, size] = [directory.getUint32(entry + 20, true), directory.getUint32(entry + 24, true)];
      const [name, extra, comment] = [directory.getUint16(entry + 28, true), directory.getUint16(entry + 30, true), directory.getUint16(entry + 32, true)];
      const offset = directory.getUint32(entry + 42, true);
      if (entry + 46 + name > directory.byteLength) throw new Error("the zip archive is damaged");
      const path = decoder.decode(new Uint8Array(directory.buffer, entry + 46, name));
      entry += 46 + name + extra + comment;
      if (path.endsWith("/") || path.startsWith("__MACOSX/")) continue;
      sources.push({ path: folder + path, size, file, entry: { offset, packed, method, isEncrypted: (flags & 1) === 1 } });
    }
    return sources;
  }

  // src/files.ts
  var MODEL = /\.(onnx|onnxtxt|ort|pb|textproto|pbtxt|prototxt|json)$/i;
  var MOST_FILES = 2e4;
  function models(sources) {
    const found = sources.filter((source) => MODEL.test(source.path));
    const onnx = found.filter((source) => /\.onnx(txt)?$/i.test(source.path));
    return onnx.length > 0 ? onnx : found.length > 0 ? found : sources.length === 1 ? sources : [];
  }
  function beside(model, sources) {
    const folder = model.path.slice(0, model.path.lastIndexOf("/") + 1);
    const data = /* @__PURE__ */ new Map();
    for (const source of sources) {
      if (source !== model && source.size > 0 && source.path.startsWith(folder)) data.set(source.path.slice(folder.length), source);
    }
    return { name: model.path.slice(folder.length), model, data };
  }
  function ofFile(file, path) {
    return { path, size: file.size, file };
  }
  async function chosen(files) {
    const sources = [];
    for (const file of files) await add(sources, file, file.webkitRelativePath || file.name);
    return sources;
  }
  async function dropped(transfer) {
    const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? void 0);
    const files = [...transfer.files];
    const sources = [];
    if (entries.every((entry) => entry === void 0)) return chosen(files);
    for (const entry of entries) if (entry) await walk(sources, entry, "");
    return sources;
  }
  async function walk(sources, entry, folder) {
    const path = folder + entry.name;
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      await add(sources, file, path);
      return;
    }
    const reader = entry.createReader();
    for (; ; ) {
      const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (batch.length === 0) break;
      for (const inner2 of batch) await walk(sources, inner2, `${path}/`);
    }
  }
  async function add(sources, file, path) {
    const found = /\.zip$/i.test(path) ? await archived(file, path.replace(/\.zip$/i, "/"), MOST_FILES) : [ofFile(file, path)];
    for (const source of found) sources.push(source);
    if (sources.length > MOST_FILES) throw new Error(`there are more than ${MOST_FILES} files: drop the model and its external data only`);
  }

  // src/drop.ts
  function droppable(take) {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files") ?? false;
    const isField = (event) => event.target instanceof HTMLInputElement && event.target.type !== "file";
    const mark = (isOver) => document.body.classList.toggle("over", isOver);
    window.addEventListener("dragover", (event) => {
      if (!hasFiles(event) && isField(event)) return;
      event.preventDefault();
      mark(hasFiles(event));
    });
    window.addEventListener("dragleave", (event) => {
      if (event.relatedTarget === null) mark(false);
    });
    window.addEventListener("drop", (event) => {
      mark(false);
      if (!hasFiles(event) && isField(event)) return;
      event.preventDefault();
      const transfer = event.dataTransfer;
      if (!transfer || !hasFiles(event)) return;
      const sources = dropped(transfer);
      sources.catch(() => void 0);
      take(() => sources);
    });
  }

  // src/help.ts
  var KEYS = [
    ["/", "search: a name, or a selector such as Softmax() -> MatMul()"],
    ["n, p", "next and previous match"],
    ["↓, ↑", "to a user, to a maker of the selected box"],
    ["←, →", "to the neighbors in the same row"],
    ["Enter, double click", "open or close the selected box"],
    ["Shift click", "mark the path from the selected box to another one"],
    ["+, −, 0", "zoom in, zoom out, everything"],
    ["1 … 8", "panels"],
    ["Escape", "close the panel"]
  ];
  function help() {
    const dialog = element("dialog", { id: "keys", "aria-labelledby": "keys-title" });
    dialog.append(
      element("h2", { id: "keys-title" }, "Keys"),
      table(KEYS.map((row) => [...row])),
      button("Close", () => dialog.close(), { class: "primary" })
    );
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  // src/pane.ts
  var MOST_OPEN = 6e4;
  var DOUBLE = { time: 500, distance: 8 };
  var TOGETHER = 64;
  var Pane = class {
    element;
    canvas;
    side;
    title = element("div", { class: "pane-title", hidden: "" });
    open = /* @__PURE__ */ new Set();
    selected = "";
    /** Whether edges show the values of the last run. */
    hasValues = false;
    engine;
    events;
    levels = /* @__PURE__ */ new Map();
    parents = [];
    /** The last click. What it shows may move what is under the pointer, so a double click is about the box of its first one. */
    clicked;
    constructor(engine, side, events) {
      this.engine = engine;
      this.side = side;
      this.events = events;
      const label = side === 0 ? "Picture of the model; the tree beside it has the same boxes" : "Picture of the older model";
      const canvas = element("canvas", { id: side === 0 ? "canvas" : "canvas-older", tabindex: "0", role: "img", "aria-label": label });
      this.canvas = new Canvas(canvas);
      this.element = element("div", { class: "pane" }, this.title, canvas);
      this.listen(canvas);
    }
    listen(canvas) {
      let drag;
      const pointers = /* @__PURE__ */ new Map();
      const moved = (before) => this.events.moved(this, before);
      canvas.addEventListener("pointerdown", (event) => {
        canvas.setPointerCapture(event.pointerId);
        pointers.set(event.pointerId, event);
        drag = { x: event.offsetX, y: event.offsetY, moved: 0 };
      });
      canvas.addEventListener("pointermove", (event) => {
        if (!drag || !pointers.has(event.pointerId)) return;
        const before = { ...this.canvas.view };
        if (pointers.size === 2) {
          const width = distance([...pointers.values()]);
          pointers.set(event.pointerId, event);
          const after = distance([...pointers.values()]);
          if (width > 0) this.canvas.zoom(after / width, event.offsetX, event.offsetY);
          drag.moved += 10;
        } else {
          pointers.set(event.pointerId, event);
          const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
          drag = { x: event.offsetX, y: event.offsetY, moved: drag.moved + Math.abs(dx) + Math.abs(dy) };
          this.canvas.look({ ...before, x: before.x + dx, y: before.y + dy });
        }
        moved(before);
      });
      const end = (event) => {
        pointers.delete(event.pointerId);
        if (drag && drag.moved < 4 && event.type === "pointerup") this.click(event);
        if (pointers.size === 0) drag = void 0;
      };
      canvas.addEventListener("pointerup", end);
      canvas.addEventListener("pointercancel", end);
      canvas.addEventListener(
        "wheel",
        (event) => {
          event.preventDefault();
          const before = { ...this.canvas.view };
          if (event.ctrlKey || !event.shiftKey) {
            this.canvas.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
          } else {
            this.canvas.look({ ...before, x: before.x - event.deltaY });
          }
          moved(before);
        },
        { passive: false }
      );
    }
    /** Whether an event is at the place of the last click. */
    isAgain(event) {
      const { clicked } = this;
      return clicked !== void 0 && Math.hypot(event.clientX - clicked.x, event.clientY - clicked.y) < DOUBLE.distance;
    }
    /** Whether a click is the second one of a double click. */
    isSecond(event) {
      return this.clicked !== void 0 && event.timeStamp - this.clicked.time < DOUBLE.time && this.isAgain(event);
    }
    /** Opens or closes the box of a double click, whatever is under the pointer by now. */
    doubled(event) {
      const { clicked } = this;
      if (clicked?.path && !clicked.isToggle && this.isAgain(event)) this.events.toggle(this, clicked.path);
      this.clicked = void 0;
    }
    click(event) {
      const { view } = this.canvas;
      if (this.isSecond(event)) return;
      const box = this.canvas.at(event.offsetX, event.offsetY);
      this.clicked = { time: event.timeStamp, x: event.clientX, y: event.clientY, path: box?.path ?? "", isToggle: false };
      if (!box) {
        this.events.select(this, "", false);
        return;
      }
      const x = (event.offsetX - view.x) / view.scale - box.x;
      const y = (event.offsetY - view.y) / view.scale - box.y;
      this.clicked.isToggle = box.item.in !== void 0 && x < 24 && y < 24;
      if (this.clicked.isToggle) this.events.toggle(this, box.path);
      else this.events.select(this, box.path, event.shiftKey);
    }
    /** Takes the places of the levels of a model that is new or was changed. */
    begin(overview) {
      this.parents = overview.parents;
      this.levels.clear();
      this.hasValues = false;
      this.canvas.marked.clear();
    }
    box(path) {
      return this.canvas.picture.boxes.find((box) => box.path === path);
    }
    /** The path of a box of a level, where it is first shown. */
    pathOf(level, item) {
      const path = [item];
      for (let parent = this.parents[level]; parent; parent = this.parents[parent[0]]) path.unshift(parent[1]);
      return path.join("/");
    }
    /** Loads the levels of a box and those around it. */
    async load(path) {
      await this.level(0);
      let level = 0;
      for (const index of path.split("/")) {
        const inside = this.levels.get(level)?.items[Number(index)]?.in;
        if (inside === void 0) return;
        await this.level(inside);
        level = inside;
      }
    }
    async level(id) {
      if (this.levels.has(id)) return;
      const level = await this.engine.level(id, this.side);
      if (this.hasValues && this.engine.labels) {
        for (const [index, label] of (await this.engine.labels(id)).entries()) {
          const edge = level.edges[index];
          if (edge && label !== null) edge.label = label;
        }
      }
      this.levels.set(id, level);
    }
    render() {
      this.canvas.selected = this.selected;
      this.canvas.show(compose(0, this.levels, this.open));
    }
    /** Levels again, with the same boxes open, after marks or the model changed. */
    async reload() {
      this.levels.clear();
      await this.level(0);
      for (const path of [...this.open].sort((a, b) => a.length - b.length)) await this.load(path);
      this.render();
    }
    /** Opens or closes a box, which stays where it is on the screen. Returns `false` if it cannot be opened. */
    async toggle(path) {
      const before = this.box(path);
      if (!before || before.item.in === void 0) return false;
      if (this.open.has(path)) this.open.delete(path);
      else {
        await this.level(before.item.in);
        this.open.add(path);
      }
      this.render();
      const after = this.box(path);
      if (after) {
        const { view } = this.canvas;
        const middle = before.x + before.w / 2 - (after.x + after.w / 2);
        this.canvas.view = { ...view, x: view.x + middle * view.scale, y: view.y + (before.y - after.y) * view.scale };
      }
      return true;
    }
    async openAll() {
      await this.level(0);
      let outer = [[0, ""]];
      for (let count = 0; outer.length > 0 && count < MOST_OPEN; ) {
        const inner2 = [];
        for (const [id, path] of outer) {
          const items = this.levels.get(id)?.items ?? [];
          count += items.length;
          if (count >= MOST_OPEN || path.split("/").length > 40) break;
          items.forEach((item, index) => {
            if (item.in !== void 0) inner2.push([item.in, path ? `${path}/${index}` : String(index)]);
          });
        }
        for (let at = 0; at < inner2.length; at += TOGETHER) await Promise.all(inner2.slice(at, at + TOGETHER).map(([id]) => this.level(id)));
        for (const [, path] of inner2) this.open.add(path);
        outer = inner2;
      }
      this.render();
      this.canvas.fit();
    }
    closeAll() {
      this.open.clear();
      this.selected = this.selected.split("/")[0] ?? "";
      this.render();
      this.canvas.fit();
    }
    /** Selects a box; everything around it is opened. */
    async select(path, reveal) {
      const parts = path.split("/");
      const around = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
      this.selected = path;
      if (around.every((outer) => this.open.has(outer))) {
        this.canvas.selected = path;
        this.canvas.draw();
      } else {
        await this.load(path);
        for (const outer of around) this.open.add(outer);
        this.render();
      }
      if (reveal) this.canvas.reveal(path);
    }
    /** Marks boxes, and the closed boxes around them. */
    mark(paths) {
      this.canvas.marked = new Set(
        paths.flatMap((path) => path.split("/").map((_, index, parts) => parts.slice(0, index + 1).join("/")))
      );
      this.canvas.draw();
    }
    color(coloring) {
      this.canvas.coloring = coloring;
      this.canvas.draw();
    }
    /** The box that a key leads to: a user, a maker, or a neighbor in the same rank. */
    neighbor(direction) {
      const { boxes, lines } = this.canvas.picture;
      if (!this.selected) return boxes[0]?.path;
      if (direction === "up" || direction === "down") {
        const isDown = direction === "down";
        const line = lines.find((line2) => (isDown ? line2.from : line2.to) === this.selected);
        return line && (isDown ? line.to : line.from);
      }
      const box = this.box(this.selected);
      if (!box) return void 0;
      const parent = this.selected.slice(0, this.selected.lastIndexOf("/") + 1);
      const rank = boxes.filter((other) => other.level === box.level && other.item.r === box.item.r && other.path.startsWith(parent)).sort((a, b) => a.x - b.x);
      return rank[rank.findIndex((other) => other.path === box.path) + (direction === "right" ? 1 : -1)]?.path;
    }
  };
  function distance(events) {
    const [a, b] = events;
    return a && b ? Math.hypot(a.offsetX - b.offsetX, a.offsetY - b.offsetY) : 0;
  }

  // src/panels.ts
  function link(text2, level, item, go) {
    if (level === void 0 || item === void 0) return breakable(text2);
    const made = button("", () => go(level, item), { class: "link" });
    made.append(breakable(text2));
    return made;
  }
  function hint(title, text2) {
    return [element("h2", {}, title), element("p", { class: "hint" }, text2)];
  }
  function details(found, events) {
    const parts = [element("h2", {}, found.title)];
    const actions = element("div", { class: "actions" });
    if (events.path) actions.append(button("Path to…", events.path, { id: "path", title: "Shows the nodes between this box and another one; or press Shift and click the other one" }));
    if (events.extract) actions.append(button("Keep only this", events.extract, { id: "extract", title: "Makes the nodes of this box the model; can be undone" }));
    if (actions.childElementCount > 0) parts.push(actions);
    if (found.rows.length > 0) parts.push(table(found.rows));
    const lists = [...found.lists].sort((a, b) => Number(b.title === "Operators") - Number(a.title === "Operators"));
    for (const list of lists) {
      const rows = list.rows.map((row, at) => {
        const place2 = list.places?.[at];
        return row.map((cell, index) => {
          if (place2 && index === list.link) return link(cell, place2[0], place2[1], events.go);
          return index > 0 && cell.includes("\n") ? element("pre", {}, cell) : cell;
        });
      });
      parts.push(element("h3", {}, list.title), table(rows));
    }
    for (const weight of found.weights ?? []) {
      const place2 = element("div", { class: "weight" });
      const load2 = async () => {
        try {
          const read2 = await events.weight?.(weight.input);
          if (read2) place2.replaceChildren(...statistics(read2));
        } catch (error) {
          place2.replaceChildren(element("p", { class: "warning" }, error instanceof Error ? error.message : String(error)));
        }
      };
      const show = button("Statistics", () => void load2(), { class: "statistics", "aria-label": `Statistics of ${weight.name}` });
      place2.append(show);
      parts.push(element("h3", {}, `Weight ${weight.name} ${weight.type}`), place2);
    }
    if (found.documentation) {
      const { text: text2, address } = found.documentation;
      const anchor = element("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, text2);
      parts.push(element("h3", {}, "Definition"), element("p", {}, anchor, " (opens onnx.ai)"));
    }
    return parts;
  }
  function statistics(found) {
    const parts = [table(found.rows, void 0, [1])];
    if (found.histogram) {
      const most = Math.max(...found.histogram, 1);
      const bars = found.histogram.map((count) => {
        const bar = element("div", { title: String(count) });
        bar.style.height = `${count > 0 ? Math.max(2, 100 * count / most) : 0}%`;
        return bar;
      });
      parts.push(element("div", { class: "histogram", role: "img", "aria-label": `Histogram: ${found.histogram.join(", ")}` }, ...bars));
    }
    if (found.elements.length > 0) parts.push(element("p", { class: "elements" }, `${found.elements.join(", ")} …`));
    return parts;
  }
  var FEW_EDITS = 4;
  var singular = (text2) => text2.replace(/\b1 (edit|run|attempt|node|input|output|value|repair)s\b/g, "1 $1");
  var counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
  function findings(found, go, repair) {
    const [errors, warnings, notes] = found.counts;
    const parts = [
      element("h2", {}, "Findings"),
      element("p", {}, [counted(errors, "error"), counted(warnings, "warning"), counted(notes, "note")].join(", "))
    ];
    if (found.findings.length === 0) parts.push(element("p", { class: "hint" }, "The checker and shape inference report nothing."));
    if (found.repairable > 1 && repair) parts.push(button(`Apply all ${found.repairable} repairs`, repair, { id: "repair" }));
    for (const finding of found.findings) {
      const entry = element(
        "div",
        { class: "finding" },
        element("div", { class: finding.severity }, `${finding.severity} ${finding.rule}`),
        element("div", {}, finding.message),
        element("div", {}, link(finding.where, finding.level, finding.item, go))
      );
      if (finding.help) entry.append(element("div", {}, `help: ${finding.help}`));
      if (finding.canRepair && repair) entry.append(button("Apply", repair, { class: "apply", "aria-label": `Apply the repair of ${finding.where}` }));
      parts.push(entry);
    }
    return parts;
  }
  function sizesInput(variables, sizes, submit) {
    const input = element("input", {
      id: "sizes",
      type: "text",
      "aria-label": "Sizes of dimension variables",
      placeholder: variables.length > 0 ? example(variables) : "no variables",
      value: sizes
    });
    input.addEventListener("change", () => submit(input.value));
    return input;
  }
  var example = (variables) => variables.map((name) => `${name}=1`).join(" ");
  function refused(input, problem, variables) {
    if (problem === void 0) return [];
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", "sizes-problem");
    const advice = input.value.trim() === "" ? "" : variables.length > 0 ? ` Sizes are written like ${example(variables)}.` : " The inputs have no variables: leave the field empty.";
    return [element("p", { id: "sizes-problem", class: "error", role: "alert" }, `${problem}.`.replace(/([.!?])\.$/, "$1") + advice)];
  }
  function cost(found, sizes, problem, go, count) {
    let last = sizes;
    const submit = (sizes2) => {
      if (sizes2 !== last) count(last = sizes2);
    };
    const input = sizesInput(found.variables, sizes, submit);
    const rows = found.rows.map((row) => [
      element("div", {}, link(row.op, row.level, row.item, go), element("div", { class: "name" }, breakable(row.name))),
      row.operations,
      row.part > 0 ? `${(row.part * 100).toFixed(1)} %` : ""
    ]);
    return [
      element("h2", {}, "Cost"),
      element("p", { class: "row" }, "Sizes: ", input, " ", button("Count", () => submit(input.value))),
      ...refused(input, problem, found.variables),
      element("div", { class: "legend", id: "cost-legend" }, element("span", {}, "no operations"), element("span", { class: "ramp" }), element("span", {}, "most of the boxes shown")),
      table(found.totals, void 0, [1]),
      element("h3", {}, "Most expensive nodes"),
      table(rows, ["node", "operations", "part"], [1, 2])
    ];
  }
  function range(text2) {
    const [least, ...greatest] = text2.split(" … ");
    if (least === void 0 || greatest.length !== 1) return breakable(text2);
    const whole = (part) => element("span", { class: "whole" }, part);
    return element("div", {}, whole(`${least} …`), " ", whole(greatest.join()));
  }
  function values(found, state, go, events) {
    const seed = element("input", { id: "seed", type: "number", min: "0", "aria-label": "Seed of the inputs", value: String(state.seed) });
    const input = sizesInput(found?.variables ?? state.variables, state.sizes, () => void 0);
    const run = () => events.run(input.value, Math.max(0, Math.floor(Number(seed.value) || 0)));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") run();
    });
    const parts = [
      element("h2", {}, "Values of a run"),
      element("p", { class: "hint" }, "The model runs on generated inputs, in the ranges that its operators allow."),
      element("p", { class: "row" }, "Sizes: ", input, " seed: ", seed, " ", button("Run", run, { id: "run", class: "primary" })),
      ...refused(input, state.problem, found?.variables ?? state.variables)
    ];
    if (!found) return parts;
    const check = element("input", { id: "values-shown", type: "checkbox" });
    check.checked = state.isShown;
    check.addEventListener("change", () => events.toggle(check.checked));
    parts.push(element("label", {}, check, " show values at the edges"));
    if (found.failure) {
      const { failure } = found;
      parts.push(
        element(
          "div",
          { class: "finding", id: "failure" },
          element("div", { class: "error" }, "The run failed"),
          element("div", {}, failure.message),
          element("div", {}, link(failure.node ?? "", failure.level, failure.item, go))
        )
      );
    }
    const sizes = found.sizes.map(([name, size]) => `${name}=${size}`).join(" ");
    const bad = found.rows.filter((row) => row.bad).length;
    const summary = `${found.values} values${sizes ? `, ${sizes}` : ""}${bad > 0 ? `, ${bad} with NaN or infinity` : ""}`;
    const rows = found.rows.map((row) => {
      const name = element("div", row.bad ? { class: "error" } : {}, link(row.name, row.level, row.item, go), element("div", { class: "name" }, row.type));
      return [name, range(row.range), row.mean ?? ""];
    });
    const values2 = table(rows, ["value", "smallest … greatest", "mean"], [2]);
    values2.id = "values";
    parts.push(element("p", {}, summary), values2);
    return parts;
  }
  function changes(title, done, actions) {
    const parts = [element("h2", {}, title), element("p", { id: "summary" }, done.summary)];
    if (actions.length > 0 && done.edits.length > 0) parts.push(element("div", { class: "actions" }, ...actions));
    if (done.edits.length > 0) parts.push(element("h3", {}, "Edits"), ...editsByRule(done.edits));
    if (done.more) parts.push(element("p", { class: "hint" }, `${done.more} edits more are not listed. The report of \`onnx simplify\` has all of them.`));
    return parts;
  }
  function ruleOf(edit) {
    const [, rule, count] = /^(.*?)(?: \((\d+) edits\))?$/s.exec(edit.what) ?? [];
    return { rule: rule ?? edit.what, count: Number(count ?? 1) };
  }
  var placeOf = (rule, { proof }) => /^(no|unique)-/.test(rule) ? 2 : /^exact\b/.test(proof) ? 1 : 0;
  function editsByRule(edits) {
    const hasProof = edits.some((edit) => edit.proof);
    const list = (edits2, isNamed) => table(
      edits2.map((edit) => [...isNamed ? [edit.what] : [], edit.nodes, ...hasProof ? [singular(edit.proof)] : []]),
      [...isNamed ? ["edit"] : [], "nodes", ...hasProof ? ["why it is right"] : []]
    );
    const rules = /* @__PURE__ */ new Map();
    for (const edit of edits) {
      const { rule, count } = ruleOf(edit);
      const group = rules.get(rule) ?? { count: 0, edits: [] };
      group.count += count;
      group.edits.push(edit);
      rules.set(rule, group);
    }
    if (rules.size === edits.length && rules.size < FEW_EDITS) return [list(edits, true)];
    const order = [...rules].sort(([a, one], [b, other]) => placeOf(a, one.edits[0]) - placeOf(b, other.edits[0]) || other.count - one.count || a.localeCompare(b, "en"));
    return order.map(([rule, { count, edits: edits2 }]) => {
      const group = element("details", { class: "rule" }, element("summary", {}, element("span", {}, rule), element("span", { class: "count" }, counted(count, "edit"))));
      group.addEventListener("toggle", () => {
        if (group.open && group.childElementCount === 1) group.append(list(edits2, edits2.some(({ what }) => what !== rule)));
      });
      return group;
    });
  }
  function simplify(isProved, start2) {
    const check = element("input", { id: "prove", type: "checkbox" });
    check.checked = isProved;
    return [
      element("h2", {}, "Simplify"),
      element("p", { class: "hint" }, "Folds constants, removes what has no effect, and rewrites to fewer and cheaper nodes. The model computes the same. Nothing is written until you save."),
      element("p", {}, element("label", {}, check, " compare the values before and after each edit")),
      button("Simplify", () => start2(check.checked), { id: "simplify", class: "primary" })
    ];
  }
  function versions(found, go, convert) {
    const parts = [element("h2", {}, "Versions"), element("p", {}, `The model uses operator set ${found.current}.`)];
    const reach = (name, reach2) => {
      parts.push(element("h3", {}, `${name}: ${reach2.version}`));
      if (reach2.version !== found.current) {
        const nodes2 = reach2.changed === 1 ? "1 node changes" : `${reach2.changed} nodes change`;
        parts.push(element("p", { class: "row" }, `${nodes2}. `, button(`Convert to ${reach2.version}`, () => convert(reach2.version))));
      }
      if (reach2.refusals.length === 0) return;
      const nodes = reach2.prevented === 1 ? "1 node prevents" : `${reach2.prevented} nodes prevent`;
      parts.push(element("p", {}, `${nodes} version ${reach2.version + (name === "Oldest" ? -1 : 1)}:`));
      const rows = reach2.refusals.map((refusal) => [link(refusal.op, refusal.level, refusal.item, go), `${refusal.reason}. ${refusal.help}`]);
      parts.push(table(rows, ["operator", "why"]));
    };
    reach("Oldest", found.oldest);
    reach("Newest", found.newest);
    const input = element("input", { id: "version", type: "number", min: String(found.oldest.version), max: String(found.newest.version), "aria-label": "Version", value: String(found.current) });
    parts.push(element("h3", {}, "Another version"), element("p", { class: "row" }, input, " ", button("Convert", () => convert(Number(input.value)), { id: "convert" })));
    return parts;
  }
  function comparison(found, go, actions) {
    const [added, removed, changed] = found.counts;
    const parts = [
      element("h2", {}, "Comparison"),
      element("p", { id: "summary" }, `${added} added, ${removed} removed, ${changed} changed; ${found.same} nodes correspond`),
      element("div", { class: "actions" }, ...actions)
    ];
    if (found.unread > 0) parts.push(element("p", { class: "warning" }, `${found.unread} tensors could not be read, and were not compared`));
    if (found.changes.length === 0) parts.push(element("p", { class: "hint" }, "The models are the same."));
    const sign = { added: "+", removed: "−", changed: "~" };
    for (const change of found.changes) {
      const text2 = `${sign[change.kind]} ${change.element} ${change.text || (change.where ?? "")}`;
      const hasPlace = change.after !== void 0 || change.before !== void 0;
      const title = hasPlace ? button(text2, () => go(change), { class: "link" }) : element("span", {}, text2);
      const entry = element("div", { class: `finding ${change.kind}` }, title);
      for (const aspect of change.aspects) entry.append(element("div", { class: "aspect" }, aspect));
      parts.push(entry);
    }
    if (found.more > 0) parts.push(element("p", {}, `and ${found.more} more`));
    return parts;
  }
  function text(found, isSelected, go) {
    const pre = element("pre", { tabindex: "0", "aria-label": "ONNX text", id: "text" });
    const lines = found.text.split("\n");
    let at = 0;
    let chosen2;
    for (const [index, [line, level, item]] of found.places.entries()) {
      if (line > at) pre.append(lines.slice(at, line).join("\n") + "\n");
      const next = found.places[index + 1]?.[0];
      const isEnd = (text2) => text2.startsWith("}");
      const end = next ?? (lines.findIndex((text2, at2) => at2 > line && isEnd(text2)) + 1 || lines.length + 1) - 1;
      const part = element("span", { class: "node-text" }, lines.slice(line, end).join("\n") + "\n");
      part.addEventListener("click", () => go(level, item));
      if (isSelected(level, item)) {
        part.classList.add("chosen");
        chosen2 ??= part;
      }
      pre.append(part);
      at = end;
    }
    pre.append(lines.slice(at).join("\n"));
    if (chosen2) {
      const shown = chosen2;
      requestAnimationFrame(() => shown.scrollIntoView({ block: "center" }));
    }
    return [element("h2", {}, "Text"), pre];
  }

  // src/state.ts
  var MOST_OPEN2 = 200;
  var isPath = (path) => /^\d+(\/\d+)*$/.test(path);
  function read() {
    const state = new URLSearchParams(location.hash.slice(1));
    const at = state.get("at") ?? "";
    return {
      color: state.get("color"),
      open: (state.get("open") ?? "").split(",").filter(isPath),
      at: isPath(at) ? at : "",
      panel: state.get("panel") ?? void 0,
      find: state.get("find") ?? "",
      model: state.get("model") ?? void 0
    };
  }
  function write(state, isStep) {
    const parts = [`color=${state.color}`];
    if (state.open.length > 0 && state.open.length < MOST_OPEN2) parts.push(`open=${state.open.join(",")}`);
    if (state.at) parts.push(`at=${state.at}`);
    if (state.panel) parts.push(`panel=${state.panel}`);
    if (state.find) parts.push(`find=${encodeURIComponent(state.find)}`);
    if (state.model) parts.push(`model=${encodeURIComponent(state.model)}`);
    const hash = `#${parts.join("&")}`;
    if (hash === location.hash) return;
    if (isStep) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
  }

  // src/work.ts
  var PATIENCE = 700;
  var OPENING = "reading the files";
  var Work = class {
    status = element("div", { id: "status", role: "status" });
    busy = element("div", { id: "busy", role: "alert", hidden: "" });
    notice = element("div", { id: "notice", role: "alert", hidden: "" });
    isBusy = false;
    cancel;
    events;
    facts = "";
    constructor(cancel, events) {
      this.cancel = cancel;
      this.events = events;
    }
    /** Takes the lines about a model that is new or was changed. */
    begin(facts) {
      this.facts = facts.filter(([, value]) => value !== "").map(([name, value]) => `${name}: ${value}`).join(" · ");
      this.rest();
    }
    /** Says what was done, until the next thing is done. */
    say(text2) {
      this.status.textContent = text2;
      this.status.title = text2;
      this.status.classList.remove("error");
    }
    /** Says what the model is. */
    rest() {
      this.notice.hidden = true;
      this.say(this.facts);
    }
    /** Says what failed, where it cannot be overlooked. */
    warn(text2) {
      this.say(text2);
      this.status.classList.add("error");
      this.notice.replaceChildren(element("p", {}, text2), button("Close", () => this.notice.hidden = true, { id: "notice-close" }));
      this.notice.hidden = false;
    }
    /** Does work, one at a time for the user: errors are said, and work that takes long can be ended. */
    async guard(what, work) {
      if (this.isBusy) {
        await work();
        return;
      }
      this.isBusy = true;
      this.notice.hidden = true;
      if (!this.events.isChoosing()) this.rest();
      document.body.dataset["busy"] = what;
      const { cancel } = this;
      const timer = setTimeout(() => {
        this.busy.replaceChildren(`${what} … `);
        if (cancel) this.busy.append(button("Cancel", cancel, { id: "cancel" }));
        this.busy.hidden = false;
      }, PATIENCE);
      try {
        await work();
      } catch (error) {
        await this.failed(what, error);
      } finally {
        clearTimeout(timer);
        this.busy.hidden = true;
        this.isBusy = false;
        delete document.body.dataset["busy"];
      }
    }
    async failed(what, error) {
      const text2 = error instanceof Error ? error.message : String(error);
      if (error instanceof Restored) await this.events.restart().catch(() => void 0);
      this.warn(what === OPENING ? `Not opened: ${text2}. What is shown stays.` : text2);
    }
  };

  // src/start.ts
  var MOST_BYTES = 19e8;
  function checked(files) {
    if (files.model.size > MOST_BYTES) {
      const size = (files.model.size / 1e9).toFixed(1);
      throw new Error(`${files.name} has ${size} GB, which a tab cannot hold: \`onnx view\` opens it in this page, whatever its size`);
    }
    return files;
  }
  async function openAll(engine, sources) {
    const found = models(sources);
    const [first, second] = found;
    if (!first) throw new Error("there is no model: no file with the extension .onnx, .onnxtxt, .textproto or .json");
    if (found.length > 2) {
      const names = found.slice(0, 5).map((model) => model.path);
      throw new Error(`there are ${found.length} models: drop one, or two for a comparison (${names.join(", ")}…)`);
    }
    const older = second && checked(beside(first, sources));
    await engine.open?.(checked(beside(second ?? first, sources)), older);
  }
  async function openOlder(engine, sources) {
    const [found] = models(sources);
    if (!found) throw new Error("there is no model among the files");
    await engine.older?.(checked(beside(found, sources)));
  }
  function start(root2, engine, begin) {
    const accept = ".onnx,.onnxtxt,.textproto,.pbtxt,.json,.zip,.data,.bin";
    const input = element("input", { type: "file", id: "file", "aria-label": "Files of a model", accept, multiple: "", class: "hidden" });
    const folder = element("input", { type: "file", id: "folder", "aria-label": "A folder with a model", webkitdirectory: "", class: "hidden" });
    const message = element("p", { id: "message", role: "status" }, "Files stay in this tab; nothing is sent.");
    const { model } = read();
    const zone = element(
      "main",
      { id: "drop" },
      element("h1", {}, "Drop an ONNX model here"),
      element("p", {}, "a file, a folder or a .zip with its external data; or two models for a comparison, the older one first"),
      element("p", { class: "actions" }, button("Choose files…", () => input.click(), { class: "primary" }), button("Choose a folder…", () => folder.click())),
      input,
      folder,
      ...model === void 0 ? [] : [element("p", { id: "belongs" }, `This link shows a place in ${model}: open that model.`)],
      message
    );
    root2.replaceChildren(zone);
    const take = async (sources) => {
      if (document.body.dataset["busy"] !== void 0) return;
      message.classList.remove("error");
      message.textContent = "reading …";
      document.body.dataset["busy"] = "reading";
      const timer = setTimeout(() => message.append(" ", button("Cancel", () => engine.cancel?.(), { id: "cancel" })), PATIENCE);
      try {
        await openAll(engine, await sources());
        await begin();
      } catch (error) {
        if (!zone.isConnected) root2.replaceChildren(zone);
        message.classList.add("error");
        message.textContent = error instanceof Error ? error.message : String(error);
      } finally {
        clearTimeout(timer);
        delete document.body.dataset["busy"];
      }
    };
    for (const field of [input, folder]) picks(field, (files) => void take(() => chosen(files)));
    return (sources) => void take(sources);
  }

  // src/tree.ts
  var MOST = 2e3;
  var Tree = class {
    element = element("nav", { id: "tree", "aria-label": "Boxes of the model" });
    events;
    items = /* @__PURE__ */ new Map();
    constructor(events) {
      this.events = events;
      this.element.addEventListener("click", (event) => {
        const path = pathOf(event.target);
        if (path !== void 0) this.events.select(path);
      });
      this.element.addEventListener("dblclick", (event) => {
        const path = pathOf(event.target);
        if (path !== void 0) this.events.toggle(path);
      });
      this.element.addEventListener("keydown", (event) => this.key(event));
    }
    show(picture, selected) {
      const hadFocus = this.element.contains(document.activeElement);
      const { scrollTop } = this.element;
      this.items.clear();
      const root2 = element("div", { role: "tree", "aria-label": "Boxes" });
      for (const box of picture.boxes.slice(0, MOST)) {
        if (box.item.k === "arriving" || box.item.k === "leaving") continue;
        root2.append(this.item(box, selected));
      }
      this.element.replaceChildren(root2);
      this.element.scrollTop = scrollTop;
      const first = this.items.get(selected) ?? this.items.values().next().value;
      first?.setAttribute("tabindex", "0");
      if (hadFocus) first?.focus({ preventScroll: true });
      this.reveal(selected);
    }
    /** Scrolls to an item that is not visible. Only the tree moves. */
    reveal(path) {
      const item = this.items.get(path)?.getBoundingClientRect();
      const tree = this.element.getBoundingClientRect();
      if (!item || item.top >= tree.top && item.bottom <= tree.bottom) return;
      this.element.scrollTop += item.top + item.height / 2 - (tree.top + tree.height / 2);
    }
    /** Changes the selection only. */
    mark(selected) {
      for (const item2 of this.element.querySelectorAll('[aria-selected="true"], [tabindex="0"]')) {
        item2.setAttribute("aria-selected", "false");
        item2.setAttribute("tabindex", "-1");
      }
      const item = this.items.get(selected) ?? this.items.values().next().value;
      item?.setAttribute("tabindex", "0");
      if (this.items.has(selected)) item?.setAttribute("aria-selected", "true");
      this.reveal(selected);
    }
    item(box, selected) {
      const { item } = box;
      const detail = item.l?.[0] ?? "";
      const state = box.isOpen ? "▾ " : item.in === void 0 ? "" : "▸ ";
      const kind = item.k === "input" || item.k === "output" ? `${item.k} ` : "";
      const finding = item.s ? `, ${item.s}` : "";
      const made = element(
        "div",
        {
          role: "treeitem",
          tabindex: "-1",
          "data-path": box.path,
          "aria-level": String(box.depth + 1),
          "aria-label": `${kind}${item.t}${detail ? `, ${detail}` : ""}${finding}`,
          "aria-selected": String(box.path === selected),
          ...item.in === void 0 ? {} : { "aria-expanded": String(box.isOpen) }
        },
        `${state}${kind}${item.t}${item.s ? " ●" : ""}`
      );
      made.style.marginLeft = `${4 + 14 * box.depth}px`;
      this.items.set(box.path, made);
      return made;
    }
    key(event) {
      const path = pathOf(event.target);
      if (path === void 0) return;
      const all = [...this.items.keys()];
      const at = all.indexOf(path);
      const isOpen = this.items.get(path)?.getAttribute("aria-expanded");
      const go = (next) => {
        const item = next === void 0 ? void 0 : this.items.get(next);
        if (!item || next === void 0) return;
        this.events.select(next);
        this.items.get(next)?.focus();
      };
      switch (event.key) {
        case "ArrowDown":
          go(all[at + 1]);
          break;
        case "ArrowUp":
          go(all[at - 1]);
          break;
        case "Home":
          go(all[0]);
          break;
        case "End":
          go(all.at(-1));
          break;
        case "ArrowRight":
          if (isOpen === "false") this.events.toggle(path);
          else if (isOpen === "true") go(all[at + 1]);
          break;
        case "ArrowLeft":
          if (isOpen === "true") this.events.toggle(path);
          else if (path.includes("/")) go(path.slice(0, path.lastIndexOf("/")));
          break;
        case "Enter":
        case " ":
          this.events.toggle(path);
          break;
        default:
          return;
      }
      event.preventDefault();
      event.stopPropagation();
    }
  };
  function pathOf(target) {
    const item = target instanceof Element ? target.closest("[data-path]") : null;
    return item?.getAttribute("data-path") ?? void 0;
  }

  // src/main.ts
  var COLORINGS = ["type", "cost", "scope", "findings", "diff"];
  var PANELS = ["details", "findings", "cost", "values", "simplify", "versions", "compare", "text"];
  var TITLES = {
    details: "Details",
    findings: "Findings",
    cost: "Cost",
    values: "Values",
    simplify: "Simplify",
    versions: "Versions",
    compare: "Compare",
    text: "Text"
  };
  var MOST_PROVED = 1e3;
  var CHANGED = { Simplified: "simplified", Repaired: "repaired", Converted: "converted", Kept: "part" };
  var Page = class {
    engine;
    tree;
    panel = element("aside", { id: "panel", "aria-label": "Panel", hidden: "", tabindex: "-1" });
    work;
    title = element("h1");
    found = element("span", { id: "found" });
    search = element("input", { id: "search", type: "search", placeholder: "Search: name or Softmax() -> MatMul()", "aria-label": "Search" });
    coloring = element("select", { id: "coloring", "aria-label": "Color by" });
    undo;
    picture = element("main", { id: "picture" });
    tabs = /* @__PURE__ */ new Map();
    panes;
    overview;
    shown;
    hits = [];
    hit = -1;
    hitSide = 0;
    searched = "";
    sizes = "";
    seed = 0;
    run;
    edits;
    comparison;
    /** The variables of inputs, once they are known. */
    variables;
    problem;
    pathFrom;
    isFollowing = false;
    isStill = false;
    constructor(root2, engine) {
      this.engine = engine;
      this.work = new Work(engine.cancel, { restart: () => this.start(), isChoosing: () => this.pathFrom !== void 0 });
      this.panes = [this.pane(0)];
      this.tree = new Tree({ select: (path) => void this.select(this.main, path, true), toggle: (path) => void this.toggle(this.main, path) });
      for (const name of COLORINGS) if (name !== "diff") this.coloring.append(element("option", { value: name }, `color: ${name}`));
      this.undo = button("Undo", () => void this.change("Undone", engine.undo), { id: "undo", disabled: "" });
      root2.replaceChildren(this.header(), this.tree.element, this.picture, this.panel, this.rail(), this.work.status);
      this.picture.append(this.main.element, this.work.busy, this.work.notice);
      this.listen();
    }
    get main() {
      return this.panes[0];
    }
    pane(side) {
      const pane = new Pane(this.engine, side, {
        select: (pane2, path, isPath2) => void (isPath2 ? this.path(pane2, path) : this.select(pane2, path, false)),
        toggle: (pane2, path) => void this.toggle(pane2, path),
        moved: (pane2, before) => this.together(pane2, before)
      });
      pane.canvas.covered = () => this.covered(pane);
      return pane;
    }
    /** Pixels of a picture that the panel covers, which is over it where there is no room beside it. */
    covered(pane) {
      if (this.panel.hidden) return 0;
      const [canvas, panel] = [pane.canvas.element.getBoundingClientRect(), this.panel.getBoundingClientRect()];
      return panel.left < canvas.right - 1 ? Math.min(Math.max(canvas.bottom - panel.top, 0), canvas.height) : 0;
    }
    header() {
      const { engine } = this;
      const tree = button("☰", () => document.body.classList.toggle("tree-shown"), { id: "tree-button", "aria-label": "Boxes as a tree" });
      const header = element("header", {}, tree, this.title, this.search);
      header.append(
        button("‹", () => void this.step(-1), { id: "previous", "aria-label": "Previous match" }),
        button("›", () => void this.step(1), { id: "next", "aria-label": "Next match" }),
        this.found,
        this.coloring,
        button("Fit", () => this.main.canvas.fit(), { id: "fit" }),
        button("Open all", () => void this.openAll(), { id: "open-all" }),
        button("Close all", () => this.closeAll(), { id: "close-all" })
      );
      if (engine.undo) header.append(this.undo);
      if (engine.save) header.append(button("Save", () => void this.save(), { id: "save", class: "primary" }));
      if (engine.open) {
        const input = element("input", { type: "file", id: "reopen", "aria-label": "Open another model", multiple: "", class: "hidden" });
        picks(input, (files) => void this.reopen(() => chosen(files)));
        header.append(input, button("Open…", () => input.click(), { id: "open" }));
      }
      return header;
    }
    /** The tabs of the panel. */
    rail() {
      const { engine } = this;
      const available = {
        details: engine.details,
        findings: engine.findings,
        cost: engine.cost,
        values: engine.run,
        simplify: engine.simplify,
        versions: engine.versions,
        compare: engine.compare,
        text: engine.text
      };
      const rail = element("nav", { id: "rail", "aria-label": "Panels" });
      for (const name of PANELS) {
        if (!available[name]) continue;
        const made = button(TITLES[name], () => void this.show(this.shown === name ? void 0 : name), { id: `panel-${name}`, "aria-pressed": "false" });
        this.tabs.set(name, made);
        rail.append(made);
      }
      rail.append(element("span", { class: "space" }));
      if (engine.picture) rail.append(button("SVG", () => void this.svg(), { id: "save-svg", "aria-label": "Save the picture as SVG" }));
      rail.append(
        button("PNG", () => void this.png(), { id: "save-png", "aria-label": "Save the picture as PNG" }),
        button("◐", () => this.theme(), { id: "theme", "aria-label": "Light or dark" }),
        button("?", () => help(), { id: "help", "aria-label": "Keys" })
      );
      return rail;
    }
    listen() {
      this.coloring.addEventListener("change", () => {
        this.color(this.coloring.value);
        this.remember(false);
      });
      this.search.addEventListener("change", () => void this.find());
      this.search.addEventListener("keydown", (event) => {
        const isSame = this.search.value.trim() === this.searched;
        if (event.key !== "Enter" || !isSame || this.hits.length === 0) return;
        const end = this.pathFrom === void 0 ? void 0 : this.hits[this.hit];
        if (end) void this.go(end.level, end.item);
        else void this.step(event.shiftKey ? -1 : 1);
      });
      window.addEventListener("resize", () => this.resize());
      window.addEventListener("popstate", () => void this.work.guard("reading", () => this.restore()));
      document.addEventListener("keydown", (event) => this.key(event));
      window.addEventListener("unhandledrejection", (event) => {
        event.preventDefault();
        this.work.warn(event.reason instanceof Error ? event.reason.message : String(event.reason));
      });
      this.panel.addEventListener(
        "click",
        (event) => {
          if (!this.panes.some((pane) => pane.isSecond(event))) return;
          event.preventDefault();
          event.stopPropagation();
        },
        { capture: true }
      );
      document.addEventListener("dblclick", (event) => {
        const isHere = event.target instanceof Node && (this.picture.contains(event.target) || this.panel.contains(event.target));
        if (isHere) for (const pane of this.panes) pane.doubled(event);
      });
    }
    /** Takes files that were dropped. */
    drop(sources) {
      for (const dialog of document.querySelectorAll("dialog")) dialog.close();
      if (this.engine.open) void this.reopen(sources);
      else this.work.warn("This page shows the files that it was made for. `onnx view FILE` shows another one.");
    }
    /** Shows the model from the beginning. */
    async start() {
      for (const pane of this.panes) {
        pane.open.clear();
        pane.selected = "";
      }
      const overview = await this.refresh();
      this.color(overview.coloring);
      this.resize();
      await this.restore();
      if (overview.other !== void 0) await this.compare(this.engine.compare);
      else if (this.panes.length > 1) this.dropOlder();
      for (const pane of this.panes) pane.canvas.fit();
      if (this.main.selected) this.main.canvas.reveal(this.main.selected);
      document.body.dataset["ready"] = "true";
      this.count();
    }
    /** The number of findings on the tab. */
    count() {
      const { engine } = this;
      const tab = this.tabs.get("findings");
      if (!engine.findings || !tab) return;
      void engine.findings().then((found) => {
        const count = found.counts[0] + found.counts[1];
        tab.textContent = count > 0 ? `${TITLES.findings} ${count}` : TITLES.findings;
        tab.classList.toggle("error", found.counts[0] > 0);
      }, () => void 0);
    }
    async refresh() {
      const overview = await this.engine.overview();
      this.overview = overview;
      this.main.begin(overview);
      this.title.textContent = overview.title;
      this.title.title = overview.title;
      document.title = overview.title;
      this.undo.disabled = overview.undo === 0;
      this.work.begin(overview.facts);
      return overview;
    }
    render() {
      for (const pane of this.panes) pane.render();
      this.tree.show(this.main.canvas.picture, this.main.selected);
    }
    resize(isStill = false) {
      for (const pane of this.panes) pane.canvas.resize(isStill);
    }
    /** Moves the selected box, with the pictures, to where the panel does not hide it. */
    uncover(pane) {
      if (!pane.selected) return;
      const before = pane.canvas.view;
      pane.canvas.reveal(pane.selected, true);
      this.together(pane, before);
    }
    color(coloring) {
      this.coloring.value = coloring;
      for (const pane of this.panes) pane.color(coloring);
    }
    // Two pictures
    /** The box of the other picture that corresponds to one. */
    async counterpart(pane, path) {
      const other = this.panes.find((other2) => other2 !== pane);
      const box = pane.box(path);
      if (!other || !box || !this.engine.counterpart) return void 0;
      const found = await this.engine.counterpart(box.level, box.index, pane.side);
      return found?.path ? { other, path: found.path.join("/") } : void 0;
    }
    /** Moves the other picture with one. */
    together(pane, before) {
      const { view } = pane.canvas;
      for (const other of this.panes) {
        if (other === pane) continue;
        const ratio = view.scale / before.scale;
        const old = other.canvas.view;
        other.canvas.look({ scale: old.scale * ratio, x: view.x + (old.x - before.x) * ratio, y: view.y + (old.y - before.y) * ratio });
      }
    }
    /** Puts a box of the other picture next to that of one. */
    align(pane, path, other, otherPath) {
      const [a, b] = [pane.box(path), other.box(otherPath)];
      if (!a || !b) return;
      const { view } = pane.canvas;
      other.canvas.view = {
        scale: view.scale,
        x: view.x + (a.x + a.w / 2 - (b.x + b.w / 2)) * view.scale,
        y: view.y + (a.y - b.y) * view.scale
      };
      other.canvas.draw();
    }
    async compare(ask) {
      if (!ask) return;
      await this.work.guard("comparing", async () => {
        this.comparison = await ask();
        if (this.panes.length === 1) {
          const older2 = this.pane(1);
          this.panes.push(older2);
          this.picture.prepend(older2.element);
          if (!this.coloring.querySelector("[value=diff]")) this.coloring.append(element("option", { value: "diff" }, "color: diff"));
        }
        const older = this.panes[1];
        older.begin(await this.engine.overview(1));
        for (const [pane, title] of [[older, this.comparison.titles[0]], [this.main, this.comparison.titles[1]]]) {
          pane.title.hidden = false;
          pane.title.textContent = title;
          await pane.reload();
        }
        this.color("diff");
        this.render();
        this.resize();
        for (const pane of this.panes) pane.canvas.fit();
        await this.show("compare");
      });
    }
    async single() {
      await this.work.guard("closing", async () => {
        await this.engine.single?.();
        this.dropOlder();
        await this.main.reload();
        this.render();
        await this.show("compare");
      });
    }
    dropOlder() {
      this.comparison = void 0;
      for (const pane of this.panes.splice(1)) pane.element.remove();
      this.main.title.hidden = true;
      this.coloring.querySelector("[value=diff]")?.remove();
      if (this.main.canvas.coloring === "diff") this.color("type");
      this.resize();
      this.main.canvas.fit();
    }
    // Boxes
    async toggle(pane, path) {
      await this.work.guard("opening", async () => {
        const twin = await this.counterpart(pane, path);
        if (!await pane.toggle(path)) return;
        if (twin && twin.other.box(twin.path) && twin.other.open.has(twin.path) !== pane.open.has(path)) {
          await twin.other.toggle(twin.path);
          this.align(pane, path, twin.other, twin.path);
        }
        this.tree.show(this.main.canvas.picture, this.main.selected);
      });
      this.remember(true);
    }
    async openAll() {
      await this.work.guard("opening", async () => {
        for (const pane of this.panes) await pane.openAll();
        this.tree.show(this.main.canvas.picture, this.main.selected);
        this.remember(true);
      });
    }
    closeAll() {
      this.work.rest();
      for (const pane of this.panes) pane.closeAll();
      this.tree.show(this.main.canvas.picture, this.main.selected);
      this.remember(true);
    }
    async select(pane, path, reveal) {
      if (this.pathFrom !== void 0 && path) {
        const from = this.pathFrom;
        this.pathFrom = void 0;
        await this.path(pane, path, from);
        return;
      }
      await this.work.guard("selecting", () => this.selected(pane, path, reveal));
    }
    async selected(pane, path, reveal) {
      const open = pane.open.size;
      await pane.select(path, reveal);
      const twin = path ? await this.counterpart(pane, path) : void 0;
      if (twin) {
        await twin.other.select(twin.path, false);
        this.align(pane, path, twin.other, twin.path);
      }
      if (pane === this.main || twin) {
        if (this.main.open.size !== open || pane !== this.main) this.tree.show(this.main.canvas.picture, this.main.selected);
        else this.tree.mark(this.main.selected);
      }
      this.remember(true);
      if (path && (this.shown === void 0 || this.shown === "details")) await this.show(this.engine.details ? "details" : void 0, pane);
      else if (this.shown === "text" && !this.isFollowing) await this.show("text");
    }
    /** Selects the box of a level, wherever it is first shown. */
    async go(level, item, pane = this.main) {
      if (level === void 0 || item === void 0) return;
      await this.select(pane, pane.pathOf(level, item), true);
    }
    // Search and paths
    async find() {
      const text2 = this.search.value.trim();
      const from = this.pathFrom;
      this.forget();
      [this.searched, this.pathFrom] = [text2, from];
      if (!text2) {
        this.work.rest();
        this.remember(false);
        return;
      }
      await this.work.guard("searching", async () => {
        const found = await this.engine.search(text2);
        this.take(found, 0);
        const isEnd = from !== void 0 && found.count > 1;
        this.work.say(found.note ?? (isEnd ? `${found.count} matches are marked: ‹ and › step through them; a click on one, or Enter in the search, takes it as the other end of the path` : `${found.count} matches`));
        if (this.hits.length > 0 && !isEnd) await this.step(1);
        this.remember(false);
      });
    }
    /** Ends a search or a path, whose matches are boxes of the model as it was. */
    forget() {
      this.take({ hits: [], count: 0 }, 0);
      this.found.textContent = "";
      [this.searched, this.pathFrom] = ["", void 0];
    }
    take(found, side) {
      this.hits = found.hits;
      this.hit = -1;
      this.hitSide = side;
      this.found.textContent = String(found.count);
      const pane = this.panes.find((pane2) => pane2.side === side) ?? this.main;
      pane.mark(found.hits.map((hit) => pane.pathOf(hit.level, hit.item)));
    }
    async step(by) {
      const count = this.hits.length;
      if (count === 0) return;
      this.hit = (this.hit + by + count) % count;
      const hit = this.hits[this.hit];
      await this.work.guard("searching", async () => {
        const pane = this.panes.find((pane2) => pane2.side === this.hitSide) ?? this.main;
        const path = pane.pathOf(hit.level, hit.item);
        if (count === 1 && this.pathFrom !== void 0) {
          await this.select(pane, path, true);
          return;
        }
        await this.selected(pane, path, true);
        this.found.textContent = `${this.hit + 1} / ${count}`;
        this.work.say(`match ${this.hit + 1} of ${count}: ${hit.label}`);
      });
    }
    /** Marks the nodes between the selected box and another one. */
    async path(pane, path, from = pane.selected) {
      if (!this.engine.path) return;
      await this.work.guard("searching", async () => {
        for (const end of [from, path]) if (!pane.box(end)) await pane.select(end, false);
        const [a, b] = [pane.box(from), pane.box(path)];
        if (!a || !b || a === b) {
          this.work.say("a path has two ends: select one box, and choose another one");
          return;
        }
        const found = await this.engine.path?.([a.level, a.index], [b.level, b.index], pane.side);
        if (!found) return;
        this.take(found, pane.side);
        [this.search.value, this.searched] = ["", ""];
        await pane.select(path, true);
        this.tree.show(this.main.canvas.picture, this.main.selected);
        if (this.shown === "details") await this.show("details", pane);
        const isEnd = ({ level, item }) => [from, path].some((end) => `${pane.pathOf(level, item)}/`.startsWith(`${end}/`));
        const between = found.count - found.hits.filter(isEnd).length;
        const nodes = between === 1 ? "1 node" : `${between} nodes`;
        this.work.say(found.note ?? `${nodes} between ${a.item.t} and ${b.item.t}: ‹ and › step through what is marked`);
      });
    }
    // Panels
    async show(name, pane = this.main) {
      this.shown = name;
      for (const [key, made] of this.tabs) made.setAttribute("aria-pressed", String(key === name));
      const wasHidden = this.panel.hidden;
      this.panel.hidden = name === void 0;
      if (wasHidden && name !== void 0) this.isStill = pane.selected !== "";
      if (wasHidden !== this.panel.hidden) this.resize(this.isStill);
      if (name !== void 0) {
        await this.work.guard(name, async () => {
          const contents = await this.content(name, pane);
          if (this.shown === name) this.panel.replaceChildren(...contents);
        });
        if (wasHidden || this.covered(pane) > 0) this.uncover(pane);
      }
      this.remember(false);
    }
    async content(name, pane) {
      const { engine } = this;
      const go = (level, item) => void this.go(level, item);
      const box = pane.box(pane.selected);
      switch (name) {
        case "details":
          return this.details(pane);
        case "findings":
          return engine.findings ? findings(await engine.findings(), go, engine.repair ? () => void this.change("Repaired", engine.repair) : void 0) : [];
        case "cost": {
          if (!engine.cost) return [];
          this.color("cost");
          const { sizes } = this;
          const [found, problem] = await this.counted(sizes);
          this.variables = found.variables;
          await this.main.reload();
          this.render();
          if (problem !== void 0) this.work.say(problem);
          return cost(found, sizes, problem, go, (sizes2) => {
            this.sizes = sizes2;
            void this.show("cost");
          });
        }
        case "values": {
          this.variables ??= (await engine.cost?.("").catch(() => void 0))?.variables;
          const state = { sizes: this.sizes, seed: this.seed, isShown: this.main.hasValues, variables: this.variables ?? [], problem: this.problem };
          this.problem = void 0;
          return values(this.run, state, go, { run: (sizes, seed) => void this.runs(sizes, seed), toggle: (isShown) => void this.values(isShown) });
        }
        case "simplify":
          return this.simplify();
        case "versions":
          return engine.versions ? versions(await engine.versions(), go, (version) => void this.change(`Converted to version ${version}`, () => engine.convert(version))) : [];
        case "compare":
          return this.comparing();
        case "text": {
          if (!engine.text) return [];
          const isInside = box !== void 0 && box.item.in === void 0 && box.item.k === "node";
          const parent = isInside ? this.parentOf(pane) : box;
          const found = await engine.text(parent?.level ?? 0, parent?.index ?? -1, pane.side);
          return text(found, (level, item) => box !== void 0 && level === box.level && item === box.index, (level, item) => {
            this.isFollowing = true;
            void this.go(level, item, pane).finally(() => {
              this.isFollowing = false;
              void this.show("text", pane);
            });
          });
        }
      }
    }
    /** The costs for sizes; for none, and why, if they cannot be read. */
    async counted(sizes) {
      const count = this.engine.cost;
      try {
        return [await count(sizes), void 0];
      } catch (error) {
        if (sizes.trim() === "" || error instanceof Restored) throw error;
        return [await count(""), error instanceof Error ? error.message : String(error)];
      }
    }
    parentOf(pane) {
      const end = pane.selected.lastIndexOf("/");
      return end < 0 ? void 0 : pane.box(pane.selected.slice(0, end));
    }
    async details(pane) {
      const { engine } = this;
      const box = pane.box(pane.selected);
      if (!box || !engine.details) return hint("Details", "Select a box. Its types, attributes, weights and metadata are shown here.");
      const found = await engine.details(box.level, box.index, pane.side);
      const { weight, extract } = engine;
      const canKeep = extract !== void 0 && pane.side === 0 && (box.item.k === "node" || box.item.k === "group");
      return details(found, {
        go: (level, item) => void this.go(level, item, pane),
        ...weight ? { weight: (input) => weight(box.level, box.index, input, pane.side) } : {},
        ...engine.path ? {
          path: () => {
            this.pathFrom = box.path;
            this.work.say(`path from ${box.item.t}: choose the other end in the picture or the tree, or search it; Escape ends this`);
          }
        } : {},
        ...canKeep ? { extract: () => void this.change("Kept", () => extract(box.level, box.index)) } : {}
      });
    }
    simplify() {
      const { engine } = this;
      const again = (isProved) => void this.change("Simplified", () => engine.simplify(isProved));
      if (this.edits) {
        const actions = [
          ...engine.before ? [button("Before and after", () => void this.compare(engine.before), { id: "before" })] : [],
          button("Undo", () => void this.change("Undone", engine.undo)),
          button("Save", () => void this.save(), { class: "primary" })
        ];
        const form = simplify(false, again);
        return [...changes(this.edits.title, this.edits.done, this.edits.title === "Undone" ? [] : actions), element("hr"), ...form];
      }
      const nodes = Number(this.overview?.facts.find(([name]) => name === "nodes")?.[1] ?? 0);
      return simplify(nodes <= MOST_PROVED, again);
    }
    comparing() {
      const { engine } = this;
      if (this.comparison) {
        const go = (change) => {
          const place2 = change.after ?? change.before;
          const pane = change.after ? this.main : this.panes[1];
          if (place2 && pane) void this.go(place2[0], place2[1], pane);
        };
        return comparison(this.comparison, go, [button("End the comparison", () => void this.single(), { id: "single" })]);
      }
      const parts = hint("Comparison", "Two models side by side: what was added, removed and changed.");
      if ((this.overview?.undo ?? 0) > 0 && engine.before) parts.push(element("p", {}, button("With the model before the last change", () => void this.compare(engine.before), { id: "before" })));
      if (engine.open) {
        const input = element("input", { type: "file", id: "older", "aria-label": "The older model", multiple: "", class: "hidden" });
        picks(input, (files) => void this.older(files));
        parts.push(element("p", {}, button("With an older file…", () => input.click(), { class: "primary" }), input));
      } else parts.push(element("p", { class: "hint" }, "`onnx view OLD NEW` compares two files."));
      return parts;
    }
    async older(files) {
      await this.work.guard(OPENING, async () => {
        await openOlder(this.engine, await chosen(files));
        await this.compare(this.engine.compare);
      });
    }
    /** Opens another model. What is shown stays until that has succeeded. */
    async reopen(sources) {
      if (this.work.isBusy) {
        this.work.warn("Something is worked on. Wait for it or cancel it, then open the file.");
        return;
      }
      await this.work.guard(OPENING, async () => {
        await openAll(this.engine, await sources());
        if (this.panes.length > 1) this.dropOlder();
        [this.run, this.edits, this.sizes, this.variables] = [void 0, void 0, "", void 0];
        this.search.value = "";
        this.forget();
        history.replaceState(null, "", "#");
        await this.start();
      });
    }
    // Runs and changes
    async runs(sizes, seed) {
      await this.work.guard("running", async () => {
        [this.sizes, this.seed] = [sizes, seed];
        try {
          this.run = await this.engine.run?.(sizes, seed);
        } catch (error) {
          if (error instanceof Restored) throw error;
          this.problem = error instanceof Error ? error.message : String(error);
          const { problem } = this;
          await this.show("values");
          this.work.say(problem);
          return;
        }
        await this.values(true);
        await this.show("values");
        if (this.run?.failure) this.work.say(`the run failed: ${this.run.failure.message}`);
      });
    }
    async values(isShown) {
      await this.work.guard("reading", async () => {
        this.main.hasValues = isShown;
        await this.main.reload();
        this.render();
      });
    }
    async change(title, apply) {
      if (!apply) return;
      await this.work.guard("working", async () => {
        const done = await apply();
        if (this.panes.length > 1) {
          await this.engine.single?.();
          this.dropOlder();
        }
        this.main.open.clear();
        this.main.selected = "";
        this.forget();
        await this.refresh();
        [this.run, this.edits] = [void 0, { title, done: { ...done, summary: singular(done.summary) } }];
        await this.main.reload();
        this.render();
        this.main.canvas.fit();
        this.count();
        await this.show("simplify");
        this.work.say(this.edits.done.summary);
        this.remember(true);
      });
    }
    async save() {
      await this.work.guard("saving", async () => {
        const bytes = await this.engine.save?.();
        if (!bytes) return;
        const name = this.fileName();
        const changed = this.edits && this.edits.title !== "Undone" ? `.${CHANGED[this.edits.title.split(" ")[0] ?? ""] ?? "changed"}` : "";
        download(`${name.replace(/\.onnx$/i, "")}${changed}.onnx`, bytes, "application/octet-stream");
        this.work.say(`saved ${bytes.length} bytes`);
      });
    }
    fileName() {
      return (this.title.textContent ?? "model").replace(/\.(onnxtxt|textproto|pbtxt|json)$/i, "").replace(/[^\w.-]+/g, "_");
    }
    async svg() {
      await this.work.guard("drawing", async () => {
        const open = [...this.main.open].map((path) => path.split("/").map(Number));
        const found = await this.engine.picture?.(open, this.main.canvas.coloring);
        if (found) download(`${this.fileName().replace(/\.onnx$/, "")}.svg`, found.svg, "image/svg+xml");
      });
    }
    async png() {
      const blob = await this.main.canvas.image();
      if (blob) download(`${this.fileName().replace(/\.onnx$/, "")}.png`, blob, "image/png");
      else this.work.say("the picture is too large for an image: close some boxes");
    }
    theme() {
      document.documentElement.classList.toggle("dark");
      for (const pane of this.panes) {
        pane.canvas.colors = palette(document.documentElement);
        pane.canvas.draw();
      }
    }
    // The address and keys
    /** The state in the address, so that a link shows the same. */
    remember(isStep) {
      write(
        { color: this.main.canvas.coloring, open: [...this.main.open], at: this.main.selected, panel: this.shown, find: this.search.value.trim(), model: this.engine.open ? this.overview?.title : void 0 },
        isStep
      );
    }
    async restore() {
      await this.main.level(0);
      const state = read();
      if (COLORINGS.includes(state.color) && (state.color !== "diff" || this.panes.length > 1)) this.color(state.color);
      this.main.open = new Set(state.open);
      for (const path of state.open) await this.main.load(path);
      this.main.selected = state.at;
      this.render();
      if (state.at) this.main.canvas.reveal(state.at);
      if (state.find && state.find !== this.search.value) {
        this.search.value = state.find;
        this.searched = state.find;
        this.take(await this.engine.search(state.find), 0);
      }
      const panel = PANELS.find((name) => name === state.panel && this.tabs.has(name));
      if (panel !== this.shown) await this.show(panel);
    }
    /** Ends what is begun, or closes the panel. */
    escape() {
      if (this.pathFrom === void 0) void this.show(void 0);
      this.pathFrom = void 0;
      this.work.rest();
    }
    key(event) {
      const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const pane = this.panes.find((pane2) => pane2.canvas.element === event.target) ?? this.main;
      const { clientWidth, clientHeight } = pane.canvas.element;
      const zoom = (factor) => {
        const before = { ...pane.canvas.view };
        pane.canvas.zoom(factor, clientWidth / 2, clientHeight / 2);
        this.together(pane, before);
      };
      const isPicture = event.target === pane.canvas.element || event.target === document.body;
      const follow = (direction) => {
        const next = pane.neighbor(direction);
        if (next !== void 0) void this.select(pane, next, true);
      };
      const keys = {
        "/": () => this.search.focus(),
        "+": () => zoom(1.25),
        "=": () => zoom(1.25),
        "-": () => zoom(0.8),
        "0": () => pane.canvas.fit(),
        "?": () => help(),
        n: () => void this.step(1),
        p: () => void this.step(-1),
        Escape: () => this.escape(),
        ...isPicture ? {
          Enter: () => void this.toggle(pane, pane.selected),
          ArrowDown: () => follow("down"),
          ArrowUp: () => follow("up"),
          ArrowLeft: () => follow("left"),
          ArrowRight: () => follow("right")
        } : {}
      };
      const digit = PANELS[Number(event.key) - 1];
      const action = keys[event.key] ?? (digit && this.tabs.has(digit) ? () => void this.show(this.shown === digit ? void 0 : digit) : void 0);
      if (!action) return;
      action();
      event.preventDefault();
    }
  };
  var root = document.getElementById("app");
  if (root) {
    if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.classList.add("dark");
    const scene = document.getElementById("scene");
    const base = document.body.dataset["session"];
    const wasm = document.body.dataset["worker"];
    const fail = (error) => {
      root.replaceChildren(element("p", { id: "message", role: "alert" }, error instanceof Error ? error.message : String(error)));
    };
    let take;
    droppable((sources) => take?.(sources));
    const show = (engine) => {
      const page = new Page(root, engine);
      take = (sources) => page.drop(sources);
      return page.start();
    };
    try {
      if (scene) show(embedded(scene)).catch(fail);
      else if (base !== void 0) {
        window.addEventListener("pagehide", () => navigator.sendBeacon(`${base}bye`));
        show(remote(base)).catch(fail);
      } else if (wasm !== void 0) {
        const engine = worker(wasm);
        const first = start(root, engine, async () => {
          try {
            await show(engine);
          } catch (error) {
            take = first;
            throw error;
          }
        });
        take = first;
      }
    } catch (error) {
      fail(error);
    }
  }
})();
