// Compiles the page into the assets of the crate `onnx-draw`, which every .html file and `onnx view` contain.
// `node build.mjs --check` only finds out whether they are current. `node build.mjs --site DIR WASM` writes the page that
// needs no command: a folder that any web server can serve.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const bundle = (entry) =>
  buildSync({
    entryPoints: [path(entry)],
    bundle: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    write: false,
    banner: { js: "// Generated from web/src by `npm run build` in web." },
  }).outputFiles[0].text;
const site = process.argv.indexOf("--site");
if (site > 0) {
  const [directory, wasm] = process.argv.slice(site + 1);
  if (!directory || !wasm) {
    console.error("usage: node build.mjs --site DIR target/wasm32-unknown-unknown/page/onnx_wasm.wasm");
    process.exit(2);
  }
  mkdirSync(directory, { recursive: true });
  writeFileSync(`${directory}/viewer.js`, bundle("src/main.ts"));
  writeFileSync(`${directory}/worker.js`, bundle("src/worker.ts"));
  copyFileSync(path("index.html"), `${directory}/index.html`);
  copyFileSync(path("src/page.css"), `${directory}/page.css`);
  copyFileSync(wasm, `${directory}/onnx.wasm`);
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
