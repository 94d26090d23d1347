// The same where the bundler does not find the module: it is imported as a file.
import { init, open } from "onnxkit";
import url from "onnxkit/onnx.wasm";

await init({ url });
const model = await open("m.onnxtxt", "g (float[N] x) => (float[N] y) { y = Relu (x) }");
document.body.append(`${(document.body.dataset.found = String((await model.search("Relu()")).count))} node`);
