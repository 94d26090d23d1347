//! ONNX protobuf messages and a bounded zero-copy reader and writer of the wire format.
#![forbid(unsafe_code)]

pub mod wire;
