// Clicks through the page in Chromium, as `onnx view` serves it and as `onnx draw` writes it.
// `node test/run.mjs ONNX [PART] [--bless]`: ONNX is the command; PART of the names of tests; `--bless` writes the reference
// pictures anew. `site.mjs` tests what the page can do, without the command.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import { pathToFileURL } from "node:url";
import { accessible, finish, folder, given, here, idle, item, open, screen, status, test, tree } from "./harness.mjs";

const [onnx] = given("usage: node test/run.mjs ONNX [PART] [--bless]", 1);

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
  // The panel that the first click opens makes the canvas narrower, and the boxes stay where they are.
  const box = await page.locator("#canvas").boundingBox();
  for (let y = 40; y < 600; y += 30) {
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
  await page.click("#panel-simplify");
  await idle(page);
  await page.click("#simplify");
  await idle(page);
  assert.match(await status(page), /edits: 47 → \d+ nodes/);
  assert.ok((await page.locator("#panel :is(tr, .rule)").count()) > 0);
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
  const other = pathname.endsWith("0/") ? "1" : "0";
  assert.equal(await answer(`${pathname.slice(0, -2)}${other}/`), 404);
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
  assert.equal(await page.textContent("#panel-findings"), "Findings 1");
  await page.click("#panel-findings");
  await idle(page);
  await screen(page, "findings");
  await accessible(page, "findings");
  await page.click(".finding .apply");
  await idle(page);
  assert.match(await status(page), /1 repair/);
  assert.ok(!(await tree(page)).some((label) => label.includes(", error")));
  assert.deepEqual(errors, []);
  await close();
  server.stop();
});

await test("two files are side by side", async () => {
  const older = `${folder}/older.onnxtxt`;
  writeFileSync(older, readFileSync(here("models/encoder.onnxtxt"), "utf8").replace("g0 = Relu (m0)", "g0 = Sigmoid (m0)"));
  const server = await serve(older, here("models/encoder.onnxtxt"), "--stay");
  const { page, errors, close } = await open(server.address);
  await idle(page);
  assert.equal(await page.locator(".pane canvas").count(), 2);
  assert.match(await page.textContent("#summary"), /0 added, 0 removed, 1 changed/);
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
  // The title is the path as it is given.
  const drawn = spawnSync(onnx, ["draw", "encoder.onnxtxt", "-o", path], { cwd: here("models") });
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

await test("what happened is said when the server has ended", async () => {
  const server = await serve(here("models/encoder.onnxtxt"), "--stay");
  const { page, close } = await open(server.address);
  server.stop();
  await server.ended;
  for (const id of ["panel-findings", "open-all", "panel-cost"]) {
    await page.click(`#${id}`);
    await page.waitForSelector("#notice:not([hidden])");
    assert.match(await page.textContent("#notice"), /`onnx view` does not answer: it was ended. Start it again with the same files/, id);
    await page.click("#notice-close");
  }
  // What is shown stays.
  assert.equal((await tree(page)).length, 5);
  await close();
});

await test("a file that is dropped does not replace the page", async () => {
  const server = await serve(here("models/encoder.onnxtxt"), "--stay");
  const { page, errors, close } = await open(server.address);
  const kept = await page.evaluate(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["x"], "x.onnx"));
    return ["dragover", "drop"].map((type) => {
      const event = new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true });
      document.querySelector("#tree").dispatchEvent(event);
      return event.defaultPrevented;
    });
  });
  assert.deepEqual(kept, [true, true]);
  assert.match(await page.textContent("#notice"), /`onnx view FILE` shows another one/);
  assert.deepEqual(errors, []);
  await close();
  server.stop();
});

await test("tabs of one server do not change each other, and it ends with the last one", async () => {
  const server = await serve(here("models/encoder.onnxtxt"));
  const one = await open(server.address);
  const two = await open(server.address);
  const simplified = async (page) => {
    if (await page.isHidden("#simplify")) await page.click("#panel-simplify");
    await idle(page);
    await page.click("#simplify");
    await idle(page);
    return Number(/(\d+) nodes/.exec(await status(page))[1]);
  };
  const nodes = await simplified(one.page);
  assert.ok(nodes < 47);
  await two.page.click("#panel-findings");
  await idle(two.page);
  assert.ok(await two.page.isDisabled("#undo"));
  await two.page.reload();
  await two.page.waitForSelector("body[data-ready]");
  assert.match(await status(two.page), /nodes: 47/);
  await two.close();
  // Longer than a page may be loaded again.
  await one.page.waitForTimeout(6_000);
  await one.page.click("#undo");
  await idle(one.page);
  assert.match(await status(one.page), /47 nodes/);
  assert.equal(await simplified(one.page), nodes);
  // A tab that is loaded again keeps its changes.
  await one.page.reload();
  await one.page.waitForSelector("body[data-ready]");
  assert.match(await status(one.page), new RegExp(`nodes: ${nodes} `));
  assert.ok(await one.page.isEnabled("#undo"));
  assert.deepEqual([...one.errors, ...two.errors], []);
  await one.page.goto("about:blank");
  await one.close();
  assert.equal(await server.ended, 0);
});

