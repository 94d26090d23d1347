//! ONNX protobuf messages and a bounded zero-copy reader and writer of the wire format.
#![forbid(unsafe_code)]

#[path = "generated/onnx.rs"]
pub mod messages;
pub mod wire;

/// The descriptors of [`messages`], as an encoded `google.protobuf.FileDescriptorSet`.
///
/// Reflection (the JSON and text forms of protobuf) starts from it.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("generated/descriptors.bin");
