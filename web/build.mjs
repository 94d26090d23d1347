// Compiles the page into the assets of the crate `onnx-draw`, which every .html file and `onnx view` contain.
// `node build.mjs --check` only finds out whether they are current. `node build.mjs --site DIR WASM` writes the page that
// needs no command: a folder that any web server can serve.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { buildSync } from "esbuild";
import { shrunk } from "./shrink.mjs";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const bundle = (entry, minify = false) => {
  const { outputFiles, metafile } = buildSync({
    minify,
    entryPoints: [path(entry)],
    bundle: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    write: false,
    metafile: true,
    ...(minify ? {} : { banner: { js: "// Generated from web/src by `npm run build` in web." } }),
  });
  // The command and the wheel contain this script; their licences are those of their crates.
  const others = Object.keys(metafile.inputs).filter((input) => input.includes("node_modules/"));
  if (others.length > 0) {
    console.error(`${entry} contains code of other packages, whose licences THIRD-PARTY-LICENSES does not list: ${others.join(", ")}`);
    process.exit(1);
  }
  return outputFiles[0].text;
};
const site = process.argv.indexOf("--site");
if (site > 0) {
  const [directory, wasm] = process.argv.slice(site + 1);
  if (!directory || !wasm) {
    console.error("usage: node build.mjs --site DIR target/wasm32-unknown-unknown/page/onnx_wasm.wasm");
    process.exit(2);
  }
  mkdirSync(directory, { recursive: true });
  const files = {
    "index.html": readFileSync(path("index.html")),
    "page.css": readFileSync(path("src/page.css")),
    "viewer.js": Buffer.from(bundle("src/main.ts", true)),
    "worker.js": Buffer.from(bundle("src/worker.ts", true)),
    "onnx.wasm": shrunk(wasm),
  };
  const sums = [0, 0, 0];
  const report = (name, sizes) => console.log(`${name.padEnd(12)}${sizes.map((size) => size.toLocaleString("en").padStart(12)).join("")}`);
  console.log("bytes of             as it is        gzip      brotli");
  for (const [name, contents] of Object.entries(files)) {
    writeFileSync(`${directory}/${name}`, contents);
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: contents.length, [constants.BROTLI_PARAM_LGWIN]: 24 };
    const sizes = [contents.length, gzipSync(contents, { level: 9 }).length, brotliCompressSync(contents, { params }).length];
    sizes.forEach((size, at) => (sums[at] += size));
    report(name, sizes);
  }
  report("in all", sums);
  process.exit(0);
}
const outputs = [
  ["../crates/onnx-draw/assets/viewer.js", bundle("src/main.ts")],
  ["../crates/onnx-draw/assets/page.css", readFileSync(path("src/page.css"), "utf8")],
];
let stale = 0;
for (const [name, text] of outputs) {
  if (process.argv.includes("--check")) {
    if (readFileSync(path(name), "utf8") !== text) {
      console.error(`${name} is stale: run \`npm run build\` in web`);
      stale = 1;
    }
  } else {
    writeFileSync(path(name), text);
  }
}
process.exit(stale);
