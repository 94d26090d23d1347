// Clicks through the page as a static folder: the libraries run as WebAssembly in a worker, and nothing is sent. `files.mjs` tests
// how files are opened.
// `node test/site.mjs ONNX SITE [PART] [--bless]`: ONNX is the command, with which results are checked; SITE is the folder
// that `build.mjs --site` wrote; PART of the names of tests.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";
import { accessible, finish, folder, idle, item, open as openPage, screen, status, test, tree } from "./harness.mjs";
import { address, begin, encoder, made, model, onnx, panel, saved, search, served, zip } from "./static.mjs";

await test("a file is dropped, and no request leaves the page", async () => {
  const { page, requests, errors, close } = await begin();
  await screen(page, "site-start");
  await accessible(page, "start");
  await page.evaluate((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], "encoder.onnxtxt"));
    document.querySelector("#drop").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, encoder);
  await page.waitForSelector("body[data-ready]");
  assert.match(await status(page), /nodes: 47/);
  assert.equal((await tree(page)).length, 5);
  await screen(page, "site-first");
  await accessible(page, "first screen");
  assert.deepEqual(requests.filter((url) => ![address, "data:", `blob:${address}`].some((own) => url.startsWith(own))), []);
  assert.deepEqual(errors, []);
  await close();
});

await test("files that are not models are refused with the reason", async () => {
  const { page, close } = await begin(made("picture.onnx", Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0])));
  assert.match(await page.textContent("#message"), /PNG image/);
  for (const [name, bytes, reason] of [
    ["empty.onnx", "", /empty/],
    ["cut.onnx", Buffer.from([0x08, 0x0a, 0x3a, 0x7f, 0x0a]), /./],
    ["page.onnx", "<!doctype html><title>x</title>", /web page/],
    ["text.onnxtxt", "nonsense", /./],
    ["damaged.zip", "PK", /zip archive/],
  ]) {
    await page.setInputFiles("#file", made(name, bytes));
    await idle(page);
    assert.match(await page.textContent("#message.error"), reason, name);
  }
  await close();
});

await test("other forms of a model, external data, folders and archives", async () => {
  const weights = Array.from({ length: 1024 }, (_, index) => index).join(", ");
  const text = `<ir_version: 10, opset_import: ["": 21]> g (float[N, 32] x) => (float[N, 32] y) <float[32, 32] w = {${weights}}> { y = MatMul (x, w) }`;
  const source = made("linear.onnxtxt", text);
  mkdirSync(`${folder}/external/inner`, { recursive: true });
  const convert = (...args) => assert.equal(spawnSync(onnx, ["convert", source, "-o", ...args]).status, 0, args.join(" "));
  convert(`${folder}/linear.json`);
  convert(`${folder}/linear.textproto`);
  convert(`${folder}/external/linear.onnx`, "--weights", "external=linear.data");
  const statistics = async (page) => {
    await search(page, "MatMul()");
    await page.click("#panel .statistics");
    await page.waitForSelector("#panel .weight :is(table, .warning)");
    return page.textContent("#panel .weight");
  };
  const files = ["linear.onnx", "linear.data"].map((name) => `${folder}/external/${name}`);
  const archive = made("linear.zip", zip(files.map((path) => [`m/${path.split("/").pop()}`, readFileSync(path)])));
  for (const given of [source, `${folder}/linear.json`, `${folder}/linear.textproto`, files, archive]) {
    const { page, errors, close } = await begin(given);
    assert.match(await statistics(page), /greatest1023/, String(given));
    assert.deepEqual(errors, [], String(given));
    await close();
  }
  // Without its data the model is shown, and what is missing is said.
  const alone = await begin(files[0]);
  assert.match(await statistics(alone.page), /no such file/);
  await alone.close();
  const { page, close } = await begin();
  await page.setInputFiles("#folder", `${folder}/external`);
  await page.waitForSelector("body[data-ready]");
  assert.match(await statistics(page), /greatest1023/);
  await close();
});

await test("details have operands, defaults, the definition, weights and their histogram", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await search(page, "/encoder/layer.0/attention/query/MatMul");
  const text = await page.textContent("#panel");
  assert.match(text, /Y = MatMul \(A, B\)/);
  assert.match(text, /1, 9, 13/);
  assert.match(text, /batch×sequence×8/);
  assert.equal(await page.getAttribute("#panel a", "href"), "https://onnx.ai/onnx/operators/onnx__MatMul.html");
  await page.click("#panel .statistics");
  await page.waitForSelector("#panel .histogram");
  assert.match(await page.textContent("#panel .weight"), /zeros56/);
  await screen(page, "details");
  await accessible(page, "details");
  await search(page, "/encoder/layer.0/attention/scores/Softmax");
  assert.match(await page.textContent("#panel"), /axis.*-1/);
  assert.deepEqual(errors, []);
  await close();
});

