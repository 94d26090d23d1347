// Opens files in the page as a static folder: what is large, broken or dropped elsewhere neither freezes the page nor loses what is
// open.
// `node test/files.mjs ONNX SITE [PART]`: as `site.mjs`.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { accessible, finish, folder, idle, item, screen, status, test, tree } from "./harness.mjs";
import { begin, encoder, made, model, onnx, panel, search, served, zip, zip64 } from "./static.mjs";

/** Milliseconds that the page did not react for at most, since `watch`. */
const watch = (page) =>
  page.evaluate(() => {
    let last = performance.now();
    globalThis.freeze = 0;
    setInterval(() => {
      const now = performance.now();
      globalThis.freeze = Math.max(globalThis.freeze, now - last);
      last = now;
    }, 10);
  });
const freeze = (page) => page.evaluate(() => globalThis.freeze);

/** Drops a file on an element. Returns whether the browser was kept from opening it. */
const drop = (page, selector, name, contents) =>
  page.evaluate(
    ([selector, name, bytes]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array(bytes)], name));
      const fire = (type) => {
        const event = new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true });
        document.querySelector(selector).dispatchEvent(event);
        return event.defaultPrevented;
      };
      return [fire("dragover"), fire("drop")];
    },
    [selector, name, [...Buffer.from(contents)]],
  );

const CUT = Buffer.from([0x08, 0x0a, 0x3a, 0x7f, 0x0a]);
const ANOTHER = '<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Abs (x) }';

/** An archive whose model has another letter than when its checksum was computed. */
function flipped(isStored) {
  const bytes = zip([["m.onnxtxt", ANOTHER]], { isStored, written: ANOTHER.replace("Abs", "Neg") });
  assert.ok(!isStored || bytes.includes("Neg"));
  return bytes;
}

await test("an archive of many models is listed at once", async () => {
  const { page, errors, close } = await begin();
  await watch(page);
  const many = zip(Array.from({ length: 10_000 }, (_, index) => [`m/${index}.onnx`, "x"]));
  await page.setInputFiles("#file", made("many.zip", many));
  await page.waitForSelector("#message.error");
  assert.match(await page.textContent("#message"), /there are 10000 models: drop one, or two.*m\/0\.onnx/);
  assert.ok((await freeze(page)) < 1500, String(await freeze(page)));
  await page.setInputFiles("#file", made("more.zip", zip(Array.from({ length: 20_001 }, (_, index) => [`${index}.onnx`, ""]))));
  await page.waitForFunction(() => /20001 files/.test(document.querySelector("#message.error")?.textContent ?? ""));
  // Many files next to a model are its data.
  const beside = zip([["m/a.onnxtxt", encoder], ...Array.from({ length: 5_000 }, (_, index) => [`m/data/${index}.bin`, "x"])]);
  await page.setInputFiles("#file", made("beside.zip", beside));
  await page.waitForSelector("body[data-ready]", { timeout: 120_000 });
  assert.ok((await freeze(page)) < 1500, String(await freeze(page)));
  assert.deepEqual(errors, []);
  await close();
});

await test("archives with fields of ZIP64 are read, within the same limits", async () => {
  for (const options of [{}, { hasEnd: false }]) {
    const { page, errors, close } = await begin(made("wide.zip", zip64("m.onnxtxt", encoder, options)));
    assert.match(await status(page), /nodes: 47/, JSON.stringify(options));
    for (const [size, reason] of [
      [9, /m\.onnxtxt: the zip archive is damaged/],
      [3_000_000_000, /m\.onnxtxt has 3\.0 GB/],
      [2n ** 63n, /GB/],
    ]) {
      await page.setInputFiles("#reopen", made("limits.zip", zip64("m.onnxtxt", encoder, { ...options, size })));
      await page.waitForSelector("#notice:not([hidden])");
      await idle(page);
      assert.match(await page.textContent("#notice"), reason);
      await page.click("#notice-close");
    }
    // The place of the directory, or the numbers of an entry, lead out of the file.
    const whole = zip64("m.onnxtxt", encoder, options);
    for (const at of options.hasEnd === false ? [] : [whole.length - 22 - 20 + 8, whole.length - 22 - 20 - 56 + 48]) {
      const broken = Buffer.from(whole);
      broken.writeUInt8(0x7f, at + 6);
      await page.setInputFiles("#reopen", made("broken.zip", broken));
      await page.waitForSelector("#notice:not([hidden])");
      await idle(page);
      assert.match(await page.textContent("#notice"), /damaged/, String(at));
      await page.click("#notice-close");
    }
    assert.deepEqual(errors, []);
    await close();
  }
});

