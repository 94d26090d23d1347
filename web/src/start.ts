// The first screen of the page without a model.

import { button, element, picks } from "./dom";
import { beside, chosen, models, type ModelFiles, type Source } from "./files";
import type { Engine } from "./engine";
import { read } from "./state";
import { PATIENCE } from "./work";

/** Bytes of a model that a tab can hold. External data is read in parts and may be larger. */
const MOST_BYTES = 1_900_000_000;

function checked(files: ModelFiles): ModelFiles {
  if (files.model.size > MOST_BYTES) {
    const size = (files.model.size / 1e9).toFixed(1);
    throw new Error(`${files.name} has ${size} GB, which a tab cannot hold: \`onnx view\` opens it in this page, whatever its size`);
  }
  return files;
}

/** Opens what was given: one model, or two for a comparison, the older one first. */
export async function openAll(engine: Engine, sources: Source[]): Promise<void> {
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

/** Opens the older model of a comparison. */
export async function openOlder(engine: Engine, sources: Source[]): Promise<void> {
  const [found] = models(sources);
  if (!found) throw new Error("there is no model among the files");
  await engine.older?.(checked(beside(found, sources)));
}

/** Shows the screen. Returns what takes files that are dropped on it. */
export function start(root: HTMLElement, engine: Engine, begin: () => Promise<void>): (sources: () => Promise<Source[]>) => void {
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
    ...(model === undefined ? [] : [element("p", { id: "belongs" }, `This link shows a place in ${model}: open that model.`)]),
    message,
  );
  root.replaceChildren(zone);
  const take = async (sources: () => Promise<Source[]>): Promise<void> => {
    // One after the other: what is read can be cancelled.
    if (document.body.dataset["busy"] !== undefined) return;
    message.classList.remove("error");
    message.textContent = "reading …";
    document.body.dataset["busy"] = "reading";
    const timer = setTimeout(() => message.append(" ", button("Cancel", () => engine.cancel?.(), { id: "cancel" })), PATIENCE);
    try {
      await openAll(engine, await sources());
      await begin();
    } catch (error) {
      if (!zone.isConnected) root.replaceChildren(zone);
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
