//! ONNX protobuf messages and a bounded zero-copy reader and writer of the wire format.
//!
//! An ONNX file is one protobuf message, a `ModelProto`. There are two ways to work with one here:
//!
//! * [`messages`] has a struct for each message, generated with prost. It is convenient for small messages, for
//!   interchange with other protobuf code, and, with [`FILE_DESCRIPTOR_SET`], for reflection. Decoding builds the whole
//!   object tree, copies every string, and drops the fields that are not in the `.proto` files.
//! * [`wire`] has a cursor over the encoded fields, and a writer that encodes one field after the other.
//!   The reader builds no messages and copies no data, reports the byte offset of every field, and lets the caller keep
//!   unknown fields. The caller assigns meaning to field numbers; [`field`](mod@field) has constants for those of ONNX.
//!
//! Both accept arbitrary bytes without panicking, and stop at messages nested 100 deep. The reader does not allocate; the
//! messages take memory in proportion to the input, some hundred bytes for each message in it.
//! This crate does not check that a model is valid, opens no files, and has no information about operators.
//!
//! ```
//! use onnx_proto::field;
//! use onnx_proto::messages::{GraphProto, ModelProto, NodeProto};
//! use onnx_proto::wire::{Input, Value, WireError, WireLimits};
//! use prost::Message;
//!
//! // A model with one node, as messages. In proto2 a field that is not set is not the same as its default.
//! let node = NodeProto {
//!     op_type: Some("Relu".into()),
//!     input: vec!["x".into()],
//!     output: vec!["y".into()],
//!     ..Default::default()
//! };
//! let graph = GraphProto { name: Some("main".into()), node: vec![node], ..Default::default() };
//! let model = ModelProto { ir_version: Some(10), graph: Some(graph), ..Default::default() };
//!
//! // The same model, field by field. Matching on number and value together leaves what does not fit to the last arm.
//! let input = Input::new(model.encode_to_vec().into(), WireLimits::default())?;
//! let mut reader = input.reader();
//! let mut found = Vec::new();
//! while let Some(field) = reader.next_field()? {
//!     match (field.number, field.value) {
//!         (field::model::IR_VERSION, Value::Varint(ir_version)) => found.push(format!("IR version {ir_version}")),
//!         (field::model::GRAPH, Value::Len(payload)) => {
//!             let mut graph = reader.message(payload)?;
//!             while let Some(field) = graph.next_field().map_err(|error| error.in_field("graph"))? {
//!                 if let (field::graph::NAME, Value::Len(name)) = (field.number, field.value) {
//!                     found.push(format!("graph `{}` at byte {}", graph.string(name)?, payload.offset()));
//!                 }
//!             }
//!         }
//!         _ => println!("to keep: {:?}", reader.raw_record(&field)),
//!     }
//! }
//! assert_eq!(found, ["IR version 10", "graph `main` at byte 4"]);
//! # Ok::<(), WireError>(())
//! ```
#![forbid(unsafe_code)]
// What comes from outside is neither indexed nor added up unchecked.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

#[path = "generated/field.rs"]
pub mod field;
#[path = "generated/onnx.rs"]
pub mod messages;
pub mod wire;

/// The descriptors of [`messages`], as an encoded `google.protobuf.FileDescriptorSet`.
///
/// Reflection, such as the JSON and text forms of protobuf, starts from it.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("generated/descriptors.bin");