await test("what cannot be opened does not replace what is open", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await item(page, "encoder").dblclick();
  await idle(page);
  await item(page, "layer.1").click();
  await idle(page);
  await page.click("#extract");
  await idle(page);
  const summary = (await tree(page)).join();
  await item(page, "Add").first().click();
  await idle(page);
  const selected = await page.locator("[aria-selected=true]").textContent();
  const two = [made("one.onnxtxt", ANOTHER), made("two.onnxtxt", "nonsense")];
  for (const [files, reason] of [
    [made("cut.onnx", CUT), /cut off or damaged/],
    [made("text.onnxtxt", "nonsense"), /./],
    [made("damaged.zip", "PK"), /zip archive/],
    [made("bytes.zip", zip([["m.onnx", CUT]])), /cut off or damaged/],
    [made("size.zip", zip([["m.onnxtxt", ANOTHER, 9]])), /m\.onnxtxt: the zip archive is damaged/],
    [made("flipped.zip", flipped(false)), /m\.onnxtxt: the zip archive is damaged/],
    [made("flipped-stored.zip", flipped(true)), /m\.onnxtxt: the zip archive is damaged/],
    [made("none.zip", zip([["a.txt", "a"], ["b.txt", "b"]])), /no model/],
    [made("huge.zip", zip([["m.onnxtxt", ANOTHER, 1_000_000_000], ["w.data", "w", 1_500_000_000]])), /2\.5 GB unpacked, and a tab unpacks at most 2\.0 GB/],
    // One of two is broken: neither is opened.
    [two, /./],
    [[...two].reverse(), /./],
  ]) {
    await page.setInputFiles("#reopen", files);
    await page.waitForSelector("#notice:not([hidden])");
    await idle(page);
    assert.match(await page.textContent("#notice"), reason, String(files));
    assert.match(await page.textContent("#notice"), /Not opened: .*What is shown stays/, String(files));
    assert.equal((await tree(page)).join(), summary, String(files));
    assert.equal(await page.locator("[aria-selected=true]").textContent(), selected);
    await page.click("#notice-close");
    assert.ok(await page.isHidden("#notice"));
  }
  await page.setInputFiles("#reopen", made("cut.onnx", CUT));
  await page.waitForSelector("#notice:not([hidden])");
  await idle(page);
  await screen(page, "not-opened");
  await accessible(page, "not opened");
  // An older file that is broken neither.
  await panel(page, "compare");
  await page.setInputFiles("#older", made("cut.onnx", CUT));
  await page.waitForSelector("#notice:not([hidden])");
  await idle(page);
  assert.equal((await tree(page)).join(), summary);
  // The changes can still be taken back.
  await page.click("#undo");
  await idle(page);
  assert.match(await status(page), /47 nodes/);
  // The same field takes a file that is not broken.
  await page.setInputFiles("#reopen", made("another.onnxtxt", ANOTHER));
  await page.waitForFunction(() => document.title === "another.onnxtxt");
  await idle(page);
  assert.ok(await page.isDisabled("#undo"));
  assert.deepEqual(errors, []);
  await close();
});

