// Files that are dropped anywhere on the page: on the picture, a panel or a dialog. The browser never leaves the page for them.

import { dropped, type Source } from "./files";

/** Gives what is dropped to `take`. Texts that are dragged into a field stay what they are. */
export function droppable(take: (sources: () => Promise<Source[]>) => void): void {
  const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  const isField = (event: DragEvent): boolean => event.target instanceof HTMLInputElement && event.target.type !== "file";
  const mark = (isOver: boolean): boolean => document.body.classList.toggle("over", isOver);
  window.addEventListener("dragover", (event) => {
    if (!hasFiles(event) && isField(event)) return;
    event.preventDefault();
    mark(hasFiles(event));
  });
  window.addEventListener("dragleave", (event) => {
    // Between elements of the page there is another one.
    if (event.relatedTarget === null) mark(false);
  });
  window.addEventListener("drop", (event) => {
    mark(false);
    if (!hasFiles(event) && isField(event)) return;
    event.preventDefault();
    const transfer = event.dataTransfer;
    if (!transfer || !hasFiles(event)) return;
    // The entries must be taken during the event.
    const sources = dropped(transfer);
    // What is not read has no one to tell it to.
    sources.catch(() => undefined);
    take(() => sources);
  });
}
