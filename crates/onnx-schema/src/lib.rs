//! Facts about every ONNX operator at every version, as constant tables.