await test("large archives are unpacked beside the page, and that can be cancelled", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await watch(page);
  const large = made("large.zip", zip([["m/m.onnxtxt", ANOTHER], ["m/w.data", Buffer.alloc(1_000_000_000)]]));
  await page.setInputFiles("#reopen", large);
  await page.click("#cancel", { timeout: 20_000 });
  await page.waitForSelector("#notice:not([hidden])");
  assert.match(await page.textContent("#notice"), /Not opened: cancelled/);
  assert.equal(await page.title(), "encoder.onnxtxt");
  assert.match(await page.textContent("#panel-findings"), /Findings/);
  await page.setInputFiles("#reopen", large);
  await page.waitForFunction(() => document.title === "m.onnxtxt", undefined, { timeout: 120_000 });
  await idle(page);
  assert.ok((await freeze(page)) < 1000, String(await freeze(page)));
  assert.deepEqual(errors, []);
  await close();
});

await test("what is read first can be cancelled, too", async () => {
  const { page, errors, close } = await begin();
  await page.setInputFiles("#file", made("large.zip", zip([["m.onnxtxt", ANOTHER], ["w.data", Buffer.alloc(1_000_000_000)]])));
  await page.click("#cancel", { timeout: 20_000 });
  await page.waitForSelector("#message.error");
  assert.match(await page.textContent("#message"), /cancelled/);
  await page.setInputFiles("#file", made("another.onnxtxt", ANOTHER));
  await page.waitForSelector("body[data-ready]");
  assert.deepEqual(errors, []);
  await close();
});

await test("files can be dropped everywhere, and the browser stays on the page", async () => {
  const { page, errors, close } = await begin();
  assert.deepEqual(await drop(page, "#message", "encoder.onnxtxt", encoder), [true, true]);
  await page.waitForSelector("body[data-ready]");
  await panel(page, "details");
  let number = 0;
  for (const place of ["#panel", "#tree", "#rail", "#status", "header", "#search", "#canvas", "body"]) {
    number += 1;
    assert.deepEqual(await drop(page, place, `m${number}.onnxtxt`, ANOTHER), [true, true], place);
    await page.waitForFunction((name) => document.title === name, `m${number}.onnxtxt`);
    await idle(page);
    if (place === "#panel") assert.ok(await page.isHidden("#panel"));
  }
  await page.keyboard.press("?");
  await page.waitForSelector("#keys");
  assert.deepEqual(await drop(page, "#keys", "keys.onnxtxt", ANOTHER), [true, true]);
  await page.waitForFunction(() => document.title === "keys.onnxtxt");
  assert.equal(await page.locator("#keys").count(), 0);
  await idle(page);
  assert.ok(!(await page.getAttribute("body", "class"))?.includes("over"));
  assert.deepEqual(errors, []);
  await close();
});

/** A model with a loop that a run would not leave for minutes, next to what can be changed. */
const LOOP = `<ir_version: 10, opset_import: ["": 21]> g (float[64, 64] x) => (float[64, 64] y) <int64 n = {2000000}, bool c = {1}> {
    ["/a/one"] a = Relu (x)  ["/b/two"] v0 = Identity (a)  ["/b/three"] y = Loop (n, c, v0) <body = b (int64 i, bool k, float[64, 64] v) => (bool k2, float[64, 64] w) { k2 = Identity (k)  w = MatMul (v, v) }> }`;

/** Begins a run, and ends it. Returns what is said. */
async function cancelRun(page) {
  await panel(page, "values");
  await page.click("#run");
  await page.click("#cancel", { timeout: 20_000 });
  await page.waitForSelector("#notice:not([hidden])");
  await idle(page);
  return page.textContent("#notice");
}

