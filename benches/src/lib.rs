//! Benchmarks of the workspace.
//!
//! * `cargo bench -p onnx-benches` runs the criterion benches in `benches/`, over models of several sizes, so that growth
//!   shows, and over other ways to the same end, so that there is a ratio to look at.
//! * `cargo xtask bench --peers` runs the programs of this package, `measure` and `memory`, side by side with other tools.
//!
//! Both share what is here: the operations that are measured, and how samples are taken. The models come from
//! [`onnx_tests::models`].
#![forbid(unsafe_code)]

pub mod edits;
pub mod forms;
pub mod samples;

use bytes::Bytes;
use onnx_codec::{DecodeOptions, EncodeOptions};
use onnx_ir::Model;
use onnx_proto::wire::Segments;
use prost::Message as _;

/// Reads a model.
///
/// # Panics
///
/// When the bytes are no model: those that are measured are.
#[must_use]
pub fn decode(bytes: Bytes) -> Model {
    match onnx_codec::decode(bytes, &DecodeOptions::default()) {
        Ok(decoded) => decoded.model,
        Err(error) => stop(&error),
    }
}

/// Writes a model.
///
/// # Panics
///
/// When the model cannot be written: those that are measured can.
#[must_use]
pub fn encode(model: &Model) -> Segments {
    match onnx_codec::encode(model, &EncodeOptions::default()) {
        Ok(segments) => segments,
        Err(error) => stop(&error),
    }
}

/// Reads a model into plain messages, without making anything of them: what any reader built on them pays first.
///
/// # Panics
///
/// When the bytes are no model.
#[must_use]
pub fn decode_messages(bytes: Bytes) -> onnx_proto::messages::ModelProto {
    match onnx_proto::messages::ModelProto::decode(bytes) {
        Ok(model) => model,
        Err(error) => stop(&error),
    }
}

/// Ends a benchmark whose premise does not hold.
///
/// # Panics
///
/// Always, with the error.
#[expect(clippy::panic, reason = "a benchmark that cannot do its work has nothing to report")]
pub fn stop(error: &dyn std::fmt::Display) -> ! {
    panic!("{error}")
}