await test("searches take names and selectors, mark and count what they find, and step through it", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await search(page, "Softmax() -> MatMul()");
  assert.match(await status(page), /match 1 of 4/);
  assert.equal(await page.textContent("#found"), "1 / 4");
  await page.click("#next");
  await idle(page);
  assert.match(await status(page), /match 2 of 4/);
  await page.locator("#canvas").focus();
  await page.keyboard.press("p");
  await idle(page);
  await page.keyboard.press("p");
  await idle(page);
  assert.match(await status(page), /match 4 of 4/);
  await search(page, "nothing of this name");
  assert.match(await status(page), /0 matches/);
  await search(page, "up(");
  assert.ok((await status(page)).length > 10);
  assert.deepEqual(errors, []);
  await close();
});

await test("matches that are not listed are counted", async () => {
  const nodes = Array.from({ length: 700 }, (_, index) => `v${index} = Relu (x)`).join("\n");
  const text = `<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] v0) <float[2] unused = {1, 2}> { ${nodes} }`;
  const { page, errors, close } = await begin(made("many.onnxtxt", text));
  await search(page, "Relu()");
  assert.equal(await page.textContent("#found"), "1 / 500 of 700");
  assert.match(await status(page), /match 1 of 700, of which the first 500 are listed/);
  await page.click("#previous");
  await idle(page);
  assert.equal(await page.textContent("#found"), "500 / 500 of 700");
  await search(page, "unused");
  assert.match(await status(page), /0 matches; 1 more is not in the picture/);
  assert.deepEqual(errors, []);
  await close();
});

await test("weights in other number formats have their real values, and the nodes that compute them are reached", async () => {
  const text = `<ir_version: 10, opset_import: ["": 21]> g (float[N, 2] x) => (float[N, 2] y) <int8[2] q = {5, 7}, float s = {0.5}> {
    ["dq"] z = DequantizeLinear (q, s)  ["sum"] y = Add (x, z) }`;
  const { page, errors, close } = await begin(made("dq.onnxtxt", text));
  await search(page, "DequantizeLinear()");
  assert.match(await status(page), /match 1 of 1: DequantizeLinear {2}dq, which is in the box of its user/);
  assert.equal(await page.textContent("#panel h2"), "DequantizeLinear");
  assert.match(await page.textContent("#panel"), /computes a weight of Add {2}sum/);
  await page.click("#user");
  await idle(page);
  assert.equal(await page.textContent("#panel h2"), "Add");
  await page.click("#panel .statistics");
  await page.waitForSelector("#panel .weight table");
  const weight = await page.textContent("#panel .weight");
  assert.match(weight, /greatest3\.5.*Stored as q int8 2.*greatest7/);
  await page.locator("#panel .link", { hasText: "DequantizeLinear" }).click();
  await idle(page);
  assert.equal(await page.textContent("#panel h2"), "DequantizeLinear");
  await accessible(page, "a node without a box");
  assert.deepEqual(errors, []);
  await close();
});

await test("without a selection the details are those of the model", async () => {
  const text = encoder.replace("<ir_version:", '<producer_version: "2.1", doc_string: "what it is for", metadata_props: ["author": "somebody"], ir_version:');
  const { page, errors, close } = await begin(made("about.onnxtxt", text));
  await panel(page, "details");
  const about = await page.textContent("#panel");
  for (const part of [/producertest 2\.1/, /operator setsai\.onnx 21/, /what it is for/, /authorsomebody/, /batch×sequence×8/]) assert.match(about, part);
  await screen(page, "model");
  await accessible(page, "the model");
  await item(page, "embed").click();
  await idle(page);
  assert.match(await page.textContent("#panel h2"), /embed/);
  assert.deepEqual(errors, []);
  await close();
});

await test("a path between two nodes is marked", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await search(page, "/encoder/layer.0/attention/query/MatMul");
  await page.click("#path");
  await search(page, "/encoder/layer.0/Add_1");
  assert.match(await status(page), /7 nodes between MatMul and Add/);
  assert.match(await page.textContent("#panel"), /layer\.0\/Add_1/);
  await screen(page, "path");
  await page.click("#next");
  await idle(page);
  assert.match(await status(page), /match 1 of 8/);
  assert.deepEqual(errors, []);
  await close();
});

await test("the other end of a path is chosen among matches", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await search(page, "/encoder/layer.0/attention/query/MatMul");
  await page.click("#path");
  await search(page, "Softmax() -> MatMul()");
  assert.match(await status(page), /4 matches are marked/);
  await page.click("#next");
  await idle(page);
  assert.match(await status(page), /match 1 of 4/);
  await page.click("#next");
  await idle(page);
  assert.match(await status(page), /match 2 of 4/);
  await page.click("#previous");
  await idle(page);
  await page.locator("#search").press("Enter");
  await idle(page);
  assert.match(await status(page), /nodes? between MatMul and/);
  assert.deepEqual(errors, []);
  await close();
});