await test("work that is ended keeps the changes", async () => {
  const { page, errors, close } = await begin(made("loop.onnxtxt", LOOP));
  await item(page, "b,").click();
  await idle(page);
  await page.click("#extract");
  await idle(page);
  const before = (await tree(page)).join();
  assert.ok(!before.includes("Relu"), before);
  assert.match(await cancelRun(page), /cancelled: the model is as it was before/);
  assert.equal((await tree(page)).join(), before);
  await page.click("#undo");
  await idle(page);
  assert.ok((await tree(page)).join().includes("Relu"));
  assert.deepEqual(errors, []);
  await close();
});

await test("work that is ended keeps the changes of a file that was changed meanwhile", async () => {
  const path = made("changed.onnxtxt", LOOP);
  const { page, errors, close } = await begin(path);
  await item(page, "b,").click();
  await idle(page);
  await page.click("#extract");
  await idle(page);
  const before = (await tree(page)).join();
  // Another program writes the file.
  made("changed.onnxtxt", ANOTHER);
  assert.match(await cancelRun(page), /cancelled: the model is as it was before/);
  assert.equal((await tree(page)).join(), before);
  await page.click("#undo");
  await idle(page);
  assert.ok((await tree(page)).join().includes("Relu"));
  assert.deepEqual(errors, []);
  await close();
});

await test("work that is ended keeps changes that depend on data that was changed meanwhile", async () => {
  // The model computes with external weights, which simplifying folds.
  const weights = Array.from({ length: 1024 }, (_, index) => index).join(", ");
  const text = LOOP.replace("<int64 n", `<float[64, 16] u = {${weights}}, int64 n`).replace('["/a/one"]', "p = Transpose <perm = [0, 1]> (u)  q = Neg (p)  r = Abs (q)  s = ReduceSum (r)  xs = Mul (x, s)  [\"/a/one\"]").replace("Relu (x)", "Relu (xs)");
  const [source, target] = [made("data.onnxtxt", text), `${folder}/data.onnx`];
  const converted = spawnSync(onnx, ["convert", source, "-o", target, "--weights", "external=data.bin"]);
  assert.equal(converted.status, 0, String(converted.stderr));
  const { page, errors, close } = await begin([target, `${folder}/data.bin`]);
  await panel(page, "simplify");
  await page.click("#simplify");
  await idle(page);
  const summary = await status(page);
  assert.match(summary, /edits/);
  const before = (await tree(page)).join();
  made("data.bin", Buffer.alloc(4096));
  assert.match(await cancelRun(page), /cancelled: the model has its changes, which cannot be undone any more/);
  assert.equal((await tree(page)).join(), before);
  assert.ok(await page.isDisabled("#undo"));
  assert.deepEqual(errors, []);
  await close();
});

await test("a button that is clicked twice begins one change", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await item(page, "encoder").click();
  await idle(page);
  await page.dblclick("#extract");
  await idle(page);
  const kept = await tree(page);
  await page.click("#undo");
  await idle(page);
  assert.ok(await page.isDisabled("#undo"));
  assert.match(await status(page), /47 nodes/);
  await panel(page, "simplify");
  await page.dblclick("#simplify");
  await idle(page);
  await page.click("#undo");
  await idle(page);
  assert.ok(await page.isDisabled("#undo"));
  // A change that is asked for while details are read waits for them, and what is asked for after that is of the model that is shown.
  await page.evaluate(() => {
    document.querySelector('[role=treeitem][aria-label^="encoder"]').click();
    document.querySelector('[role=treeitem][aria-label^="embed"]').click();
    document.querySelector('[role=treeitem][aria-label^="encoder"]').click();
    document.querySelector("#panel-findings").click();
    document.querySelector("#panel-simplify").click();
  });
  await idle(page);
  assert.equal(await page.getAttribute("#panel-simplify", "aria-pressed"), "true");
  assert.match(await page.locator("[aria-selected=true]").textContent(), /encoder/);
  await page.evaluate(() => {
    document.querySelector("#simplify").click();
    document.querySelector('[role=treeitem][aria-label^="embed"]').click();
  });
  await idle(page);
  assert.equal(await page.locator("[aria-selected=true]").count(), 0);
  assert.ok(kept.length > 0);
  assert.deepEqual(errors, []);
  await close();
});

