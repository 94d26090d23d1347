// The same with the module in the script. The module is loaded once, and an attempt that failed is no obstacle.
import { init, open } from "onnxkit";
import bytes from "onnxkit/onnx.wasm";

const refused = (work) => work.then(() => false, () => true);
if (!(await refused(init({ url: "missing.wasm" })))) throw new Error("there is no such file");
await init({ module: await WebAssembly.compile(bytes) });
if (!(await refused(init({ bytes })))) throw new Error("the module is loaded already");
const model = await open("m.onnxtxt", "g (float[N] x) => (float[N] y) { y = Relu (x) }");
document.body.append(`${(document.body.dataset.found = String((await model.search("Relu()")).count))} node`);
