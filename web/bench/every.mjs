// Opens every model of folders, and hostile files, in the page: each must give a picture or a clear message, and the page
// must react all the time. `node bench/every.mjs SITE [FOLDER…] [--hostile] [--only PART]`: SITE is the folder that
// `build.mjs --site` wrote. Prints a line for each file, and counts; ends with 1 if there is a fault.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { browse, folder, painted } from "./browser.mjs";
import { cases } from "./hostile.mjs";

const words = process.argv.slice(2);
const takes = (option) => {
  const at = words.indexOf(option);
  return at < 0 ? undefined : words.splice(at, 2)[1];
};
const only = takes("--only") ?? "";
const isHostile = words.includes("--hostile");
const [site, ...folders] = words.filter((word) => !word.startsWith("--"));
if (!site) {
  console.error("usage: node bench/every.mjs SITE [FOLDER…] [--hostile] [--only PART]");
  process.exit(2);
}
/** How long the page may not react, and how long a file may take, in milliseconds. */
const FROZEN = 3_000;
const MOST = 180_000;
const made = mkdtempSync(`${tmpdir()}/onnx-every-`);
const served = await folder(site);
let browser = await browse();

/** The picture has something other than its background. */
const isDrawn = () => {
  const canvas = document.getElementById("canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colors = new Set();
  for (let at = 0; at < data.length && colors.size < 4; at += 4 * 13) colors.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
  return colors.size >= 4;
};

/** What is on the screen after a file was given. */
async function opened(page, { path, isFolder }) {
  await page.goto(served.address);
  await page.setInputFiles(isFolder ? "#folder" : "#file", path);
  await page.waitForSelector("body[data-ready], #message.error", { timeout: MOST });
  await painted(page);
  if (!(await page.evaluate(() => document.body.dataset.ready === "true"))) {
    const message = (await page.textContent("#message")).trim();
    if (message.length < 15) throw new Error(`the message says nothing: "${message}"`);
    return { seen: "message", message };
  }
  const boxes = await page.locator("[role=treeitem]").count();
  return { seen: "picture", boxes, message: await page.textContent("#status") };
}

/** Uses everything that needs no input: boxes, panels. */
async function used(page) {
  const idle = () => page.waitForSelector("body:not([data-busy])", { timeout: MOST });
  await page.click("#open-all");
  await idle();
  await painted(page);
  for (const panel of await page.locator("#rail button[id^=panel-]:visible").evaluateAll((all) => all.map((made) => made.id))) {
    await page.click(`#${panel}`);
    await idle();
  }
  await page.locator("[role=treeitem]").first().click();
  await idle();
  await painted(page);
}

async function tried(subject) {
  const { page } = browser;
  const faults = [];
  const listeners = {
    pageerror: (error) => faults.push(`error in the page: ${error}`),
    crash: () => faults.push("the tab crashed"),
    dialog: (dialog) => {
      faults.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    },
    request: (request) => !request.url().startsWith(served.address) && !/^(data|blob):/.test(request.url()) && faults.push(`request: ${request.url()}`),
  };
  for (const [name, listener] of Object.entries(listeners)) page.on(name, listener);
  const begin = performance.now();
  let found = { seen: "nothing", message: "" };
  try {
    found = await opened(page, subject);
    found.time = performance.now() - begin;
    if (found.seen === "picture") {
      const isEmpty = found.boxes === 0;
      if (!isEmpty && !(await page.evaluate(isDrawn))) faults.push("the picture is blank");
      if (!isEmpty) await used(page);
      if ((await page.locator("#app img, #app script, #app iframe").count()) > 0) faults.push("a name became markup");
    }
    if (subject.expected && subject.expected !== "either" && subject.expected !== found.seen) faults.push(`a ${subject.expected} was expected`);
    found.longest = await page.evaluate(() => window.reaction.longest);
    if (found.longest > FROZEN) faults.push(`the page did not react for ${Math.round(found.longest)} ms`);
  } catch (error) {
    faults.push(String(error.message ?? error).split("\n")[0]);
  }
  for (const [name, listener] of Object.entries(listeners)) page.off(name, listener);
  if (faults.length > 0) {
    await browser.close();
    browser = await browse();
  }
  return { ...found, faults };
}

const subjects = [];
for (const path of folders) {
  const models = readdirSync(path).filter((name) => /\.(onnx|onnxtxt)$/.test(name));
  for (const name of models.sort()) {
    // A model with external data is given with its folder's files.
    const data = readdirSync(path).filter((other) => other.startsWith(`${name}.`) && /\.data$/.test(other));
    subjects.push({ name, path: [name, ...data].map((file) => `${path}/${file}`), isFolder: false, expected: "picture" });
  }
}
if (isHostile) subjects.push(...cases(made));

const counts = { picture: 0, message: 0, nothing: 0 };
let [faulty, slowest, longest] = [0, 0, 0];
for (const subject of subjects.filter(({ name }) => name.includes(only))) {
  const { seen, message, faults, time = 0, longest: frozen = 0 } = await tried(subject);
  counts[seen] += 1;
  faulty += faults.length > 0 ? 1 : 0;
  [slowest, longest] = [Math.max(slowest, time), Math.max(longest, frozen)];
  console.log(`${faults.length > 0 ? "FAULT" : "ok   "} ${seen.padEnd(8)} ${String(Math.round(time)).padStart(6)} ms, longest freeze ${String(Math.round(frozen)).padStart(5)} ms  ${subject.name}: ${message.slice(0, 140)}`);
  for (const fault of faults) console.log(`      ${fault}`);
}
console.log(`${counts.picture} pictures, ${counts.message} messages, ${counts.nothing} neither; ${faulty} with a fault; slowest ${Math.round(slowest)} ms; longest freeze ${Math.round(longest)} ms`);
await browser.close();
served.stop();
rmSync(made, { recursive: true });
process.exit(faulty > 0 ? 1 : 0);
