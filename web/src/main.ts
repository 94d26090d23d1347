// Starts the page: with a scene in the document, with the server of `onnx view`, or with the libraries in a worker.

import { element } from "./dom";
import { droppable } from "./drop";
import { embedded, remote, worker } from "./engines";
import type { Source } from "./files";
import type { Engine } from "./engine";
import { Page } from "./page";
import { start } from "./start";

const root = document.getElementById("app");
if (root) {
  if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.classList.add("dark");
  const scene = document.getElementById("scene");
  const base = document.body.dataset["session"];
  const wasm = document.body.dataset["worker"];
  const fail = (error: unknown): void => {
    root.replaceChildren(element("p", { id: "message", role: "alert" }, error instanceof Error ? error.message : String(error)));
  };
  let take: ((sources: () => Promise<Source[]>) => void) | undefined;
  droppable((sources) => take?.(sources));
  let page: Page | undefined;
  const show = (engine: Engine): Promise<void> => {
    const made = new Page(root, engine);
    page = made;
    take = (sources) => made.drop(sources);
    return made.work.first(() => made.start());
  };
  try {
    if (scene) show(embedded(scene)).catch(fail);
    else if (base !== undefined) show(remote(base, (text) => page?.work.waits(text))).catch(fail);
    else if (wasm !== undefined) {
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
