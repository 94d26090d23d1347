// Makes a module of WebAssembly smaller to load. What `wasm-opt -Oz` does makes it smaller on the disk only: it turns equal
// sequences of instructions into different ones, which compress worse. So only what removes something is done.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";

/** What the compiler uses beyond the first version of WebAssembly. */
const FEATURES = ["bulk-memory", "multivalue", "mutable-globals", "nontrapping-float-to-int", "reference-types", "sign-ext"];
/** What one round removes leaves more for the next one. */
const ROUND = ["duplicate-function-elimination", "dae", "remove-unused-module-elements", "vacuum"];
const PASSES = [...ROUND, ...ROUND, ...ROUND, "reorder-locals", "strip-debug", "strip-producers"];

/** The module in a file, smaller. */
export function shrunk(path) {
  const folder = mkdtempSync(`${tmpdir()}/onnx-wasm-`);
  try {
    const program = fileURLToPath(new URL("node_modules/.bin/wasm-opt", import.meta.url));
    execFileSync(program, [...FEATURES.map((name) => `--enable-${name}`), ...PASSES.map((name) => `--${name}`), path, "-o", `${folder}/onnx.wasm`], { stdio: ["ignore", "inherit", "inherit"] });
    return readFileSync(`${folder}/onnx.wasm`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