await test("sizes that cannot be read are explained next to the field", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await panel(page, "values");
  assert.equal(await page.getAttribute("#sizes", "placeholder"), "batch=1 sequence=1");
  for (const [name, action] of [["values", "#run"], ["cost", "#panel .row button"]]) {
    if (name === "cost") await panel(page, "cost");
    for (const text of ["batch=many", "nonsense", "other=1"]) {
      await page.fill("#sizes", text);
      await page.click(action);
      await idle(page);
      assert.match(await page.textContent("#sizes-problem"), /batch=1 sequence=1/, `${name} ${text}`);
      assert.equal(await page.inputValue("#sizes"), text);
    }
    await page.fill("#sizes", "batch=2 sequence=3");
    await page.click(action);
    await idle(page);
    assert.equal(await page.locator("#sizes-problem").count(), 0);
  }
  assert.ok(await page.isVisible("#cost-legend"));
  await accessible(page, "cost");
  assert.deepEqual(errors, []);
  await close();
});

await test("findings have places, and repairs are applied and undone", async () => {
  const { page, errors, close } = await begin(model("broken"));
  assert.ok((await tree(page)).some((label) => label.includes(", error")));
  await panel(page, "findings");
  await page.click("#panel .finding .link");
  await idle(page);
  assert.equal(await page.locator("[aria-selected=true]").count(), 1);
  await page.click("#panel .apply");
  await idle(page);
  assert.match(await status(page), /1 repair/);
  assert.ok(!(await tree(page)).some((label) => label.includes(", error")));
  await page.click("#undo");
  await idle(page);
  assert.ok((await tree(page)).some((label) => label.includes(", error")));
  assert.deepEqual(errors, []);
  await close();
});

await test("costs are colors and a table that is sorted", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await panel(page, "cost");
  assert.equal(await page.inputValue("#coloring"), "cost");
  await page.fill("#sizes", "batch=2 sequence=16");
  await page.keyboard.press("Enter");
  await idle(page);
  const first = () => page.locator("#panel table").last().locator("tbody tr").first().textContent();
  assert.match(await first(), /MatMul/);
  await page.locator("#panel .sort", { hasText: "operations" }).click();
  assert.match(await first(), /MatMul/);
  await page.locator("#panel .sort", { hasText: "operations" }).click();
  assert.ok(!/MatMul/.test(await first()));
  assert.equal(await page.locator("#panel th[aria-sort=ascending]").count(), 1);
  await screen(page, "site-cost");
  await accessible(page, "cost");
  assert.deepEqual(errors, []);
  await close();
});

await test("a run shows values at the edges", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await item(page, "encoder").dblclick();
  await idle(page);
  await panel(page, "values");
  await page.fill("#sizes", "batch=2 sequence=3");
  await page.click("#run");
  await idle(page);
  assert.match(await page.textContent("#panel"), /48 values, batch=2 sequence=3/);
  assert.match(await page.textContent("#panel"), /float\[2,3,8\]/);
  await screen(page, "values");
  await accessible(page, "values");
  await search(page, "/encoder/layer.0/attention/scores/Softmax");
  await panel(page, "details");
  assert.match(await page.textContent("#panel"), /float\[2,3,3\]: [\d.]+ … /);
  assert.deepEqual(errors, []);
  await close();
});

await test("a run that fails leads to the node", async () => {
  const text = `<ir_version: 10, opset_import: ["": 21]> g (float[2, 3] x) => (float[a, b] y) <int64[2] s = {4, 2}> { ["fine"] a = Relu (x)  ["breaks"] y = Reshape (a, s) }`;
  const { page, close } = await begin(made("breaks.onnxtxt", text));
  await panel(page, "values");
  await page.click("#run");
  await idle(page);
  assert.match(await page.textContent("#failure"), /Reshape.*breaks/);
  await page.click("#failure .link");
  await idle(page);
  assert.equal(await page.locator("[aria-selected=true]").textContent(), "Reshape ●");
  await close();
});