/** A model whose run would take minutes. */
const LOOP = `<ir_version: 10, opset_import: ["": 21]> g (float[64, 64] x) => (float[64, 64] y) <int64 n = {2000000}, bool c = {1}> {
    ["/a/one"] v = Identity (x)  ["/b/two"] y = Loop (n, c, v) <body = b (int64 i, bool k, float[64, 64] u) => (bool k2, float[64, 64] w) { k2 = Identity (k)  w = MatMul (u, u) }> }`;

await test("long work says how far it is, and is cancelled", async () => {
  writeFileSync(`${folder}/loop.onnxtxt`, LOOP);
  const server = await serve(`${folder}/loop.onnxtxt`, "--stay");
  const { page, errors, close } = await open(server.address);
  await page.click("#panel-simplify");
  await idle(page);
  await page.click("#simplify");
  await idle(page);
  const before = (await tree(page)).join();
  assert.ok(await page.isEnabled("#undo"));
  await page.click("#panel-values");
  await idle(page);
  await page.click("#run");
  await page.waitForSelector("#cancel");
  await page.waitForFunction(() => /\d operations, \d+ s/.test(document.querySelector("#progress")?.textContent ?? ""));
  await accessible(page, "long work");
  // The second request is refused, and does not hide what goes on.
  await page.click("#run");
  await page.waitForSelector("#notice:not([hidden])");
  assert.match(await page.textContent("#notice"), /Wait for it or cancel it/);
  const [busy, notice] = await Promise.all(["#busy", "#notice"].map((name) => page.locator(name).boundingBox()));
  assert.ok(busy.y + busy.height <= notice.y, JSON.stringify([busy, notice]));
  await page.click("#cancel");
  await page.waitForSelector("#busy", { state: "hidden" });
  await idle(page);
  assert.match(await page.textContent("#notice"), /cancelled: the model is as it was before/);
  assert.equal((await tree(page)).join(), before);
  // What is asked next is answered, and the change can be taken back.
  await page.click("#undo");
  await idle(page);
  assert.ok(await page.isDisabled("#undo"));
  // A tab that is loaded again during the work does not wait for it.
  await page.click("#panel-values");
  await idle(page);
  await page.click("#run");
  await page.waitForSelector("#cancel");
  await page.reload();
  await page.waitForSelector("body[data-ready]", { timeout: 5_000 });
  assert.deepEqual(errors, []);
  await close();
  server.stop();
});

await test("many levels come with few requests, and the page reacts meanwhile", async () => {
  const nodes = Array.from({ length: 20_000 }, (_, at) => `v${at + 1} = Relu (v${at})`).join("\n");
  writeFileSync(`${folder}/long.onnxtxt`, `<ir_version: 10, opset_import: ["": 21]> g (float[2] v0) => (float[2] v20000) { ${nodes} }`);
  const server = await serve(`${folder}/long.onnxtxt`, "--stay");
  const { page, requests, errors, close } = await open(server.address);
  await page.evaluate(() => {
    let last = performance.now();
    globalThis.freeze = 0;
    setInterval(() => {
      const now = performance.now();
      globalThis.freeze = Math.max(globalThis.freeze, now - last);
      last = now;
    }, 10);
  });
  for (const id of ["open-all", "panel-cost", "panel-values", "run"]) {
    const before = requests.length;
    await page.click(`#${id}`);
    await page.waitForSelector("body:not([data-busy])", { timeout: 120_000 });
    await idle(page);
    // Progress is asked for twice a second.
    const asked = requests.slice(before).filter((url) => !url.endsWith("/progress"));
    assert.ok(asked.length <= 20, `${id}: ${asked.length} requests`);
  }
  // Of many rows the first are shown, and all are sorted.
  const rows = () => page.locator("#values tbody tr").count();
  assert.equal(await rows(), 300);
  assert.equal(await page.textContent("#values tfoot"), "Show 1700 more");
  await page.click("#values thead button >> nth=2");
  assert.equal(await rows(), 2000);
  assert.equal(await page.locator("#values tfoot").count(), 0);
  const freeze = await page.evaluate(() => globalThis.freeze);
  assert.ok(freeze < 1500, `${Math.round(freeze)} ms`);
  assert.deepEqual(errors, []);
  await close();
  server.stop();
});

await test("a tab for which there is no place opens the model when another one is closed", async () => {
  const server = await serve(here("models/encoder.onnxtxt"), "--stay");
  const open16 = await Promise.all(Array.from({ length: 16 }, () => open(server.address)));
  const more = await open(server.address, {}, "#busy:not([hidden])");
  assert.match(await more.page.textContent("#busy"), /16 tabs show the model: close one; this page continues by itself/);
  await accessible(more.page, "no place");
  await open16[7].page.goto("about:blank");
  await more.page.waitForSelector("body[data-ready]", { timeout: 5_000 });
  assert.ok(await more.page.isHidden("#busy"));
  // The place of one that was closed is free at once.
  await open16[3].page.goto("about:blank");
  const { page, close } = await open(server.address);
  assert.ok(await page.isHidden("#busy"));
  await close();
  for (const { close } of [...open16, more]) await close();
  server.stop();
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

await finish();
