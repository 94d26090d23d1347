// Clicks through the page in Chromium, as `onnx view` serves it and as `onnx draw` writes it.
// `node test/run.mjs ONNX [--bless]`: ONNX is the command; `--bless` writes the reference pictures anew.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import http from "node:http";
import { tmpdir } from "node:os";
import { fileURLToPath, pathToFileURL } from "node:url";
import pixelmatch from "pixelmatch";
import { chromium } from "playwright-core";
import { PNG } from "pngjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const onnx = process.argv[2];
const isBlessing = process.argv.includes("--bless");
if (!onnx) {
  console.error("usage: node test/run.mjs ONNX [--bless]");
  process.exit(2);
}
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(`${tmpdir()}/onnx-page-`);
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--force-color-profile=srgb"] });
const failures = [];

/** Starts `onnx view`, and resolves with its address. */
async function serve(model, ...options) {
  const child = spawn(onnx, ["view", model, "--no-browser", ...options]);
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const address = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
      if (text.includes("\n")) resolve(text.trim());
    });
    child.stderr.on("data", (data) => process.stderr.write(data));
    child.on("exit", (code) => reject(new Error(`onnx view ended with ${code}`)));
  });
  return { address, ended, stop: () => child.kill() };
}

/** A page, with the requests that it made and what went wrong in it. */
async function open(address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 720 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const requests = [];
  const errors = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("dialog", (dialog) => {
    errors.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(address);
  await page.waitForSelector("body[data-ready]");
  return { page, requests, errors, close: () => context.close() };
}

const idle = async (page) => {
  await page.waitForSelector("body:not([data-busy])");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
};
const status = (page) => page.textContent("#status");
const tree = (page) => page.locator("[role=treeitem]").evaluateAll((items) => items.map((item) => item.getAttribute("aria-label")));
const item = (page, label) => page.locator(`[role=treeitem][aria-label^="${label}"]`).first();

/** Compares the screen with the committed picture. Fonts of other systems differ, so some pixels may. */
async function screen(page, name) {
  await idle(page);
  const path = here(`screens/${name}.png`);
  const shot = await page.screenshot();
  if (isBlessing || !existsSync(path)) {
    if (!isBlessing) failures.push(`screens/${name}.png does not exist`);
    writeFileSync(path, shot);
    return;
  }
  const [expected, found] = [PNG.sync.read(readFileSync(path)), PNG.sync.read(shot)];
  assert.deepEqual([found.width, found.height], [expected.width, expected.height], `${name}: size`);
  const different = pixelmatch(expected.data, found.data, null, found.width, found.height, { threshold: 0.2 });
  const part = different / (found.width * found.height);
  if (part > 0.03) {
    writeFileSync(`${tmpdir()}/onnx-page-${name}.png`, shot);
    assert.fail(`${name}: ${(100 * part).toFixed(1)} % of the pixels differ; the screen is in ${tmpdir()}/onnx-page-${name}.png`);
  }
}

async function accessible(page, what) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document));
  const violations = found.violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.target).join(", ")}`);
  assert.deepEqual(violations, [], what);
}

async function test(name, run) {
  if (process.argv[3] && !process.argv[3].startsWith("--") && !name.includes(process.argv[3])) return;
  const start = Date.now();
  try {
    await run();
    console.log(`ok   ${name} (${Date.now() - start} ms)`);
  } catch (error) {
    failures.push(`${name}: ${error.stack ?? error}`);
    console.log(`FAIL ${name}`);
  }
}

const encoder = await serve(here("models/encoder.onnxtxt"), "--stay");

await test("the first screen has boxes and no request leaves the page", async () => {
  const { page, requests, errors, close } = await open(encoder.address);
  assert.deepEqual(await tree(page), [
    "embed, 2 nodes: Mul, Add",
    "encoder, 44 nodes: MatMul, Add, Transpose, …",
    "Softmax",
    "input x, batch×sequence×8",
    "output y, batch×sequence×8",
  ]);
  assert.match(await status(page), /nodes: 47/);
  await screen(page, "first");
  await accessible(page, "first screen");
  const { origin } = new URL(encoder.address);
  assert.deepEqual(requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:")), []);
  assert.deepEqual(errors, []);
  await close();
});

await test("boxes open and close, and the address holds the state", async () => {
  const { page, errors, close } = await open(encoder.address);
  await item(page, "encoder").dblclick();
  await idle(page);
  assert.ok((await tree(page)).includes("layer.2, 11 nodes: MatMul, Add, Transpose, …"));
  await item(page, "layer.1").dblclick();
  await idle(page);
  await page.click("#fit");
  await screen(page, "open");
  const link = page.url();
  await page.goBack();
  await idle(page);
  await page.goto("about:blank");
  await page.goto(link);
  await page.waitForSelector("body[data-ready]");
  assert.ok((await tree(page)).some((label) => label.startsWith("attention")));
  await page.click("#close-all");
  await idle(page);
  assert.equal((await tree(page)).length, 5);
  await page.click("#open-all");
  await idle(page);
  assert.equal((await tree(page)).filter((label) => label.startsWith("Softmax")).length, 5);
  assert.deepEqual(errors, []);
  await close();
});

await test("a click on the picture selects, and the mark of a box opens it", async () => {
  const { page, errors, close } = await open(encoder.address);
  // The boxes of the first screen are below each other in the middle: what is there is found from above.
  const seen = new Set();
  for (let y = 40; y < 600; y += 30) {
    // The panel that the first click opens makes the picture narrower.
    const box = await page.locator("#canvas").boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + y);
    await idle(page);
    const label = await page.evaluate(() => document.querySelector("[aria-selected=true]")?.getAttribute("aria-label"));
    if (label) seen.add(label.split(",")[0]);
    if (seen.has("encoder")) break;
  }
  assert.ok(seen.has("encoder"), [...seen].join());
  await page.locator("#canvas").focus();
  await page.keyboard.press("Enter");
  await idle(page);
  assert.ok((await tree(page)).some((label) => label.startsWith("layer.0")));
  assert.deepEqual(errors, []);
  await close();
});

await test("the tree works with the keyboard", async () => {
  const { page, close } = await open(encoder.address);
  await item(page, "embed").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await idle(page);
  assert.equal(await item(page, "encoder").getAttribute("aria-expanded"), "true");
  assert.equal(await item(page, "encoder").getAttribute("aria-selected"), "true");
  await page.keyboard.press("ArrowLeft");
  await idle(page);
  assert.equal(await item(page, "encoder").getAttribute("aria-expanded"), "false");
  await page.locator("#canvas").focus();
  await page.keyboard.press("ArrowDown");
  await idle(page);
  assert.equal(await item(page, "Softmax").getAttribute("aria-selected"), "true");
  await close();
});

await test("searches take names and selectors, and step through matches", async () => {
  const { page, errors, close } = await open(encoder.address);
  const search = async (text) => {
    await page.fill("#search", text);
    await page.keyboard.press("Tab");
    await idle(page);
    return status(page);
  };
  assert.match(await search("layer.3/attention/scores/Soft"), /match 1 of 1: Softmax/);
  assert.equal(await page.locator("[aria-selected=true]").getAttribute("aria-label"), "Softmax");
  assert.match(await search("Softmax() -> MatMul()"), /match 1 of 4/);
  await page.click("#next");
  await idle(page);
  assert.match(await status(page), /match 2 of 4/);
  await page.click("#previous");
  await page.click("#previous");
  await idle(page);
  assert.match(await status(page), /match 4 of 4/);
  assert.match(await search("nothing of this name"), /0 matches/);
  assert.deepEqual(errors, []);
  await close();
});

await test("details have types, attributes and defaults", async () => {
  const { page, close } = await open(encoder.address);
  await page.fill("#search", "/encoder/layer.0/attention/Transpose");
  await page.keyboard.press("Enter");
  await idle(page);
  await page.waitForSelector("#panel h2");
  const text = await page.textContent("#panel");
  assert.match(text, /Transpose/);
  assert.match(text, /perm/);
  assert.match(text, /batch×8×sequence/);
  await accessible(page, "details");
  await page.keyboard.press("Escape");
  await close();
});

await test("costs are a table and colors, for the sizes that are given", async () => {
  const { page, errors, close } = await open(encoder.address);
  await page.click("#panel-cost");
  await idle(page);
  assert.equal(await page.inputValue("#coloring"), "cost");
  await page.fill("#sizes", "batch=2 sequence=16");
  await page.keyboard.press("Enter");
  await idle(page);
  const text = await page.textContent("#panel");
  assert.match(text, /MatMul/);
  assert.match(text, /operations/);
  await screen(page, "cost");
  await accessible(page, "cost");
  await page.fill("#sizes", "nonsense=1");
  await page.keyboard.press("Enter");
  await idle(page);
  assert.match(await status(page), /no variable/);
  assert.deepEqual(errors, []);
  await close();
});

await test("the text is that of the selection", async () => {
  const { page, close } = await open(encoder.address);
  await page.click("#panel-text");
  await idle(page);
  assert.match(await page.textContent("#panel pre"), /Transpose/);
  await item(page, "embed").click();
  await idle(page);
  const text = await page.textContent("#panel pre");
  assert.ok(text.includes("Mul") && !text.includes("Transpose"));
  await close();
});

await test("simplify lists its edits, can be undone, and the result is saved", async () => {
  const { page, errors, close } = await open(encoder.address);
  assert.ok(await page.isDisabled("#undo"));
  await page.click("#simplify");
  await idle(page);
  assert.match(await status(page), /edits: 47 -> \d+ nodes/);
  assert.ok((await page.locator("#panel tr").count()) > 0);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  const path = `${folder}/saved.onnx`;
  await download.saveAs(path);
  const checked = spawnSync(onnx, ["check", path]);
  assert.equal(checked.status, 0, String(checked.stdout));
  await page.click("#undo");
  await idle(page);
  assert.match(await status(page), /47 nodes/);
  assert.deepEqual(errors, []);
  await close();
});

await test("light and dark", async () => {
  const { page, close } = await open(encoder.address, { colorScheme: "dark" });
  await screen(page, "dark");
  await accessible(page, "dark");
  await page.click("#theme");
  assert.equal(await page.evaluate(() => document.documentElement.classList.contains("dark")), false);
  await close();
});

await test("the server answers its own page only", async () => {
  const { origin, port, pathname } = new URL(encoder.address);
  const answer = (path, headers = {}) =>
    new Promise((resolve) => {
      const request = http.get({ host: "127.0.0.1", port, path, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on("error", () => resolve(0));
    });
  assert.equal(await answer(pathname), 200);
  assert.equal(await answer("/"), 404);
  assert.equal(await answer(`${pathname.slice(0, -2)}0/`), 404);
  assert.equal(await answer(`${pathname}../../etc/passwd`), 404);
  assert.equal(await answer(pathname, { host: "evil.example" }), 403);
  assert.equal(await answer(pathname, { origin: "http://evil.example" }), 403);
  assert.equal(await answer(pathname, { origin }), 200);
});
encoder.stop();

await test("diagnostics have marks, places and repairs", async () => {
  const server = await serve(here("models/broken.onnxtxt"), "--stay", "--keep-going");
  const { page, errors, close } = await open(server.address);
  assert.ok((await tree(page)).some((label) => label.includes(", error")));
  await page.click("#panel-findings");
  await idle(page);
  await screen(page, "findings");
  await accessible(page, "findings");
  assert.match(await page.textContent("#panel"), /can be repaired/);
  await page.click("#repair");
  await idle(page);
  assert.match(await status(page), /1 repairs/);
  assert.ok(!(await tree(page)).some((label) => label.includes(", error")));
  assert.deepEqual(errors, []);
  await close();
  server.stop();
});

await test("hostile names are text", async () => {
  const server = await serve(here("models/hostile.onnxtxt"), "--stay");
  const { page, errors, close } = await open(server.address);
  await page.click("#open-all");
  await idle(page);
  const labels = (await tree(page)).join("\n");
  assert.ok(labels.includes("<img src=x onerror=alert(1)>") && labels.includes("\\u{202e}"), labels);
  assert.ok(!labels.includes("\u202e"));
  for (const panel of ["findings", "cost", "text"]) {
    await page.click(`#panel-${panel}`);
    await idle(page);
  }
  await item(page, "Neg").click();
  await idle(page);
  assert.equal(await page.locator("img, #app script").count(), 0);
  assert.deepEqual(errors, []);
  await close();
  server.stop();
});

