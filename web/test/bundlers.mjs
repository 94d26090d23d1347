// The npm package in bundlers, as its page describes them: `node test/bundlers.mjs PACKAGE [PART]`. What each has made is served
// and opened in a browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { build as esbuild } from "esbuild";
import { finish, folder, given, here, open, test } from "./harness.mjs";

const [packed] = given("usage: node test/bundlers.mjs PACKAGE [PART]", 1);
const TYPES = { html: "text/html", js: "text/javascript", wasm: "application/wasm" };
const size = readFileSync(`${packed}/onnx.wasm`).length;

/** A folder with the programs, the bundlers and the package. */
const project = `${folder}/project`;
cpSync(here("bundlers"), project, { recursive: true, filter: (name) => !name.includes("node_modules") });
execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: project, stdio: ["ignore", "ignore", "inherit"] });
cpSync(packed, `${project}/node_modules/onnxkit`, { recursive: true });
writeFileSync(`${project}/index.html`, '<!doctype html><title>m</title><link rel="icon" href="data:,"><script type="module" src="./entry.js"></script>');
const required = createRequire(`${project}/package.json`);
const imported = (name) => import(required.resolve(name));

/** Opens a page, whose program finds one node. */
async function opened(address, expectedErrors = 0) {
  const { page, requests, errors, close } = await open(address, {}, "body[data-found]").catch((error) => {
    throw new Error(`${address} shows nothing: ${error}`);
  });
  assert.equal(await page.getAttribute("body", "data-found"), "1");
  assert.equal(errors.length, expectedErrors, errors.join("\n"));
  await close();
  return requests;
}

/** Serves what a bundler has made, and opens it. */
async function served(output, expectedErrors = 0) {
  if (!readdirSync(output).includes("index.html")) {
    const [script] = readdirSync(output).filter((name) => name.endsWith(".js"));
    writeFileSync(`${output}/index.html`, `<!doctype html><title>m</title><link rel="icon" href="data:,"><body></body><script type="module" src="${script}"></script>`);
  }
  const server = http.createServer((request, response) => {
    const name = request.url === "/" ? "index.html" : request.url.slice(1);
    try {
      const contents = readFileSync(`${output}/${name}`);
      response.setHeader("content-type", TYPES[name.split(".").pop()] ?? "text/plain");
      response.end(contents);
    } catch {
      response.statusCode = 404;
      response.end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await opened(`http://127.0.0.1:${server.address().port}/`, expectedErrors);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const modules = (output) =>
  readdirSync(output, { recursive: true }).filter((name) => name.endsWith(".wasm") && readFileSync(`${output}/${name}`).length === size);

await test("vite copies the module", async () => {
  const { build } = await imported("vite");
  await build({ root: project, logLevel: "error", build: { outDir: "vite", target: "es2022" } });
  assert.equal(modules(`${project}/vite`).length, 1);
  const requests = await served(`${project}/vite`);
  assert.equal(requests.filter((address) => address.endsWith(".wasm")).length, 1);
});

await test("the server of vite finds the module", async () => {
  const { createServer } = await imported("vite");
  const server = await createServer({ root: project, logLevel: "error", server: { host: "127.0.0.1", port: 0 }, optimizeDeps: { exclude: ["onnxkit"] } });
  try {
    await server.listen();
    await opened(`http://127.0.0.1:${server.httpServer.address().port}/`);
  } finally {
    await server.close();
  }
});

await test("webpack copies the module", async () => {
  const { default: webpack } = await imported("webpack");
  const output = `${project}/webpack`;
  const stats = await new Promise((resolve, reject) => {
    const options = { mode: "production", context: project, entry: "./entry.js", output: { path: output, filename: "script.js" }, performance: false };
    webpack(options, (error, stats) => (error ? reject(error) : resolve(stats)));
  });
  assert.ok(!stats.hasErrors(), stats.toString());
  assert.equal(modules(output).length, 1);
  await served(output);
});

for (const [entry, loader, files, errors] of [
  ["address", "file", 1, 0],
  // The browser reports the file that does not exist.
  ["bytes", "binary", 0, 1],
]) {
  await test(`esbuild with the loader ${loader}`, async () => {
    const output = `${project}/esbuild-${loader}`;
    mkdirSync(output);
    const options = { entryPoints: [`${project}/${entry}.js`], outdir: output, bundle: true, format: "esm", target: "es2022", logLevel: "error" };
    await esbuild({ ...options, loader: { ".wasm": loader } });
    assert.equal(modules(output).length, files);
    await served(output, errors);
  });
}

await finish();