await test("simplify lists its edits with proofs, shows before and after, is undone and saved", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await panel(page, "simplify");
  await screen(page, "simplify-before");
  await page.check("#prove");
  await page.click("#simplify");
  await idle(page);
  assert.match(await status(page), /edits: 47 → \d+ nodes/);
  const edits = Number(/(\d+) edits/.exec(await status(page))[1]);
  const counts = await page.locator("#panel .rule .count").allTextContents();
  assert.equal(counts.map(Number.parseFloat).reduce((sum, count) => sum + count, 0), edits);
  assert.equal(counts.filter((text) => /^1 edits/.test(text)).length, 0);
  const rules = await page.locator("#panel .rule summary span:first-child").allTextContents();
  assert.equal(new Set(rules).size, rules.length);
  // What only removes nodes is last.
  const removes = rules.map((rule) => /^(no|unique)-/.test(rule));
  assert.deepEqual(removes, [...removes].sort((a, b) => a - b), rules.join());
  assert.equal(await page.locator("#panel .rule table").count(), 0);
  for (let at = 0; at < rules.length; at += 1) await page.locator("#panel .rule summary").nth(at).click();
  await idle(page);
  assert.equal(await page.locator("#panel .rule table").count(), rules.length);
  assert.match(await page.textContent("#panel"), /proved by|tested in/);
  assert.doesNotMatch(await page.textContent("#panel"), /\b1 (runs|attempts)/);
  await screen(page, "edits");
  await accessible(page, "edits");
  const [offered] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  assert.equal(offered.suggestedFilename(), "encoder.simplified.onnx");
  const path = await saved(page, "simplified.onnx");
  assert.equal(spawnSync(onnx, ["check", path]).status, 0);
  const compared = spawnSync(onnx, ["compare", model("encoder"), path]);
  assert.equal(compared.status, 0, `${compared.stdout}${compared.stderr}`);
  await page.click("#before");
  await idle(page);
  assert.equal(await page.locator(".pane canvas").count(), 2);
  assert.match(await page.textContent("#summary"), /removed/);
  await screen(page, "before-after");
  await accessible(page, "before and after");
  await page.click("#single");
  await idle(page);
  assert.equal(await page.locator(".pane canvas").count(), 1);
  await page.click("#undo");
  await idle(page);
  assert.match(await status(page), /47 nodes/);
  assert.doesNotMatch(await page.textContent("#panel"), /Nothing was changed/);
  assert.deepEqual(errors, []);
  await close();
});

await test("what a change did has a panel of its own, and a selection is followed by its details", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  const heading = () => page.textContent("#panel h2");
  const isPressed = (name) => page.getAttribute(`#panel-${name}`, "aria-pressed");
  assert.ok(await page.isHidden("#panel-changes"));
  const changes = [
    ["Simplified", () => page.click("#simplify"), "simplify"],
    ["Converted to version 20", async () => {
      await page.fill("#version", "20");
      await page.click("#convert");
    }, "versions"],
    ["Kept", () => page.click("#extract"), "details"],
    ["Undone", () => page.click("#undo"), "findings"],
  ];
  for (const [title, change, from] of changes) {
    await item(page, "Softmax").click();
    await idle(page);
    if ((await isPressed(from)) !== "true") await panel(page, from);
    await change();
    await idle(page);
    assert.equal(await heading(), title);
    assert.deepEqual([await isPressed("changes"), await isPressed("simplify")], ["true", "false"], title);
    assert.equal(await page.locator("#simplify").count(), 0, title);
    await search(page, "Softmax()");
    assert.equal(await heading(), "Softmax", title);
    await panel(page, "changes");
    await item(page, "Softmax").click();
    await idle(page);
    assert.equal(await heading(), "Softmax", title);
    assert.equal(await isPressed("details"), "true", title);
  }
  // Before a change, too.
  await panel(page, "simplify");
  await item(page, "Softmax").click();
  await idle(page);
  assert.equal(await heading(), "Softmax");
  // A conversion lists what else it changes.
  await page.setInputFiles("#reopen", made("old.onnxtxt", encoder.replace("ir_version: 10", "ir_version: 8")));
  await page.waitForFunction(() => document.title === "old.onnxtxt");
  await idle(page);
  assert.ok(await page.isHidden("#panel-changes"));
  await panel(page, "versions");
  await page.fill("#version", "23");
  await page.click("#convert");
  await idle(page);
  assert.match(await page.textContent("#panel"), /the IR version, which operator set 23 needs: 8 → \d+/);
  assert.deepEqual(errors, []);
  await close();
});

await test("keys take back a change and save the model", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await panel(page, "simplify");
  await page.click("#simplify");
  await idle(page);
  for (const key of ["Control+s", "Meta+s"]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press(key)]);
    assert.equal(download.suggestedFilename(), "encoder.simplified.onnx", key);
    await idle(page);
  }
  // In a field, the browser takes back what was typed.
  await page.fill("#search", "x");
  await page.keyboard.press("Control+z");
  await idle(page);
  assert.ok(await page.isEnabled("#undo"));
  await page.locator("#canvas").focus();
  await page.keyboard.press("Control+z");
  await idle(page);
  assert.match(await status(page), /47 nodes/);
  assert.ok(await page.isDisabled("#undo"));
  // Nothing is left to take back.
  await page.keyboard.press("Meta+z");
  await idle(page);
  assert.match(await status(page), /nodes: 47/);
  await page.keyboard.press("?");
  assert.match(await page.textContent("#keys"), /Ctrl Z.*take back.*Ctrl S.*save/s);
  assert.deepEqual(errors, []);
  await close();
});

