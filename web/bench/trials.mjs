// What a new user wants, done in the page, with the number of actions and the time: which node breaks a shape, why two exports
// differ, a detector that is made smaller and saved. `node bench/trials.mjs ONNX SITE DETECTOR`: ONNX is the command, with
// which results are checked; SITE is the folder that `build.mjs --site` wrote; DETECTOR is a model, such as an exported SSD.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { browse, folder, painted } from "./browser.mjs";
import { transformer } from "./generate.mjs";

const [onnx, site, detector] = process.argv.slice(2);
if (!detector) {
  console.error("usage: node bench/trials.mjs ONNX SITE DETECTOR");
  process.exit(2);
}
/** Time in which a user reads, decides and moves the hand, for each action. */
const THINKING = 8_000;
const made = mkdtempSync(`${tmpdir()}/onnx-trials-`);
const served = await folder(site);

function command(...args) {
  const { status, stdout, stderr } = spawnSync(onnx, args, { encoding: "utf8" });
  return { status, text: stdout + stderr };
}

/** A model file from text. */
function model(name, text) {
  writeFileSync(`${made}/${name}.onnxtxt`, text);
  const { status, text: problem } = command("convert", `${made}/${name}.onnxtxt`, "-o", `${made}/${name}.onnx`);
  assert.equal(status, 0, problem);
  return `${made}/${name}.onnx`;
}

async function trial(title, run) {
  const { page, close } = await browse();
  page.setDefaultTimeout(120_000);
  const steps = [];
  let begin = 0;
  const idle = async () => {
    await page.waitForSelector("body:not([data-busy])");
    await painted(page);
  };
  const user = {
    page,
    async act(what, work) {
      steps.push(what);
      const result = await work();
      await idle();
      return result;
    },
    give: (what, files) =>
      user.act(what, async () => {
        begin = performance.now();
        await page.setInputFiles("#file", files);
        await page.waitForSelector("body[data-ready]");
      }),
    click: (what, selector) => user.act(what, () => page.click(selector)),
    press: (what, key) => user.act(what, () => page.keyboard.press(key)),
    /** What is selected, by its label in the tree. */
    selected: () => page.locator("[aria-selected=true]").getAttribute("aria-label"),
    panel: () => page.locator("#panel").innerText(),
  };
  await page.goto(served.address);
  try {
    const result = await run(user);
    const time = performance.now() - begin;
    const whole = (time + steps.length * THINKING) / 1000;
    console.log(`ok   ${title}: ${steps.length} actions, ${(time / 1000).toFixed(1)} s of the page, ${whole.toFixed(0)} s with ${THINKING / 1000} s for each action`);
    steps.forEach((step, index) => console.log(`       ${index + 1}. ${step}`));
    console.log(`     ${result}`);
    if (whole >= 120) process.exitCode = 1;
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAIL ${title}, after: ${steps.join("; ")}\n${error.stack}`);
    await page.screenshot({ path: `${tmpdir()}/onnx-trial.png` });
    console.log(`     the screen is in ${tmpdir()}/onnx-trial.png`);
  }
  await close();
}

const layers = 12;
const text = transformer(layers);
/** The text with a change in a node of a layer. */
function changed(text, layer, from, to) {
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.includes(`layers.${layer}/`) && line.includes(from));
  assert.ok(at > 0, from);
  lines[at] = lines[at].replace(from, to);
  return lines.join("\n");
}

await trial("the node that breaks a shape, among 1,309", async (user) => {
  // A weight was mistaken for another one.
  const path = model("broken", changed(text, 7, '"narrow"', '"square"'));
  await user.give("drop the file; the tab Findings is red and has a number", path);
  assert.match(await user.page.textContent("#panel-findings"), /[1-9]/);
  await user.click("click on Findings; the first one names the sizes that do not fit", "#panel-findings");
  const finding = (await user.panel()).split("\n").slice(2, 5).join(" ");
  await user.click("click on its place; the picture shows the node", "#panel .finding .link");
  assert.match(await user.selected(), /MatMul/);
  await user.click("click on Details; the operands and their types are there", "#panel-details");
  const operands = await user.panel();
  assert.match(operands, /layers\.7\/mlp\/fc2/);
  assert.match(operands, /32[^]*8×8/);
  return `found: ${finding.slice(0, 200)}; ${/[^\n]*8×8/.exec(operands)[0].replace(/\s+/g, " ")}`;
});

await trial("why two exports differ", async (user) => {
  const before = model("export-1", text);
  let other = changed(text, 5, "value_float = 0.00001", "value_float = 0.000000000001");
  other = changed(other, 9, "= Erf ", "= Tanh ");
  // Another exporter names values and nodes as it likes.
  other = other.replaceAll("_output_0", "_out").replaceAll("/self_attn/", "/attention/");
  const after = model("export-2", other);
  await user.give("drop both files; the list of changes opens beside the two pictures", [before, after]);
  await user.page.waitForSelector("#canvas-older");
  const summary = await user.page.textContent("#summary");
  const panel = await user.panel();
  assert.match(panel, /Tanh/);
  assert.match(panel, /0\.00001|1e-5/);
  const node = user.page.locator("#panel .finding .link").first();
  const what = await node.textContent();
  await user.act("click on a change; both pictures show the node", () => node.click());
  return `${summary}; ${what}`;
});

await trial("a detector is made smaller and saved", async (user) => {
  await user.give("drop the file", detector);
  await user.click("click on Simplify", "#panel-simplify");
  await user.click("click on the button Simplify", "#simplify");
  const summary = await user.page.textContent("#summary");
  const path = `${made}/smaller.onnx`;
  await user.act("click on Save", async () => {
    const [download] = await Promise.all([user.page.waitForEvent("download"), user.page.click("#save")]);
    await download.saveAs(path);
  });
  const { status, text: problem } = command("check", path);
  assert.ok(status === 0 || !/error/.test(problem), problem);
  return `${summary}; ${statSync(detector).size} bytes before, ${statSync(path).size} after`;
});

served.stop();
rmSync(made, { recursive: true });
process.exit();
