// Files that try to break the page. Each case has the files that are given to it, and what must be seen: a picture, a
// message, or one of both.
import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { crc32, deflateRawSync } from "node:zlib";

// The wire format of protobuf.

function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(bytes);
}
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => {
  const contents = Buffer.isBuffer(value) ? value : Buffer.from(value);
  return Buffer.concat([varint((field << 3) | 2), varint(contents.length), contents]);
};
const value = (name, dims = [2]) => {
  const shape = Buffer.concat(dims.map((dim) => bytes(1, typeof dim === "string" || Buffer.isBuffer(dim) ? bytes(2, dim) : number(1, dim))));
  return Buffer.concat([bytes(1, name), bytes(2, bytes(1, Buffer.concat([number(1, 1), bytes(2, shape)])))]);
};
const node = (op, inputs, outputs, name = "", attributes = []) =>
  Buffer.concat([...inputs.map((input) => bytes(1, input)), ...outputs.map((output) => bytes(2, output)), bytes(3, name), bytes(4, op), ...attributes.map((made) => bytes(5, made))]);
const graph = (nodes, { inputs = [value("x")], outputs = [value("y")], initializers = [], name = "g" } = {}) =>
  Buffer.concat([
    ...nodes.map((made) => bytes(1, made)),
    bytes(2, name),
    ...initializers.map((made) => bytes(5, made)),
    ...inputs.map((made) => bytes(11, made)),
    ...outputs.map((made) => bytes(12, made)),
  ]);
const model = (made, { opset = 21, rest = [] } = {}) =>
  Buffer.concat([number(1, 10), bytes(7, made), bytes(8, Buffer.concat([bytes(1, ""), number(2, opset)])), ...rest]);
const tensor = (name, dims, raw, type = 1) => Buffer.concat([...dims.map((dim) => number(1, dim)), number(2, type), bytes(8, name), bytes(9, raw)]);
const external = (name, location) =>
  Buffer.concat([number(1, 4), number(2, 1), bytes(8, name), number(14, 1), bytes(13, Buffer.concat([bytes(1, "location"), bytes(2, location)]))]);
const attribute = (name, inner) => Buffer.concat([bytes(1, name), bytes(6, inner), number(20, 5)]);
const chain = (count, op = "Relu") => Array.from({ length: count }, (_, at) => node(op, [at === 0 ? "x" : `v${at}`], [at === count - 1 ? "y" : `v${at + 1}`], `/n${at}`));

/** A zip archive with one file. */
function zip(name, contents, { size = contents.length, cut = 0 } = {}) {
  const packed = deflateRawSync(contents);
  const head = (signature, length) => {
    const made = Buffer.alloc(length);
    made.writeUInt32LE(signature, 0);
    return made;
  };
  const local = head(0x04034b50, 30);
  local.writeUInt16LE(8, 8);
  local.writeUInt32LE(crc32(contents), 14);
  local.writeUInt32LE(packed.length, 18);
  local.writeUInt32LE(size, 22);
  local.writeUInt16LE(name.length, 26);
  const entry = head(0x02014b50, 46);
  entry.writeUInt16LE(8, 10);
  entry.writeUInt32LE(crc32(contents), 16);
  entry.writeUInt32LE(packed.length, 20);
  entry.writeUInt32LE(size, 24);
  entry.writeUInt16LE(name.length, 28);
  const end = head(0x06054b50, 22);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(46 + name.length, 12);
  end.writeUInt32LE(30 + name.length + packed.length, 16);
  const archive = Buffer.concat([local, Buffer.from(name), packed, entry, Buffer.from(name), end]);
  return archive.subarray(0, archive.length - cut);
}

const TEXT = '<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Relu (x) }';
const MARKUP = '"><img src=x onerror=alert(1)><script>alert(2)</script>&amp;';