await test("on a phone the tree is a drawer, and all buttons of the panels are visible", async () => {
  const { page, errors, close } = await begin(model("encoder"), { viewport: { width: 390, height: 780 }, hasTouch: true });
  const isOpen = () => page.isVisible("#tree");
  assert.equal(await isOpen(), false);
  for (const choose of [
    () => item(page, "encoder").click(),
    () => page.click("#panel-findings"),
    () => page.keyboard.press("Escape"),
    // What of the picture is beside the tree.
    () => page.mouse.click(380, 200),
  ]) {
    await page.click("#tree-button");
    assert.equal(await isOpen(), true);
    await choose();
    await idle(page);
    assert.equal(await isOpen(), false, String(choose));
  }
  // The mark of an item opens its box without choosing it.
  await page.click("#tree-button");
  await item(page, "encoder").click({ position: { x: 8, y: 8 } });
  await idle(page);
  assert.equal(await isOpen(), true);
  assert.equal(await item(page, "encoder").getAttribute("aria-expanded"), "true");
  await screen(page, "phone-tree");
  await item(page, "layer.1").click();
  await idle(page);
  assert.equal(await isOpen(), false);
  assert.match(await page.locator("[aria-selected=true]").textContent(), /layer\.1/);
  await panel(page, "simplify");
  await page.click("#simplify");
  await idle(page);
  const outside = await page.locator("#rail button:visible").evaluateAll((buttons) =>
    buttons.filter((button) => {
      const { left, right, top, bottom } = button.getBoundingClientRect();
      return left < 0 || right > innerWidth || top < 0 || bottom > innerHeight || right - left < 24 || bottom - top < 24;
    }).map((button) => button.id),
  );
  assert.deepEqual(outside, []);
  assert.deepEqual(errors, []);
  await close();
});

await test("two files are side by side, with what differs", async () => {
  const older = made("a-older.onnxtxt", encoder.replace("g0 = Relu (m0)", "g0 = Sigmoid (m0)").replace("<perm = [0, 2, 1]> (k1)", "<perm = [1, 2, 0]> (k1)"));
  const newer = made("b-newer.onnxtxt", encoder);
  const { page, errors, close } = await begin([older, newer]);
  await idle(page);
  assert.equal(await page.locator(".pane canvas").count(), 2);
  assert.deepEqual(await page.locator(".pane-title").allTextContents(), ["a-older.onnxtxt", "b-newer.onnxtxt"]);
  assert.match(await page.textContent("#panel"), /perm: .*\[1, ?2, ?0\].*\[0, ?2, ?1\]/);
  await page.locator("#panel .finding.added .link, #panel .finding.changed .link").first().click();
  await idle(page);
  await screen(page, "compare");
  await accessible(page, "compare");
  // A box that opens in one opens in the other, and both move together.
  await page.click("#close-all");
  const opened = () => page.evaluate(() => document.querySelectorAll("[aria-expanded=true]").length);
  assert.equal(await opened(), 0);
  await item(page, "encoder").dblclick();
  await idle(page);
  assert.equal(await opened(), 1);
  assert.deepEqual(errors, []);
  await close();
});

await test("a model is compared with an older file that is opened later", async () => {
  const older = made("older.onnxtxt", encoder.replace("g0 = Relu (m0)", "g0 = Sigmoid (m0)"));
  const { page, errors, close } = await begin(model("encoder"));
  await panel(page, "compare");
  await page.setInputFiles("#older", older);
  await page.waitForSelector("#canvas-older");
  await idle(page);
  assert.match(await page.textContent("#summary"), /0 added, 0 removed, 1 changed/);
  await page.click("#single");
  await idle(page);
  assert.equal(await page.inputValue("#coloring"), "type");
  assert.deepEqual(errors, []);
  await close();
});

await test("versions tell how far a model goes, and convert it", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await panel(page, "versions");
  assert.match(await page.textContent("#panel"), /operator set 21/);
  assert.match(await page.textContent("#panel"), /Oldest: \d+/);
  await screen(page, "versions");
  await accessible(page, "versions");
  await page.fill("#version", "13");
  await page.click("#convert");
  await idle(page);
  assert.match(await status(page), /21 → 13/);
  const path = await saved(page, "converted.onnx");
  assert.match(String(spawnSync(onnx, ["info", path]).stdout), /13/);
  await page.click("#undo");
  await idle(page);
  await panel(page, "versions");
  assert.match(await page.textContent("#panel"), /operator set 21/);
  assert.deepEqual(errors, []);
  await close();
});

await test("nodes that prevent a version for the same reason are together", async () => {
  const nodes = Array.from({ length: 9 }, (_, index) => `q${index} = QuantizeLinear (x, s)`).join(" ");
  const text = `<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (uint8[2] q0) <float s = {0.5}> { ${nodes} }`;
  const { page, errors, close } = await begin(made("nine.onnxtxt", text));
  await panel(page, "versions");
  assert.equal(await page.locator("#panel .finding").count(), 1);
  assert.match(await page.locator("#panel summary").textContent(), /^9 nodes: QuantizeLinear$/);
  await page.click("#panel summary");
  await page.locator("#panel .finding .link").nth(4).click();
  await idle(page);
  assert.equal(await page.locator("[aria-selected=true]").textContent(), "QuantizeLinear");
  assert.deepEqual(errors, []);
  await close();
});

