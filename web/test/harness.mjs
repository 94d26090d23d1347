// What the tests of the page share: a browser, pages that note what went wrong in them, screens that are compared.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import pixelmatch from "pixelmatch";
import { chromium } from "playwright-core";
import { PNG } from "pngjs";

export const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const isBlessing = process.argv.includes("--bless");
const options = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const folder = mkdtempSync(`${tmpdir()}/onnx-page-`);
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--force-color-profile=srgb"] });
const failures = [];
let filter = "";

/** The arguments of the command line; after them comes a part of the names of tests. */
export function given(usage, count) {
  if (options.length < count) {
    console.error(usage);
    process.exit(2);
  }
  filter = options[count] ?? "";
  return options.slice(0, count);
}

/** A page, with the requests that it made and what went wrong in it. */
export async function open(address, options = {}, isReady = "body[data-ready]") {
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
  await page.waitForSelector(isReady);
  return { page, requests, errors, close: () => context.close() };
}

export const idle = async (page) => {
  await page.waitForSelector("body:not([data-busy])");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
};
export const status = (page) => page.textContent("#status");
export const tree = (page) => page.locator("[role=treeitem]").evaluateAll((items) => items.map((item) => item.getAttribute("aria-label")));
export const item = (page, label) => page.locator(`[role=treeitem][aria-label^="${label}"]`).first();

/** Compares the screen with the committed picture. Fonts of other systems differ, so some pixels may. */
export async function screen(page, name) {
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

export async function accessible(page, what) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document));
  const violations = found.violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.target).join(", ")}`);
  assert.deepEqual(violations, [], what);
}

export async function test(name, run) {
  if (!name.includes(filter)) return;
  const start = Date.now();
  try {
    await run();
    console.log(`ok   ${name} (${Date.now() - start} ms)`);
  } catch (error) {
    failures.push(`${name}: ${error.stack ?? error}`);
    console.log(`FAIL ${name}`);
  }
}

/** Ends the browser, and the program with the number of failures. */
export async function finish() {
  await browser.close();
  rmSync(folder, { recursive: true });
  for (const failure of failures) console.error(failure);
  process.exit(failures.length > 0 ? 1 : 0);
}
