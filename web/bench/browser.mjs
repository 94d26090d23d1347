// What the measurements of the page share: servers, a browser whose memory is known, and frames that are counted.
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import http from "node:http";
import { chromium } from "playwright-core";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", wasm: "application/wasm" };
/** Time of a page at most, in milliseconds. */
export const MOST = 300_000;
export const sleep = (time) => new Promise((done) => setTimeout(done, time));

/** Serves a folder on the loopback address. */
export async function folder(path) {
  const served = http.createServer((request, response) => {
    const name = request.url === "/" ? "index.html" : request.url.slice(1).split(/[?#]/)[0];
    try {
      response.setHeader("content-type", TYPES[name.split(".").pop()] ?? "text/plain");
      response.end(readFileSync(`${path}/${name}`));
    } catch {
      response.statusCode = 404;
      response.end();
    }
  });
  await new Promise((resolve) => served.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${served.address().port}/`, stop: () => served.close() };
}

/** Starts `onnx view`. */
export async function view(onnx, model) {
  const child = spawn(onnx, ["view", model, "--no-browser", "--stay", "--keep-going"]);
  const address = await new Promise((resolve, reject) => {
    let [text, problem] = ["", ""];
    child.stdout.on("data", (data) => {
      text += data;
      if (text.includes("\n")) resolve(text.trim());
    });
    child.stderr.on("data", (data) => (problem += data));
    child.on("exit", (code) => reject(new Error(`onnx view ended with ${code}: ${problem.trim()}`)));
  });
  return { address, stop: () => child.kill() };
}

let port = 8600;
/** Starts Netron, the program of the Python package of that name. */
export async function netron(program, model) {
  port += 1;
  const child = spawn(program, ["--port", String(port), "--host", "127.0.0.1", model], { stdio: "ignore", env: { ...process.env, BROWSER: "true" } });
  const address = `http://127.0.0.1:${port}/`;
  for (let count = 0; count < 200; count += 1) {
    try {
      await fetch(address);
      return { address, stop: () => child.kill() };
    } catch {
      await sleep(100);
    }
  }
  child.kill();
  throw new Error(`netron does not answer at ${address}`);
}

/** A browser of its own, with a page. */
export async function browse() {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  await page.addInitScript(() => {
    // Netron replaces `eval`, through which the measurements run.
    const { eval: own } = window;
    Object.defineProperty(window, "eval", { get: () => own, set: () => {} });
    // The longest time in which the page did not react.
    const state = { longest: 0 };
    Object.defineProperty(window, "reaction", { value: state });
    let last = performance.now();
    setInterval(() => {
      const now = performance.now();
      state.longest = Math.max(state.longest, now - last - 20);
      last = now;
    }, 20);
  });
  return { page, close: () => Promise.race([browser.close().catch(() => {}), sleep(10_000)]) };
}

/** Bytes of the processes with pages of the open browser, with their parts of what is shared; only Linux tells. */
export function memory() {
  const parents = new Map();
  try {
    for (const id of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      try {
        parents.set(Number(id), Number(readFileSync(`/proc/${id}/stat`, "utf8").split(") ").pop().split(" ")[1]));
      } catch {}
    }
  } catch {
    return undefined;
  }
  const isOwn = (id) => id === process.pid || (parents.has(id) && isOwn(parents.get(id)));
  let bytes = 0;
  for (const id of parents.keys()) {
    try {
      if (!isOwn(id) || !readFileSync(`/proc/${id}/cmdline`, "utf8").includes("--type=renderer")) continue;
      bytes += 1024 * Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, "utf8"))[1]);
    } catch {}
  }
  return bytes;
}

/** Waits until what was drawn is on the screen. */
export const painted = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
