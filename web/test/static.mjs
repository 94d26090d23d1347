// What the tests of the static folder share: a server of it, models, archives, and what users do.
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import { crc32, deflateRawSync } from "node:zlib";
import { folder, given, here, idle, open as openPage } from "./harness.mjs";

export const [onnx, site] = given("usage: node test/FILE.mjs ONNX SITE [PART] [--bless]", 2);
const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", wasm: "application/wasm" };
export const served = http.createServer((request, response) => {
  const name = request.url === "/" ? "index.html" : request.url.slice(1).split("?")[0];
  try {
    response.setHeader("content-type", TYPES[name.split(".").pop()] ?? "text/plain");
    response.end(readFileSync(`${site}/${name}`));
  } catch {
    response.statusCode = 404;
    response.end();
  }
});
await new Promise((resolve) => served.listen(0, "127.0.0.1", resolve));
export const address = `http://127.0.0.1:${served.address().port}/`;

export const model = (name) => here(`models/${name}.onnxtxt`);
export const encoder = readFileSync(model("encoder"), "utf8");
/** Writes a model, and returns its path. */
export function made(name, text) {
  writeFileSync(`${folder}/${name}`, text);
  return `${folder}/${name}`;
}

/** The page with files, after which there is no network. */
export async function begin(files, options = {}) {
  const opened = await openPage(address, options, "#drop");
  const { page } = opened;
  await page.waitForLoadState("networkidle");
  await page.context().setOffline(true);
  if (files !== undefined) {
    await page.setInputFiles("#file", files);
    await page.waitForSelector("body[data-ready], #message.error", { timeout: 120_000 });
  }
  return opened;
}

/** Clicks a tab, and waits for its contents. */
export async function panel(page, name) {
  await page.click(`#panel-${name}`);
  await idle(page);
}

export async function search(page, text) {
  await page.fill("#search", text);
  await page.keyboard.press("Enter");
  await idle(page);
}

/** Saves the model, and returns its path. */
export async function saved(page, name) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  await download.saveAs(`${folder}/${name}`);
  return `${folder}/${name}`;
}

/** An archive of one file whose numbers are in the fields of ZIP64, as programs that do not know the size beforehand write it. */
export function zip64(name, contents, { size = contents.length, hasEnd = true } = {}) {
  const [packed, wide] = [deflateRawSync(contents), 0xffffffff];
  const head = Buffer.alloc(30 + name.length + 20);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt16LE(8, 8);
  head.writeUInt32LE(crc32(contents), 14);
  head.writeUInt32LE(wide, 18);
  head.writeUInt32LE(wide, 22);
  head.writeUInt16LE(name.length, 26);
  head.writeUInt16LE(20, 28);
  head.write(name, 30);
  const sizes = (to, at) => {
    to.writeBigUInt64LE(BigInt(size), at);
    to.writeBigUInt64LE(BigInt(packed.length), at + 8);
  };
  head.writeUInt16LE(1, 30 + name.length);
  head.writeUInt16LE(16, 32 + name.length);
  sizes(head, 34 + name.length);
  const entry = Buffer.alloc(46 + name.length + 4 + 2 + 28);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(8, 10);
  entry.writeUInt32LE(crc32(contents), 16);
  for (const at of [20, 24, 42]) entry.writeUInt32LE(wide, at);
  entry.writeUInt16LE(name.length, 28);
  entry.writeUInt16LE(34, 30);
  entry.write(name, 46);
  // Another field comes first: it is passed over.
  const extra = 46 + name.length;
  entry.writeUInt16LE(0x5455, extra);
  entry.writeUInt16LE(2, extra + 2);
  entry.writeUInt16LE(1, extra + 6);
  entry.writeUInt16LE(24, extra + 8);
  sizes(entry, extra + 10);
  const start = head.length + packed.length;
  const end = Buffer.alloc(56 + 20 + 22);
  end.writeUInt32LE(0x06064b50, 0);
  end.writeBigUInt64LE(44n, 4);
  end.writeBigUInt64LE(1n, 24);
  end.writeBigUInt64LE(1n, 32);
  end.writeBigUInt64LE(BigInt(entry.length), 40);
  end.writeBigUInt64LE(BigInt(start), 48);
  end.writeUInt32LE(0x07064b50, 56);
  end.writeBigUInt64LE(BigInt(start + entry.length), 64);
  end.writeUInt32LE(1, 72);
  const last = end.subarray(76);
  last.writeUInt32LE(0x06054b50, 0);
  last.writeUInt16LE(hasEnd ? 0xffff : 1, 8);
  last.writeUInt16LE(hasEnd ? 0xffff : 1, 10);
  last.writeUInt32LE(hasEnd ? wide : entry.length, 12);
  last.writeUInt32LE(hasEnd ? wide : start, 16);
  return Buffer.concat([head, packed, entry, ...(hasEnd ? [end] : [last])]);
}

/**
 * An archive of names and contents; a third element is the size that the directory says. `isStored` leaves out the compression,
 * `written` is what is written instead of the contents.
 */
export function zip(entries, { isStored = false, written } = {}) {
  const [local, central] = [[], []];
  let offset = 0;
  for (const [name, contents, size = contents.length] of entries) {
    const packed = isStored ? Buffer.from(written ?? contents) : deflateRawSync(written ?? contents);
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(isStored ? 0 : 8, 8);
    head.writeUInt32LE(crc32(contents), 14);
    head.writeUInt32LE(packed.length, 18);
    head.writeUInt32LE(contents.length, 22);
    head.writeUInt16LE(name.length, 26);
    local.push(head, Buffer.from(name), packed);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(isStored ? 0 : 8, 10);
    entry.writeUInt32LE(crc32(contents), 16);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt32LE(size, 24);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(offset, 42);
    central.push(entry, Buffer.from(name));
    offset += 30 + name.length + packed.length;
  }
  const length = central.reduce((sum, part) => sum + part.length, 0);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...local, ...central, end]);
}