/** Graphs that are odd or large. */
function graphs() {
  const many = (count, make) => Array.from({ length: count }, (_, at) => make(at));
  const nested = (depth) => {
    let inner = graph([node("Relu", ["x"], ["y"])], { inputs: [] });
    for (let level = 0; level < depth; level += 1) inner = graph([node("If", ["c"], ["y"], "", [attribute("then_branch", inner)])], { inputs: [] });
    return model(inner);
  };
  const functions = (count, isRecursive) =>
    many(count, (at) => {
      const to = at + 1 < count ? at + 1 : isRecursive ? 0 : -1;
      const call = (from, out) => (to < 0 ? node("Relu", [from], [out]) : Buffer.concat([node(`f${to}`, [from], [out]), bytes(7, "d")]));
      const body = Buffer.concat([bytes(7, call("a", "b")), bytes(7, call("b", "c"))]);
      return bytes(25, Buffer.concat([bytes(1, `f${at}`), bytes(4, "a"), bytes(5, "c"), body, bytes(9, Buffer.concat([bytes(1, ""), number(2, 21)])), bytes(10, "d")]));
    });
  const calls = (count, isRecursive) =>
    model(graph([Buffer.concat([node("f0", ["x"], ["y"]), bytes(7, "d")])]), { rest: [bytes(8, Buffer.concat([bytes(1, "d"), number(2, 1)])), ...functions(count, isRecursive)] });
  const wide = 100_000;
  const names = many(wide, (at) => `v${at}`);
  return {
    "100,000 nodes in one rank": [model(graph([...names.map((name) => node("Relu", ["x"], [name])), node("Concat", names, ["y"])])), "picture"],
    "100,000 nodes in a row": [model(graph(chain(100_000))), "picture"],
    "100,000 inputs": [model(graph([node("Concat", names, ["y"])], { inputs: names.map((name) => value(name)) })), "picture"],
    "100,000 outputs": [model(graph(names.map((name) => node("Relu", ["x"], [name])), { outputs: names.map((name) => value(name)) })), "picture"],
    "100,000 scopes": [model(graph(chain(100_000).map((_, at) => node("Relu", ["x"], [`v${at}`], `/s${at}/a/n`)))), "picture"],
    "one value 100,000 times": [model(graph([node("Concat", many(wide, () => "x"), ["y"])])), "picture"],
    "600 nodes, each with all before as operands": [model(graph(many(600, (at) => node("Sum", ["x", ...names.slice(0, at)], [names[at]])))), "picture"],
    "a cycle of 2": [model(graph([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Abs", ["b"], ["y"])])), "picture"],
    "a cycle of 10,000": [model(graph([...chain(10_000).slice(1), node("Relu", ["v9999"], ["v1"])])), "picture"],
    "a node that uses itself": [model(graph([node("Relu", ["y"], ["y"])])), "picture"],
    "graphs in graphs, 60": [nested(60), "either"],
    "graphs in graphs, 2,000": [nested(2_000), "either"],
    "functions that double, 60": [calls(60, false), "picture"],
    "functions that call each other": [calls(20, true), "picture"],
    "one value made 1,000 times": [model(graph(many(1_000, () => node("Relu", ["x"], ["y"])))), "picture"],
    "no graph": [Buffer.concat([number(1, 10)]), "either"],
    "no nodes": [model(graph([])), "picture"],
    "no operator set": [Buffer.concat([number(1, 10), bytes(7, graph(chain(3)))]), "picture"],
    "operator set of the far future": [model(graph(chain(3)), { opset: 2n ** 62n }), "picture"],
    "a negative operator set": [model(graph(chain(3)), { opset: -5n }), "picture"],
    "operators that nobody knows": [model(graph(chain(1_000, "Nobody"))), "picture"],
    "a node without an operator": [model(graph([node("", ["x"], ["y"])])), "picture"],
    "nodes without values": [model(graph(many(100, () => node("Relu", [], [])))), "picture"],
  };
}

/** Names that are markup, very long, or not readable. */
function texts() {
  const named = (name) => model(graph([node("Relu", ["x"], ["v"], name), node(name, ["v", name], ["y"], name)], { inputs: [value("x", [name]), value(name)], name }));
  const metadata = Buffer.concat([bytes(6, MARKUP), bytes(14, Buffer.concat([bytes(1, MARKUP), bytes(2, MARKUP)]))]);
  const scopes = `/${"a/".repeat(10_000)}n`;
  return {
    "markup in every name": [named(MARKUP), "picture"],
    "markup in documentation and metadata": [model(graph(chain(3)), { rest: [metadata] }), "picture"],
    "a name of a megabyte": [named("n".repeat(1_000_000)), "picture"],
    "a million combining characters": [named(`a${"\u0301".repeat(500_000)}`), "picture"],
    "text from right to left": [named("\u202eabc\u2066\u200f"), "picture"],
    "control characters": [named("\u0000\u001b[31m\r\n\t\u0007"), "picture"],
    "10,000 scopes in scopes": [model(graph([node("Relu", ["x"], ["y"], scopes), node("Relu", ["x"], ["z"], `${scopes}/m`)])), "picture"],
    "scopes without names": [model(graph(chain(50).map((_, at) => node("Relu", ["x"], [`v${at}`], "////.././/")))), "picture"],
    "names that are not UTF-8": [named(Buffer.from([0x61, 0xff, 0xfe, 0xc0])), "either"],
    "names like members of objects": [named("__proto__"), "picture"],
    "a link that is a script": [model(graph([Buffer.concat([node("Relu", ["x"], ["y"], "javascript:alert(1)"), bytes(6, "javascript:alert(1)")])])), "picture"],
  };
}

/** Tensors that are not what they say. */
function tensors() {
  const raw = Buffer.alloc(16);
  const added = (made) => model(graph([node("Add", ["x", "w"], ["y"])], { initializers: [made] }));
  return {
    "a tensor with too few bytes": [added(tensor("w", [1_000_000], raw)), "picture"],
    "a tensor with 2^62 elements": [added(tensor("w", [2n ** 31n, 2n ** 31n], raw)), "picture"],
    "a tensor with negative dimensions": [added(tensor("w", [-1n, 4], raw)), "picture"],
    "a tensor of an unknown type": [added(tensor("w", [4], raw, 99)), "picture"],
    "a tensor without a name": [added(tensor("", [4], raw)), "picture"],
    "external data that is missing": [added(external("w", "weights.data")), "picture"],
    "external data outside of the folder": [added(external("w", "../../etc/passwd")), "picture"],
    "external data at an address": [added(external("w", "https://example.com/w")), "picture"],
  };
}

/** Files that are not models, or no longer. */
function files() {
  const sample = model(graph(chain(40, "Add").map((made, at) => Buffer.concat([made, bytes(1, `w${at % 5}`), bytes(6, "documentation")])), { initializers: Array.from({ length: 5 }, (_, at) => tensor(`w${at}`, [2], Buffer.from([0, 0, 128, 63, 0, 0, 0, at]))) }));
  const numbers = (() => {
    let state = 1;
    return (below) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state % below;
    };
  })();
  const random = Buffer.from(Array.from({ length: 200_000 }, () => numbers(256)));
  const cases = {
    "an empty file": [Buffer.alloc(0), "message"],
    "a zero": [Buffer.alloc(1), "message"],
    "a megabyte of zeros": [Buffer.alloc(1_000_000), "message"],
    "a megabyte of 0xff": [Buffer.alloc(1_000_000, 255), "message"],
    "random bytes": [random, "message"],
    "HTML": [Buffer.from("<!doctype html><html><body>404</body></html>"), "message"],
    "a pointer of Git LFS": [Buffer.from("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"), "message"],
    "a picture": [Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), "message"],
    "a zip archive as a model": [zip("a.txt", random), "message"],
    "text without an end": [Buffer.from(TEXT.slice(0, -4)), "message", "m.onnxtxt"],
    "text that is another": [Buffer.from("hello\nworld"), "message", "m.onnxtxt"],
    "text with 100,000 brackets": [Buffer.from(`${TEXT.slice(0, -2)} z = If (c) <a = ${"g () => () {".repeat(100_000)}`), "message", "m.onnxtxt"],
    "JSON without an end": [Buffer.from('{"graph": {"node": ['), "message", "m.json"],
    "JSON with 100,000 brackets": [Buffer.from('{"graph":'.repeat(100_000)), "message", "m.json"],
    "JSON of another kind": [Buffer.from('{"name": "package", "version": "1"}'), "message", "m.json"],
    "protobuf text with 100,000 brackets": [Buffer.from("graph {".repeat(100_000)), "message", "m.textproto"],
    "an archive without a model": [zip("a.txt", Buffer.from("hello")), "message", "m.zip"],
    "an archive that ends early": [zip("m.onnxtxt", Buffer.from(TEXT), { cut: 30 }), "message", "m.zip"],
    "an archive that is larger than it says": [zip("m.onnxtxt", Buffer.from(TEXT.padEnd(50_000_000)), { size: 100 }), "message", "m.zip"],
    "an archive of 500 MB of spaces": [zip("m.onnxtxt", Buffer.alloc(500_000_000, 32)), "either", "m.zip"],
    "a model in an archive": [zip("folder/m.onnxtxt", Buffer.from(TEXT)), "picture", "m.zip"],
  };
  for (let cut = 1; cut <= 10; cut += 1) cases[`a model cut at ${cut} of 11`] = [sample.subarray(0, Math.floor((sample.length * cut) / 11)), "either"];
  for (let seed = 1; seed <= 60; seed += 1) {
    const copy = Buffer.from(sample);
    for (let flips = 0; flips < seed % 8 || flips < 1; flips += 1) copy[numbers(seed % 2 === 0 ? Math.min(copy.length, 4_000) : copy.length)] ^= 1 << numbers(8);
    cases[`a model with bits flipped, ${seed}`] = [copy, "either"];
  }
  return cases;
}

/** A file of `size` bytes that begins and ends as given; the file system stores no zeros. */
function sparse(path, size, begin = Buffer.alloc(0), end = Buffer.alloc(0)) {
  const file = openSync(path, "w");
  ftruncateSync(file, size);
  writeSync(file, begin, 0, begin.length, 0);
  writeSync(file, end, 0, end.length, size - end.length);
  closeSync(file);
}

/** A model file with a weight of `size` bytes. */
function large(path, size) {
  const weight = Buffer.concat([number(1, size / 4), number(2, 1), bytes(8, "w"), varint((9 << 3) | 2), varint(size)]);
  const before = graph([node("Add", ["x", "w"], ["y"])]);
  const inner = Buffer.concat([before, varint((5 << 3) | 2), varint(weight.length + size), weight]);
  const begin = Buffer.concat([number(1, 10), bytes(8, Buffer.concat([bytes(1, ""), number(2, 21)])), varint((7 << 3) | 2), varint(inner.length + size), inner]);
  sparse(path, begin.length + size, begin);
}

/** All cases: a name, the paths to give, whether they are a folder, and what must be seen. */
export function cases(folder) {
  const made = [];
  const groups = { ...graphs(), ...texts(), ...tensors(), ...files() };
  for (const [name, [contents, expected, file = "m.onnx"]] of Object.entries(groups)) {
    const place = `${folder}/${made.length}`;
    mkdirSync(place);
    writeFileSync(`${place}/${file}`, contents);
    made.push({ name, path: `${place}/${file}`, isFolder: false, expected });
  }
  const place = (name) => {
    const path = `${folder}/${name}`;
    mkdirSync(path);
    return path;
  };
  const [gone, big, some, heavy] = ["two-gigabytes", "zeros", "weights", "external"].map(place);
  sparse(`${gone}/m.onnx`, 2_100_000_000);
  made.push({ name: "a file of 2.1 GB", path: `${gone}/m.onnx`, isFolder: false, expected: "message" });
  sparse(`${big}/m.onnx`, 1_890_000_000);
  made.push({ name: "1.89 GB of zeros", path: `${big}/m.onnx`, isFolder: false, expected: "message" });
  large(`${some}/m.onnx`, 1_800_000_000);
  made.push({ name: "a model file of 1.8 GB", path: `${some}/m.onnx`, isFolder: false, expected: "either" });
  const bound = Buffer.concat([number(1, 5_000_000_000), number(2, 1), bytes(8, "w"), number(14, 1), bytes(13, Buffer.concat([bytes(1, "location"), bytes(2, "w.data")]))]);
  writeFileSync(`${heavy}/m.onnx`, model(graph([node("Add", ["x", "w"], ["y"])], { initializers: [bound] })));
  sparse(`${heavy}/w.data`, 20_000_000_000);
  made.push({ name: "a model with 20 GB of external data", path: heavy, isFolder: true, expected: "picture" });
  return made;
}
