// Measures the page of `onnx view` and Netron on the same models, one after the other, in one run.
// `node bench/netron.mjs ONNX NETRON MODEL…`: ONNX is the command, NETRON the program of the Python package of that name.
// Prints a row for each model and program: time to the first picture, frames per second while panning, elements, memory.
import { spawn } from "node:child_process";
import { chromium } from "playwright-core";

const [onnx, netron, ...models] = process.argv.slice(2);
if (models.length === 0) {
  console.error("usage: node bench/netron.mjs ONNX NETRON MODEL…");
  process.exit(2);
}
const MOST = 180_000;
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const sleep = (time) => new Promise((done) => setTimeout(done, time));

async function answers(address) {
  for (let count = 0; count < 100; count += 1) {
    try {
      await fetch(address);
      return;
    } catch {
      await sleep(100);
    }
  }
  throw new Error(`nothing answers at ${address}`);
}

async function measured(start, isReady, pan) {
  const begin = performance.now();
  const { address, stop } = await start();
  const served = performance.now();
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  // Netron replaces `eval`, through which the measurements run.
  await page.addInitScript(() => {
    const { eval: own } = window;
    Object.defineProperty(window, "eval", { get: () => own, set: () => {} });
  });
  const result = { started: Math.round(served - begin) };
  try {
    const opened = performance.now();
    await page.goto(address);
    await page.waitForFunction(isReady, null, { timeout: MOST, polling: 50 });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    result.picture = Math.round(performance.now() - opened);
    result.elements = await page.evaluate(() => document.querySelectorAll("*").length);
    result.frames = Math.round(await page.evaluate(pan));
    result.memory = Math.round((await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0)) / 1e6);
  } catch (error) {
    result.failed = String(error.message ?? error).split("\n")[0];
  }
  await browser.close().catch(() => {});
  stop();
  return result;
}

function ours(model) {
  return measured(
    async () => {
      const child = spawn(onnx, ["view", model, "--no-browser", "--stay", "--keep-going"]);
      const address = await new Promise((resolve) => {
        let text = "";
        child.stdout.on("data", (data) => {
          text += data;
          if (text.includes("\n")) resolve(text.trim());
        });
      });
      return { address, stop: () => child.kill() };
    },
    () => document.body.dataset.ready === "true",
    async () => {
      // Everything is open while the picture is moved.
      document.getElementById("open-all").click();
      await new Promise((done) => setTimeout(done, 100));
      while (document.body.dataset.busy) await new Promise((done) => setTimeout(done, 100));
      const canvas = document.getElementById("canvas");
      const move = (type, y) =>
        canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX: 500, clientY: y, bubbles: true }));
      canvas.setPointerCapture = () => {};
      const begin = performance.now();
      let frames = 0;
      move("pointerdown", 400);
      while (performance.now() - begin < 2000) {
        await new Promise(requestAnimationFrame);
        move("pointermove", 400 - frames * 5);
        frames += 1;
      }
      move("pointerup", 0);
      return frames / ((performance.now() - begin) / 1000);
    },
  );
}

let port = 8600;
function theirs(model) {
  return measured(
    async () => {
      port += 1;
      const child = spawn(netron, ["--port", String(port), "--host", "127.0.0.1", model], { stdio: "ignore", env: { ...process.env, BROWSER: "true" } });
      const address = `http://127.0.0.1:${port}/`;
      await answers(address);
      return { address, stop: () => child.kill() };
    },
    () => {
      // The question about cookies.
      document.querySelectorAll("button").forEach((button) => /accept/i.test(button.textContent) && button.click());
      return document.querySelectorAll("#target g.node, #canvas g.node, g.graph-node").length > 0 && document.body.className.includes("default");
    },
    async () => {
      const target = document.getElementById("target") ?? document.scrollingElement;
      const begin = performance.now();
      let frames = 0;
      while (performance.now() - begin < 2000) {
        await new Promise(requestAnimationFrame);
        target.scrollTop += 5;
        frames += 1;
      }
      return frames / ((performance.now() - begin) / 1000);
    },
  );
}

for (const model of models) {
  for (const [name, run] of [["onnx view", ours], ["netron", theirs]]) {
    console.log(JSON.stringify({ model: model.split("/").pop(), program: name, ...(await run(model)) }));
  }
}