await test("a file of `onnx draw` works without a network", async () => {
  const path = `${folder}/encoder.html`;
  const drawn = spawnSync(onnx, ["draw", here("models/encoder.onnxtxt"), "-o", path]);
  assert.equal(drawn.status, 0, String(drawn.stderr));
  const { page, requests, errors, close } = await open(pathToFileURL(path).href, { offline: true });
  await item(page, "encoder").dblclick();
  await idle(page);
  assert.ok((await tree(page)).some((label) => label.startsWith("layer.3")));
  await page.fill("#search", "transpose");
  await page.keyboard.press("Enter");
  await idle(page);
  assert.match(await status(page), /match 1 of 4/);
  await screen(page, "file");
  await accessible(page, "file");
  assert.deepEqual(requests.filter((url) => !url.startsWith("file:") && !url.startsWith("data:")), []);
  assert.deepEqual(errors, []);
  await close();
});

await test("the server ends with its page", async () => {
  const server = await serve(here("models/encoder.onnxtxt"));
  const { page, close } = await open(server.address);
  await page.reload();
  await page.waitForSelector("body[data-ready]");
  await page.goto("about:blank");
  await close();
  assert.equal(await server.ended, 0);
});

await browser.close();
rmSync(folder, { recursive: true });
for (const failure of failures) console.error(failure);
process.exit(failures.length > 0 ? 1 : 0);
