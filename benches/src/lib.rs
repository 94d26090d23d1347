//! Benchmarks of the workspace.
//!
//! * `cargo bench -p onnx-benches` runs the criterion benches in `benches/`, over models of several sizes, to show the
//!   growth, and over alternative implementations, to give a ratio.
//! * `cargo xtask bench --peers` runs the programs of this package, `measure` and `memory`, side by side with other tools.
//!
//! Both share what is here: the operations that are measured, and how samples are taken. The models come from
//! [`onnx_tests::models`].
#![forbid(unsafe_code)]

pub mod convert;
pub mod edits;
pub mod eval;
pub mod forms;
pub mod functions;
pub mod passes;
pub mod samples;
pub mod simplify;

use bytes::Bytes;
use onnx_codec::{DecodeOptions, EncodeOptions};
use onnx_ir::Model;
use onnx_proto::wire::Segments;
use prost::Message as _;

/// Reads a model.
///
/// # Panics
///
/// Panics if the bytes are not a model; the measured bytes are.
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

/// Decodes a model into generated messages, without further processing: the minimum cost of any reader that is built on
/// them.
///
/// # Panics
///
/// Panics if the bytes are not a model.
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

/// A line of `/proc/self/status` in bytes.
///
/// # Errors
///
/// Returns an error if the system does not have it.
pub fn status(key: &str) -> Result<u64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next()).ok_or("the system does not say")?;
    Ok(number.parse::<u64>()? * 1024)
}
