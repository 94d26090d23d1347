// The keys of the page.

import { button, element, table } from "./dom";

const KEYS: [string, string][] = [
  ["/", "search: a name, or a selector such as Softmax() -> MatMul()"],
  ["n, p", "next and previous match"],
  ["↓, ↑", "to a user, to a maker of the selected box"],
  ["←, →", "to the neighbors in the same row"],
  ["Enter, double click", "open or close the selected box"],
  ["Shift click", "mark the path from the selected box to another one"],
  ["+, −, 0", "zoom in, zoom out, everything"],
  ["1 … 9", "panels"],
  ["Ctrl Z, ⌘ Z", "take back the last change of the model"],
  ["Ctrl S, ⌘ S", "save the model as a file"],
  ["Escape", "close the panel"],
];

/** Shows them until they are closed. */
export function help(): void {
  const dialog = element("dialog", { id: "keys", "aria-labelledby": "keys-title" });
  dialog.append(
    element("h2", { id: "keys-title" }, "Keys"),
    table(KEYS.map((row) => [...row])),
    button("Close", () => dialog.close(), { class: "primary" }),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
