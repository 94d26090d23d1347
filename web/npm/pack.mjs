// Makes the npm package: `node npm/pack.mjs DIR target/wasm32-unknown-unknown/page/onnx_wasm.wasm`. Nothing is published.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { execFileSync } from "node:child_process";
import { buildSync } from "esbuild";
import { shrunk } from "../shrink.mjs";

const web = fileURLToPath(new URL("..", import.meta.url));
const [directory, wasm] = process.argv.slice(2);
if (!directory || !wasm) {
  console.error("usage: node npm/pack.mjs DIR target/wasm32-unknown-unknown/page/onnx_wasm.wasm");
  process.exit(2);
}
// The version of the workspace is that of all packages.
const version = /^\[workspace\.package\]\nversion = "(.*)"$/m.exec(readFileSync(`${web}../Cargo.toml`, "utf8"))?.[1];
const manifest = JSON.parse(readFileSync(`${web}npm/package.json`, "utf8"));
if (manifest.version !== version) {
  console.error(`web/npm/package.json has version ${manifest.version}, and Cargo.toml has ${version}`);
  process.exit(1);
}
mkdirSync(directory, { recursive: true });
for (const name of ["browser", "node"]) {
  const { metafile } = buildSync({
    entryPoints: [`${web}src/package-${name}.ts`],
    outfile: `${directory}/${name}.js`,
    bundle: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    external: ["node:*"],
    metafile: true,
  });
  // The licences of the package are those of the module: code of other packages would add some.
  const others = Object.keys(metafile.inputs).filter((input) => input.includes("node_modules/"));
  if (others.length > 0) {
    console.error(`${name}.js contains code of other packages: ${others.join(", ")}`);
    process.exit(1);
  }
}
const tsc = ["--noEmit", "false", "--declaration", "--emitDeclarationOnly", "--rootDir", `${web}src`, "--outDir", `${directory}/types`, "-p", web];
execFileSync(`${web}node_modules/.bin/tsc`, tsc, { stdio: "inherit" });
const types = ["package", "package-browser", "model"].map((name) => `${name}.d.ts`);
for (const name of readdirSync(`${directory}/types`).filter((name) => !types.includes(name))) {
  // The declarations of the page are not part of the package.
  rmSync(`${directory}/types/${name}`);
}
copyFileSync(`${web}npm/onnx-wasm.d.ts`, `${directory}/types/onnx-wasm.d.ts`);
for (const name of ["package.json", "README.md", "THIRD-PARTY-LICENSES"]) copyFileSync(`${web}npm/${name}`, `${directory}/${name}`);
for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) copyFileSync(`${web}../${name}`, `${directory}/${name}`);
writeFileSync(`${directory}/onnx.wasm`, shrunk(wasm));
