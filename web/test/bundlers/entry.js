// A program of a user: what it finds is an attribute of its page.
import { open } from "onnxkit";

const model = await open("m.onnxtxt", "g (float[N] x) => (float[N] y) { y = Relu (x) }");
document.body.append(`${(document.body.dataset.found = String((await model.search("Relu()")).count))} node`);
