// Measures this page and Netron on the same models, one after the other, in one run.
// `node bench/compare.mjs ONNX SITE NETRON [MODEL…]`: ONNX is the command, SITE the folder that `build.mjs --site` wrote,
// NETRON the program of the Python package. Without models, six are generated, of 110 to 56,000 nodes. Prints a line of
// JSON for each model and program, and a table at the end.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { browse, folder, memory, MOST, netron, painted, view } from "./browser.mjs";
import { LAYER, transformer } from "./generate.mjs";

const SIZES = [109, 1_000, 2_500, 5_600, 22_000, 56_000];
const [onnx, site, program, ...given] = process.argv.slice(2);
if (!program) {
  console.error("usage: node bench/compare.mjs ONNX SITE NETRON [MODEL…]");
  process.exit(2);
}
const made = mkdtempSync(`${tmpdir()}/onnx-bench-`);

/** Generated models of these sizes. */
function generated(nodes) {
  const path = `${made}/transformer-${nodes}.onnx`;
  writeFileSync(`${path}txt`, transformer(Math.max(1, Math.round(nodes / LAYER))));
  const { status, stderr } = spawnSync(onnx, ["convert", `${path}txt`, "-o", path]);
  if (status !== 0) throw new Error(`onnx convert: ${stderr}`);
  return path;
}

/** Serves a page, opens it, and measures it from the start of the server on: `open` gives the model, `isReady` tells in the page that it is shown. */
async function measured(serve, { open, isReady, prepare, pan }) {
  const { page, close } = await browse();
  const result = {};
  const begin = performance.now();
  const served = await serve();
  result.started = Math.round(performance.now() - begin);
  try {
    page.setDefaultTimeout(MOST);
    await page.goto(served.address);
    await open?.(page);
    await page.waitForFunction(isReady, null, { timeout: MOST, polling: 20 });
    await painted(page);
    result.picture = Math.round(performance.now() - begin);
    result.freeze = Math.round(await page.evaluate(() => window.reaction.longest));
    result.elements = await page.evaluate(() => document.querySelectorAll("*").length);
    const frames = Math.round(await page.evaluate(pan));
    if (prepare) {
      result.framesFirst = frames;
      const start = performance.now();
      result.boxes = await page.evaluate(prepare);
      await painted(page);
      result.all = Math.round(performance.now() - start);
      result.frames = Math.round(await page.evaluate(pan));
      result.elementsAll = await page.evaluate(() => document.querySelectorAll("*").length);
    } else result.frames = frames;
    result.heap = Math.round((await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0)) / 1e6);
    result.memory = Math.round((memory() ?? 0) / 1e6);
  } catch (error) {
    result.failed = String(error.message ?? error).split("\n")[0];
  }
  await close();
  served.stop();
  return result;
}

const ours = {
  isReady: () => document.body.dataset.ready === "true",
  // Everything is open, at a scale at which texts can be read.
  prepare: async () => {
    const idle = async () => {
      do await new Promise((done) => setTimeout(done, 50));
      while (document.body.dataset.busy);
    };
    document.getElementById("open-all").click();
    await idle();
    return document.querySelectorAll("[role=treeitem]").length;
  },
  pan: async () => {
    const canvas = document.getElementById("canvas");
    const move = (type, y) => canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX: 500, clientY: y, bubbles: true }));
    canvas.setPointerCapture = () => {};
    let frames = 0;
    move("pointerdown", 400);
    const begin = performance.now();
    while (performance.now() - begin < 3000) {
      await new Promise(requestAnimationFrame);
      move("pointermove", 400 - frames * 8);
      frames += 1;
    }
    move("pointerup", 0);
    return frames / ((performance.now() - begin) / 1000);
  },
};
const theirs = {
  isReady: () => {
    // The question about cookies.
    document.querySelectorAll("button").forEach((button) => /accept/i.test(button.textContent) && button.click());
    return document.querySelectorAll("#target g.node, #canvas g.node, g.graph-node").length > 0 && document.body.className.includes("default");
  },
  pan: async () => {
    const target = document.getElementById("target") ?? document.scrollingElement;
    const begin = performance.now();
    let frames = 0;
    while (performance.now() - begin < 3000) {
      await new Promise(requestAnimationFrame);
      target.scrollTop += 8;
      frames += 1;
    }
    return frames / ((performance.now() - begin) / 1000);
  },
};

/** Nodes of a model, without those in nested graphs. */
function nodes(model) {
  const { stdout } = spawnSync(onnx, ["info", model], { encoding: "utf8" });
  return Number(/([\d,]+) nodes/.exec(stdout)?.[1].replace(/,/g, "") ?? 0);
}

const rows = [];
for (const model of given.length > 0 ? given : SIZES.map(generated)) {
  const count = nodes(model);
  for (const [name, run] of [
    ["the page", () => measured(() => folder(site), { ...ours, open: (page) => page.setInputFiles("#file", model) })],
    ["`onnx view`", () => measured(() => view(onnx, model), ours)],
    ["Netron", () => measured(() => netron(program, model), theirs)],
  ]) {
    const row = { model: model.split("/").pop(), nodes: count, program: name, ...(await run()) };
    rows.push(row);
    console.log(JSON.stringify(row));
  }
}
rmSync(made, { recursive: true });
const seconds = (time) => (time === undefined ? "–" : `${(time / 1000).toFixed(2)} s`);
console.log("\n| model | nodes | | first picture | longest freeze | frames per second | all open | elements | memory |\n|---|--:|---|--:|--:|--:|--:|--:|--:|");
for (const row of rows) {
  const frames = row.framesFirst === undefined ? row.frames : `${row.framesFirst}, all open ${row.frames}`;
  const elements = row.elementsAll === undefined ? row.elements : `${row.elements}, all open ${row.elementsAll}`;
  const cells = row.failed
    ? [`failed: ${row.failed}`, "", "", "", "", ""]
    : [seconds(row.picture), seconds(row.freeze), frames, seconds(row.all), elements, `${row.memory} MB`];
  console.log(`| ${[row.model.replace(/\.onnx$/, ""), row.nodes.toLocaleString("en"), row.program, ...cells].join(" | ")} |`);
}
process.exit(0);