await test("a part is kept as a model", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await item(page, "embed").click();
  await idle(page);
  await page.click("#extract");
  await idle(page);
  assert.match(await status(page), /2 nodes with 1 input and 1 output/);
  await page.click("#undo");
  await idle(page);
  assert.match(await status(page), /47 nodes/);
  assert.deepEqual(errors, []);
  await close();
});

await test("the text follows the picture, and the picture the text", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await item(page, "embed").click();
  await idle(page);
  await panel(page, "text");
  assert.equal(await page.locator("#text .node-text").count(), 2);
  await page.locator("#text .node-text").nth(1).click();
  await idle(page);
  assert.equal(await page.locator("[aria-selected=true]").textContent(), "Add");
  assert.match(await page.locator("#text .chosen").textContent(), /h0 = Add/);
  await screen(page, "text");
  await accessible(page, "text");
  assert.deepEqual(errors, []);
  await close();
});

await test("keys lead through the picture and the panels", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await item(page, "encoder").click();
  await idle(page);
  await page.locator("#canvas").focus();
  await page.keyboard.press("Enter");
  await idle(page);
  assert.ok((await tree(page)).some((label) => label.startsWith("layer.0")));
  await page.keyboard.press("ArrowDown");
  await idle(page);
  assert.equal(await page.locator("[aria-selected=true]").textContent(), "Softmax");
  await page.keyboard.press("ArrowUp");
  await idle(page);
  assert.match(await page.locator("[aria-selected=true]").textContent(), /encoder/);
  await page.keyboard.press("3");
  await idle(page);
  assert.equal(await page.getAttribute("#panel-cost", "aria-pressed"), "true");
  await page.keyboard.press("Escape");
  assert.ok(await page.isHidden("#panel"));
  await page.keyboard.press("?");
  assert.ok(await page.isVisible("#keys"));
  await accessible(page, "keys");
  await page.keyboard.press("Escape");
  await page.waitForSelector("#keys", { state: "detached" });
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "search");
  assert.deepEqual(errors, []);
  await close();
});

await test("a link holds the state", async () => {
  const { page, close } = await begin(model("encoder"));
  await item(page, "encoder").dblclick();
  await idle(page);
  await search(page, "Softmax()");
  await page.selectOption("#coloring", "scope");
  await panel(page, "versions");
  const { hash } = new URL(page.url());
  await close();
  const again = await openPage(`${address}${hash}`, {}, "#drop");
  assert.match(await again.page.textContent("#belongs"), /encoder\.onnxtxt/);
  await again.page.setInputFiles("#file", model("encoder"));
  await again.page.waitForSelector("body[data-ready]");
  await idle(again.page);
  assert.equal(await again.page.inputValue("#search"), "Softmax()");
  assert.equal(await again.page.inputValue("#coloring"), "scope");
  assert.equal(await again.page.getAttribute("#panel-versions", "aria-pressed"), "true");
  assert.ok((await tree(again.page)).some((label) => label.startsWith("layer.0")));
  await again.close();
});

await test("a link to another model does not lead to its boxes", async () => {
  const { page, close } = await begin(model("encoder"));
  await item(page, "encoder").dblclick();
  await idle(page);
  await item(page, "layer.1").click();
  await idle(page);
  const { hash } = new URL(page.url());
  // Back to a place of the model before a change.
  await page.click("#extract");
  await idle(page);
  const kept = await tree(page);
  await page.goBack();
  await idle(page);
  assert.match(await status(page), /before or after a change/);
  assert.deepEqual(await tree(page), kept);
  assert.equal(await page.locator("[aria-selected=true]").count(), 0);
  await close();
  const again = await openPage(`${address}${hash}`, {}, "#drop");
  await again.page.setInputFiles("#file", model("hostile"));
  await again.page.waitForSelector("body[data-ready]");
  await idle(again.page);
  assert.match(await again.page.textContent("#notice"), /The link is about encoder\.onnxtxt, and hostile\.onnxtxt is open/);
  assert.equal(await again.page.locator("[aria-selected=true]").count(), 0);
  await again.close();
});

await test("the picture is saved as SVG and as PNG", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await item(page, "encoder").dblclick();
  await idle(page);
  for (const [id, name, begins] of [["save-svg", "encoder.svg", "<svg"], ["save-png", "encoder.png", "\x89PNG"]]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(`#${id}`)]);
    assert.equal(download.suggestedFilename(), name);
    await download.saveAs(`${folder}/${name}`);
    const bytes = readFileSync(`${folder}/${name}`);
    assert.equal(bytes.subarray(0, begins.length).toString("latin1"), begins);
    assert.ok(bytes.length > 2_000, name);
  }
  assert.ok(readFileSync(`${folder}/encoder.svg`, "utf8").includes("layer.3"));
  assert.deepEqual(errors, []);
  await close();
});

