//! ONNX element types, shapes, dimension expressions and tensors.
