//! Finds everything that is wrong with an ONNX model, with the place, the reason and the way out.