await test("long work is ended", async () => {
  // A loop that a run would not leave for minutes.
  const text = `<ir_version: 10, opset_import: ["": 21]> g (float[64, 64] x) => (float[64, 64] y) <int64 n = {2000000}, bool c = {1}> {
    y = Loop (n, c, x) <body = b (int64 i, bool k, float[64, 64] v) => (bool k2, float[64, 64] w) { k2 = Identity (k)  w = MatMul (v, v) }> }`;
  const { page, close } = await begin(made("loop.onnxtxt", text));
  await panel(page, "values");
  await page.click("#run");
  await page.waitForSelector("#cancel", { timeout: 20_000 });
  await page.click("#cancel");
  await idle(page);
  await page.waitForSelector("body[data-ready]");
  assert.ok((await tree(page)).some((label) => label.startsWith("Loop")));
  await close();
});

await test("hostile names are text", async () => {
  const { page, errors, close } = await begin(model("hostile"));
  await page.click("#open-all");
  await idle(page);
  const labels = (await tree(page)).join("\n");
  assert.ok(labels.includes("<img src=x onerror=alert(1)>") && !labels.includes("\u202e"), labels);
  for (const name of ["findings", "cost", "values", "versions", "text", "simplify", "compare"]) await panel(page, name);
  await panel(page, "values");
  await page.click("#run");
  await idle(page);
  await item(page, "Neg").click();
  await idle(page);
  assert.equal(await page.locator("img, #app script").count(), 0);
  assert.deepEqual(errors, []);
  await close();
});

await test("100,000 nodes in one rank, and cycles, have pictures", async () => {
  const count = 100_000;
  const wide = ['<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[n] y) {'];
  for (let index = 0; index < count; index += 1) wide.push(`v${index} = Relu (x)`);
  wide.push(`y = Concat <axis = 0> (${Array.from({ length: count }, (_, index) => `v${index}`).join(", ")}) }`);
  for (const [name, text, nodes] of [
    ["wide.onnxtxt", wide.join("\n"), "100001"],
    ["cycle.onnxtxt", '<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { a = Add (x, b) b = Relu (a) y = Abs (b) }', "3"],
  ]) {
    const { page, errors, close } = await begin(made(name, text));
    assert.match(await status(page), new RegExp(`nodes: ${nodes}`));
    assert.ok((await tree(page)).length > 2 && (await tree(page)).length < 60, name);
    assert.deepEqual(errors, []);
    await close();
  }
});

await test("a phone has the picture, the tree and the panels", async () => {
  const { page, errors, close } = await begin(model("encoder"), { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true });
  await screen(page, "phone");
  await page.click("#tree-button");
  assert.ok(await page.isVisible("#tree"));
  await item(page, "encoder").click();
  await idle(page);
  await page.click("#tree-button");
  await screen(page, "phone-details");
  await accessible(page, "phone");
  assert.deepEqual(errors, []);
  await close();
});

/** Where a box of the first screen is, which is in the middle. */
async function placeOf(label, options) {
  const { page, close } = await begin(model("encoder"), options);
  const box = await page.locator("#canvas").boundingBox();
  const x = box.x + box.width / 2;
  for (let y = box.y + 20; y < box.y + box.height - 10; y += 15) {
    await page.mouse.click(x, y);
    await idle(page);
    const found = await page.evaluate(() => document.querySelector("[aria-selected=true]")?.getAttribute("aria-label") ?? "");
    if (found.startsWith(label)) {
      await close();
      return { x, y: y + 12 };
    }
    // The same view for each click.
    await page.keyboard.press("Escape");
    await page.click("#fit");
  }
  return assert.fail(`there is no ${label}`);
}

await test("the first double click opens a box, though its first click opens the panel", async () => {
  for (const options of [{}, { viewport: { width: 820, height: 600 } }, { viewport: { width: 390, height: 844 } }]) {
    const { x, y } = await placeOf("encoder", options);
    const { page, errors, close } = await begin(model("encoder"), options);
    await page.mouse.move(x, y);
    for (const clickCount of [1, 2]) {
      await page.mouse.down({ clickCount });
      await page.mouse.up({ clickCount });
      await idle(page);
      assert.ok(await page.isVisible("#panel"));
    }
    assert.equal(await item(page, "encoder").getAttribute("aria-expanded"), "true", JSON.stringify(options));
    assert.equal(await item(page, "encoder").getAttribute("aria-selected"), "true");
    assert.match(await page.textContent("#panel h2"), /encoder/);
    assert.deepEqual(errors, []);
    await close();
  }
});

await test("what is pointed at stays when the panel opens and closes", async () => {
  const { x, y } = await placeOf("encoder", {});
  const { page, close } = await begin(model("encoder"));
  for (let turn = 0; turn < 3; turn += 1) {
    await page.waitForTimeout(600);
    await page.mouse.click(x, y);
    await idle(page);
    assert.match(await page.locator("[aria-selected=true]").textContent(), /encoder/, String(turn));
    await page.keyboard.press("Escape");
    await idle(page);
    assert.ok(await page.isHidden("#panel"));
  }
  await close();
});

