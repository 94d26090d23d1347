// The boxes as a tree, for keyboards and screen readers, in sync with the picture.

import type { Box, Picture } from "./compose";
import { element } from "./dom";

/** Boxes that are listed at most. */
const MOST = 2000;

/** Pixels at the beginning of an item that open and close its box, as the mark there. */
const MARK = 20;

export interface TreeEvents {
  /** An item was clicked. */
  choose(path: string): void;
  select(path: string): void;
  toggle(path: string): void;
}

export class Tree {
  readonly element = element("nav", { id: "tree", "aria-label": "Boxes of the model" });
  private readonly events: TreeEvents;
  private readonly items = new Map<string, HTMLElement>();

  constructor(events: TreeEvents) {
    this.events = events;
    this.element.addEventListener("click", (event) => {
      const path = pathOf(event.target);
      if (path === undefined) return;
      if (this.isMark(path, event)) this.events.toggle(path);
      else this.events.choose(path);
    });
    this.element.addEventListener("dblclick", (event) => {
      const path = pathOf(event.target);
      if (path !== undefined && !this.isMark(path, event)) this.events.toggle(path);
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  show(picture: Picture, selected: string): void {
    const hadFocus = this.element.contains(document.activeElement);
    const { scrollTop } = this.element;
    this.items.clear();
    // The levels are attributes: the text of an item is its own, without that of the boxes in it.
    const root = element("div", { role: "tree", "aria-label": "Boxes" });
    for (const box of picture.boxes.slice(0, MOST)) {
      if (box.item.k === "arriving" || box.item.k === "leaving") continue;
      root.append(this.item(box, selected));
    }
    this.element.replaceChildren(root);
    this.element.scrollTop = scrollTop;
    const first = this.items.get(selected) ?? this.items.values().next().value;
    first?.setAttribute("tabindex", "0");
    if (hadFocus) first?.focus({ preventScroll: true });
    this.reveal(selected);
  }

  private isMark(path: string, event: MouseEvent): boolean {
    const item = this.items.get(path);
    // A click that a program makes, such as a screen reader, has no place.
    if (!item?.hasAttribute("aria-expanded") || event.detail === 0) return false;
    const x = event.clientX - item.getBoundingClientRect().left;
    return x >= 0 && x < MARK;
  }

  /** Scrolls to an item that is not visible. Only the tree moves. */
  private reveal(path: string): void {
    const item = this.items.get(path)?.getBoundingClientRect();
    const tree = this.element.getBoundingClientRect();
    if (!item || (item.top >= tree.top && item.bottom <= tree.bottom)) return;
    this.element.scrollTop += item.top + item.height / 2 - (tree.top + tree.height / 2);
  }

  /** Changes the selection only. */
  mark(selected: string): void {
    for (const item of this.element.querySelectorAll('[aria-selected="true"], [tabindex="0"]')) {
      item.setAttribute("aria-selected", "false");
      item.setAttribute("tabindex", "-1");
    }
    const item = this.items.get(selected) ?? this.items.values().next().value;
    item?.setAttribute("tabindex", "0");
    if (this.items.has(selected)) item?.setAttribute("aria-selected", "true");
    this.reveal(selected);
  }

  private item(box: Box, selected: string): HTMLElement {
    const { item } = box;
    const detail = item.l?.[0] ?? "";
    const state = box.isOpen ? "▾ " : item.in === undefined ? "" : "▸ ";
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
        ...(item.in === undefined ? {} : { "aria-expanded": String(box.isOpen) }),
      },
      `${state}${kind}${item.t}${item.s ? " ●" : ""}`,
    );
    made.style.marginLeft = `${4 + 14 * box.depth}px`;
    this.items.set(box.path, made);
    return made;
  }

  private key(event: KeyboardEvent): void {
    const path = pathOf(event.target);
    if (path === undefined) return;
    const all = [...this.items.keys()];
    const at = all.indexOf(path);
    const isOpen = this.items.get(path)?.getAttribute("aria-expanded");
    const go = (next: string | undefined): void => {
      const item = next === undefined ? undefined : this.items.get(next);
      if (!item || next === undefined) return;
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
}

function pathOf(target: EventTarget | null): string | undefined {
  const item = target instanceof Element ? target.closest("[data-path]") : null;
  return item?.getAttribute("data-path") ?? undefined;
}
