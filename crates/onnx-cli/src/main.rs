//! The `onnx` command line.
fn main() {}