await test("what was said goes when the next thing is done", async () => {
  const { page, errors, close } = await begin(model("encoder"));
  await search(page, "Softmax()");
  assert.match(await status(page), /match 1 of 5/);
  await panel(page, "versions");
  assert.match(await status(page), /^nodes: 47/);
  // The matches are of the model that was searched.
  await panel(page, "simplify");
  await page.click("#simplify");
  await idle(page);
  assert.equal(await page.textContent("#found"), "");
  await page.click("#undo");
  await idle(page);
  // A path has its own matches.
  await panel(page, "details");
  await search(page, "/encoder/layer.0/attention/scores/Softmax");
  await page.click("#path");
  assert.match(await status(page), /path from Softmax: choose the other end/);
  await search(page, "Softmax()");
  assert.match(await status(page), /5 matches are marked: ‹ and › step through them; a click on one/);
  await search(page, "/encoder/layer.1/attention/scores/Softmax");
  assert.match(await status(page), /\d+ nodes between/);
  assert.equal(await page.inputValue("#search"), "");
  await page.click("#path");
  await page.locator("#canvas").focus();
  await page.keyboard.press("Escape");
  assert.match(await status(page), /^nodes: 47/);
  assert.ok(await page.isVisible("#panel"));
  assert.deepEqual(errors, []);
  await close();
});

await test("a panel begins at its top", async () => {
  const { page, errors, close } = await begin(model("encoder"), { viewport: { width: 1100, height: 420 } });
  const scrolled = () => page.evaluate(() => document.getElementById("panel").scrollTop);
  const scroll = () => page.evaluate(() => document.getElementById("panel").scrollTo(0, 40));
  await panel(page, "cost");
  await scroll();
  assert.equal(await scrolled(), 40);
  await page.fill("#sizes", "batch=2 sequence=3");
  await page.evaluate(() => document.querySelector("#sizes").dispatchEvent(new Event("change")));
  await idle(page);
  assert.equal(await scrolled(), 40);
  await search(page, "/encoder/layer.0/attention/query/MatMul");
  await panel(page, "details");
  assert.equal(await scrolled(), 0);
  await scroll();
  await search(page, "/encoder/layer.0/attention/scores/Softmax");
  assert.equal(await scrolled(), 0);
  assert.deepEqual(errors, []);
  await close();
});

await test("tables and the header have room", async () => {
  const long = encoder.replaceAll(/\b([qktspc])(\d)\b/g, (_, name, layer) => `encoder_layer_${layer}_attention_${name}_MatMul_output_0_of_a_long_name`);
  for (const [width, height] of [[1400, 900], [1000, 700], [390, 780], [320, 640]]) {
    const { page, errors, close } = await begin(made("a-model-with-a-very-long-name-for-a-phone.onnxtxt", long), { viewport: { width, height } });
    await search(page, "MatMul()");
    for (const name of ["values", "cost", "details"]) {
      await panel(page, name);
      if (name === "values") await page.click("#run");
      await idle(page);
      const [shown, whole] = await page.evaluate(() => [document.getElementById("panel").clientWidth, document.getElementById("panel").scrollWidth]);
      assert.ok(whole <= shown, `${name} at ${width}: ${whole} > ${shown}`);
    }
    const outside = await page.evaluate(() => {
      const parts = [...document.querySelectorAll("header > *")].filter((part) => part.offsetParent !== null);
      const cut = (part) => part.tagName === "BUTTON" && part.scrollWidth > part.clientWidth;
      return parts.filter((part) => part.getBoundingClientRect().right > innerWidth || part.getBoundingClientRect().left < 0 || cut(part)).map((part) => part.id || part.tagName);
    });
    assert.deepEqual(outside, [], `header at ${width}`);
    assert.deepEqual(errors, []);
    await close();
  }
});

served.close();
await finish();
