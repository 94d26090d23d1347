// The first screen of the page without a model.

import { button, element } from "./dom";
import { chosen, dropped, models, type ModelFiles, type Source } from "./files";
import type { Engine } from "./model";

/** Bytes of a model that a tab can hold. External data is read in parts and may be larger. */
const MOST_BYTES = 1_900_000_000;

/** Opens a model, as the older one of a comparison if `isOlder`. */
export async function openFiles(engine: Engine, files: ModelFiles, isOlder: boolean): Promise<void> {
  if (files.model.size > MOST_BYTES) {
    const size = (files.model.size / 1e9).toFixed(1);
    throw new Error(`${files.name} has ${size} GB, which a tab cannot hold: \`onnx view\` opens it in this page, whatever its size`);
  }
  const data = new Map<string, Blob>();
  for (const [path, source] of files.data) if (source.size > 0) data.set(path, await source.blob());
  await engine.open?.(files.name, await files.model.blob(), data, isOlder);
}

/** What was given: one model, or two for a comparison, the older one first. */
export async function openAll(engine: Engine, sources: Source[]): Promise<number> {
  const found = models(sources);
  const [first, second] = found;
  if (!first) throw new Error("there is no model: no file with the extension .onnx, .onnxtxt, .textproto or .json");
  if (found.length > 2) {
    const names = found.slice(0, 5).map((files) => files.model.path);
    throw new Error(`there are ${found.length} models: drop one, or two for a comparison (${names.join(", ")}…)`);
  }
  await openFiles(engine, second ?? first, false);
  if (second) await openFiles(engine, first, true);
  return found.length;
}

/** Takes what is dropped on an element. */
export function droppable(target: HTMLElement, take: (sources: () => Promise<Source[]>) => void): void {
  target.addEventListener("dragover", (event) => {
    event.preventDefault();
    target.classList.add("over");
  });
  target.addEventListener("dragleave", () => target.classList.remove("over"));
  target.addEventListener("drop", (event) => {
    event.preventDefault();
    target.classList.remove("over");
    const transfer = event.dataTransfer;
    if (transfer) {
      // The entries must be taken during the event.
      const sources = dropped(transfer);
      take(() => sources);
    }
  });
}

export function start(root: HTMLElement, engine: Engine, begin: () => Promise<void>): void {
  const accept = ".onnx,.onnxtxt,.textproto,.pbtxt,.json,.zip,.data,.bin";
  const input = element("input", { type: "file", id: "file", "aria-label": "Files of a model", accept, multiple: "", class: "hidden" });
  const folder = element("input", { type: "file", id: "folder", "aria-label": "A folder with a model", webkitdirectory: "", class: "hidden" });
  const message = element("p", { id: "message", role: "status" }, "Files stay in this tab; nothing is sent.");
  const zone = element(
    "main",
    { id: "drop" },
    element("h1", {}, "Drop an ONNX model here"),
    element("p", {}, "a file, a folder or a .zip with its external data; or two models for a comparison, the older one first"),
    element("p", { class: "actions" }, button("Choose files…", () => input.click(), { class: "primary" }), button("Choose a folder…", () => folder.click())),
    input,
    folder,
    message,
  );
  root.replaceChildren(zone);
  const take = async (sources: () => Promise<Source[]>): Promise<void> => {
    message.classList.remove("error");
    message.textContent = "reading …";
    document.body.dataset["busy"] = "reading";
    try {
      await openAll(engine, await sources());
      await begin();
    } catch (error) {
      if (!zone.isConnected) root.replaceChildren(zone);
      message.classList.add("error");
      message.textContent = error instanceof Error ? error.message : String(error);
    } finally {
      delete document.body.dataset["busy"];
    }
  };
  for (const field of [input, folder]) field.addEventListener("change", () => void take(() => chosen(field.files ?? [])));
  droppable(zone, (sources) => void take(sources));
}
