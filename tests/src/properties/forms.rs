//! The other forms of files: any bytes are read as protobuf's text and as JSON or refused, and what was read is written
//! without loss.

use bytes::Bytes;
use onnx_diag::Clean;
use onnx_formats::{ConvertError, Execution, MessageType, read_json, read_text, write_json, write_text};

use super::equal;

/// Any bytes are refused with a printable error, or give a message that both forms bring back.
///
/// # Errors
///
/// What does not hold.
pub fn forms(bytes: &[u8]) -> Result<(), String> {
    for read in [read_text, read_json] {
        match read(MessageType::MODEL, bytes, &Execution::DEFAULT) {
            Ok(encoded) => both(&encoded)?,
            Err(error) => {
                let text = error.to_string();
                equal(&Clean(&text).to_string(), &text, "an error acts on a terminal")?;
            }
        }
    }
    // Any bytes as a message: what is written is read, and then stays as it is.
    let mut written = Vec::new();
    if write_text(MessageType::MODEL, [bytes], &Execution::DEFAULT, &mut written).is_ok() {
        let encoded = read_text(MessageType::MODEL, &written, &Execution::DEFAULT);
        let encoded = encoded.map_err(|error| format!("text that was written is refused: {error}"))?;
        both(&encoded)?;
    }
    Ok(())
}

/// Both forms bring back a message that was read from one of them.
fn both(encoded: &Bytes) -> Result<(), String> {
    let pieces = || [&encoded[..]];
    let mut text = Vec::new();
    let write = write_text(MessageType::MODEL, pieces(), &Execution::DEFAULT, &mut text);
    write.map_err(|error| format!("what was read is not written as text: {error}"))?;
    let again = read_text(MessageType::MODEL, &text, &Execution::DEFAULT);
    let again = again.map_err(|error| format!("text that was written is refused: {error}"))?;
    equal(&again, encoded, "text changes what was read")?;
    let mut json = Vec::new();
    match write_json(MessageType::MODEL, pieces(), &Execution::DEFAULT, &mut json) {
        Ok(_) => {}
        // JSON has no bytes in strings.
        Err(ConvertError::NotUtf8 { .. }) => return Ok(()),
        Err(error) => return Err(format!("what was read is not written as JSON: {error}")),
    }
    let again = read_json(MessageType::MODEL, &json, &Execution::DEFAULT);
    let again = again.map_err(|error| format!("JSON that was written is refused: {error}"))?;
    equal(&again, encoded, "JSON changes what was read")
}
