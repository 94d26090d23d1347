// What keys do.

import { PANELS } from "./contents";
import { help } from "./help";
import type { Page } from "./page";

/** Does what a key with `Ctrl` or `Cmd` stands for. Returns `false` if the browser does. */
function command(page: Page, event: KeyboardEvent, isTyping: boolean): boolean {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || document.querySelector("dialog[open]")) return false;
  const key = event.key.toLowerCase();
  if (key === "s" && page.engine.save) page.saves();
  // In a field, the browser takes back what was typed.
  else if (key === "z" && page.engine.undo && !isTyping) page.undoes();
  else return false;
  return true;
}

/** Does what a key stands for, unless it is typed into a field. */
export function press(page: Page, event: KeyboardEvent): void {
  const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (command(page, event, isTyping)) {
    event.preventDefault();
    return;
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const pane = page.panes.find((pane) => pane.canvas.element === event.target) ?? page.main;
  const { clientWidth, clientHeight } = pane.canvas.element;
  const zoom = (factor: number): void => {
    const before = { ...pane.canvas.view };
    pane.canvas.zoom(factor, clientWidth / 2, clientHeight / 2);
    page.together(pane, before);
  };
  const isPicture = event.target === pane.canvas.element || event.target === document.body;
  const follow = (direction: "up" | "down" | "left" | "right"): void =>
    void page.at("selecting", async () => {
      const next = pane.neighbor(direction);
      if (next !== undefined) await page.select(pane, next, true);
    });
  const step = (by: number): void => void page.at("searching", () => page.search.step(by));
  const keys: Record<string, (() => void) | undefined> = {
    "/": () => page.search.field.focus(),
    "+": () => zoom(1.25),
    "=": () => zoom(1.25),
    "-": () => zoom(0.8),
    "0": () => pane.canvas.fit(),
    "?": () => help(),
    n: () => step(1),
    p: () => step(-1),
    Escape: () => page.escape(),
    ...(isPicture
      ? {
          Enter: () => void page.at("opening", () => page.toggle(pane, pane.selected)),
          ArrowDown: () => follow("down"),
          ArrowUp: () => follow("up"),
          ArrowLeft: () => follow("left"),
          ArrowRight: () => follow("right"),
        }
      : {}),
  };
  const digit = PANELS[Number(event.key) - 1];
  const action = keys[event.key] ?? (digit && (() => page.tab(digit)));
  if (!action) return;
  action();
  event.preventDefault();
}
