//! Files: any bytes are read or refused, and what was read is written again without loss.

use std::sync::OnceLock;

use bytes::Bytes;
use onnx_codec::{DecodeOptions, decode_operator_set};

use super::{equal, findings, sound, write};
use crate::conformance::suites::roundtrip::RoundTrip;

/// Any bytes give a sound model with printable findings, or an error that names a place inside them.
///
/// # Errors
///
/// What does not hold.
pub fn decode(bytes: &[u8]) -> Result<(), String> {
    let bytes = Bytes::copy_from_slice(bytes);
    match onnx_codec::decode(bytes.clone(), &DecodeOptions::default()) {
        Ok(decoded) => {
            sound(&decoded.model, "after decoding", true)?;
            findings(&decoded.findings)?;
        }
        Err(error) => {
            let (offset, length) = (error.wire().offset(), bytes.len());
            if offset > length {
                return Err(format!("an error at byte {offset} of {length}"));
            }
            let text = error.to_string();
            if text.len() > 4096 || text.chars().any(char::is_control) {
                return Err(format!("an error of {} bytes: {text:?}", text.len()));
            }
        }
    }
    // The other messages that are read as separate files.
    let _ = decode_operator_set(bytes.clone(), &DecodeOptions::default());
    let _ = onnx_codec::decode_graph(bytes.clone(), &DecodeOptions::default());
    let _ = onnx_codec::decode_node(bytes.clone(), &DecodeOptions::default());
    let _ = onnx_codec::decode_function(bytes.clone(), &DecodeOptions::default());
    let _ = onnx_codec::decode_tensor(bytes, &DecodeOptions::default());
    Ok(())
}

/// What was read is written, and reading and writing that gives the same bytes; so does the clone, and one whose nodes
/// were edited.
///
/// # Errors
///
/// What does not hold.
#[expect(clippy::redundant_clone, reason = "whether a clone is written alike is the question")]
pub fn decode_encode(bytes: &[u8]) -> Result<(), String> {
    let options = DecodeOptions::default();
    let Ok(decoded) = onnx_codec::decode(Bytes::copy_from_slice(bytes), &options) else { return Ok(()) };
    let clone = write(&decoded.model.clone())?;
    let written = write(&decoded.model)?.ok_or("a model that was read cannot be written")?;
    equal(&clone.as_ref(), &Some(&written), "the clone is written differently")?;
    let again = onnx_codec::decode(written.clone(), &options)
        .map_err(|error| format!("what was written: {error}"))?;
    sound(&again.model, "after reading what was written", true)?;
    equal(&write(&again.model)?.as_ref(), &Some(&written), "reading and writing what was written changes it")
}

/// Accepted are the files that the independent readers accept, and no field of them is lost.
///
/// # Errors
///
/// What does not hold.
pub fn decode_prost(bytes: &[u8]) -> Result<(), String> {
    static SUITE: OnceLock<Result<RoundTrip, String>> = OnceLock::new();
    let suite = SUITE.get_or_init(RoundTrip::new).as_ref().map_err(Clone::clone)?;
    let looked = suite.file(&Bytes::copy_from_slice(bytes), &mut Vec::new());
    looked.map(drop).map_err(|failure| format!("{}: {}", failure.kind, failure.detail))
}