await test("a selected box is never under the sheet of a phone", async () => {
  const { page, errors, close } = await begin(model("encoder"), { viewport: { width: 390, height: 844 } });
  const isUncovered = async () => {
    await idle(page);
    // The only outline of this color is that of the selected box.
    const { sheet, lowest, found } = await page.evaluate(() => {
      const canvas = document.getElementById("canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let [found, lowest] = [0, 0];
      for (let at = 0; at < data.length; at += 4) {
        if (Math.abs(data[at] - 0x1a) + Math.abs(data[at + 1] - 0x5f) + Math.abs(data[at + 2] - 0xc8) > 12) continue;
        found += 1;
        if (found === 1) lowest = Math.floor(at / 4 / canvas.width);
      }
      const top = canvas.getBoundingClientRect().top;
      return { sheet: document.getElementById("panel").getBoundingClientRect().top - top, lowest: (lowest * canvas.clientHeight) / canvas.height, found };
    });
    assert.ok(found > 40, `${found} pixels of the selection are drawn`);
    assert.ok(lowest < sheet - 20, `the selection begins at ${lowest}, the sheet at ${sheet}`);
  };
  await search(page, "y");
  await isUncovered();
  await search(page, "/encoder/layer.3/attention/scores/Softmax");
  await isUncovered();
  await screen(page, "phone-selected");
  await panel(page, "cost");
  await isUncovered();
  assert.deepEqual(errors, []);
  await close();
});

await test("the tree scrolls to what is selected elsewhere", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await page.click("#open-all");
  await idle(page);
  const isShown = async (what) => {
    await idle(page);
    const places = await page.evaluate(() => [document.querySelector("#tree [aria-selected=true]"), document.getElementById("tree")].map((element) => element.getBoundingClientRect().toJSON()));
    assert.ok(places[0].top >= places[1].top && places[0].bottom <= places[1].bottom, what);
  };
  await search(page, "/encoder/layer.3/attention/scores/Softmax");
  await isShown("a search");
  await search(page, "/encoder/layer.0/attention/scores/Softmax");
  await isShown("a search above");
  await panel(page, "cost");
  await page.locator("#panel table .link").last().click();
  await isShown("a link in a table");
  // What is rebuilt stays where it was scrolled to.
  await page.evaluate(() => (document.getElementById("tree").scrollTop = 200));
  await item(page, "layer.1").dblclick();
  await isShown("a box that was closed");
  assert.deepEqual(errors, []);
  await close();
});

await test("operands lead to what makes and uses them, and a box says what is in it", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await search(page, "/encoder/layer.0/attention/scores/Softmax");
  const link = (text) => page.locator("#panel .link", { hasText: text });
  await link("s0").click();
  await idle(page);
  assert.equal(await page.locator("[aria-selected=true]").textContent(), "MatMul");
  await link("Softmax").click();
  await idle(page);
  assert.equal(await page.locator("[aria-selected=true]").textContent(), "Softmax");
  await item(page, "encoder").click();
  await idle(page);
  const panel = await page.locator("#panel").innerText();
  assert.match(panel, /nodes\s+44/);
  assert.ok(panel.indexOf("Operators") < panel.indexOf("Inputs"));
  assert.match(panel, /elements of weights\s+64/);
  assert.match(panel, /MatMul\s+20/);
  assert.deepEqual(errors, []);
  await close();
});

await test("what was moved looks like what was drawn anew", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await page.click("#open-all");
  await idle(page);
  const picture = async () => {
    const address = await page.evaluate(() => document.getElementById("canvas").toDataURL());
    return PNG.sync.read(Buffer.from(address.split(",")[1], "base64"));
  };
  const frames = async () => {
    await page.mouse.move(600, 400);
    await page.mouse.down();
    // Each move is a frame of its own.
    for (const [x, y] of [[600, 371], [611, 371], [588, 333], [588, 420], [520, 262]]) {
      await page.mouse.move(x, y);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    }
    await page.mouse.up();
  };
  await frames();
  const moved = await picture();
  await page.evaluate(() => window.dispatchEvent(new Event("resize")));
  await idle(page);
  const drawn = await picture();
  // Edges of shapes may differ by a shade.
  assert.equal(pixelmatch(moved.data, drawn.data, null, drawn.width, drawn.height, { threshold: 0.03, includeAA: true }), 0);
  assert.deepEqual(errors, []);
  await close();
});

await test("light and dark", async () => {
  const { page, close } = await begin(model("encoder"), { colorScheme: "dark" });
  await item(page, "encoder").dblclick();
  await panel(page, "cost");
  await screen(page, "site-dark");
  await accessible(page, "dark");
  await page.click("#theme");
  assert.equal(await page.evaluate(() => document.documentElement.classList.contains("dark")), false);
  await accessible(page, "light");
  await close();
});

served.close();
await finish();
