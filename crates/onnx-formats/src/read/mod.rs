//! From text to the wire format, in one pass and without a tree of messages.

mod builder;
mod json;
mod number;
mod text;

use bytes::Bytes;
use onnx_types::Execution;

use crate::{ConvertError, MessageType};

/// Reads a message in the text format of protobuf, and encodes it. The result takes as much memory as the message; fields are
/// in the order of the text.
///
/// # Errors
///
/// Returns an error if the text is not well-formed, contains what the message cannot, or exceeds a limit.
pub fn read_text(message: MessageType, text: &[u8], execution: &Execution) -> Result<Bytes, ConvertError> {
    text::parse(message.0, text, execution).map_err(|error| error.located(text))
}

/// Reads a message in JSON, and encodes it. Field names may be those of the schema or in lower camel case. The result takes
/// as much memory as the message; fields are in the order of the text.
///
/// # Errors
///
/// Returns an error if the text is not JSON, contains what the message cannot, or exceeds a limit.
pub fn read_json(message: MessageType, text: &[u8], execution: &Execution) -> Result<Bytes, ConvertError> {
    json::parse(message.0, text, execution).map_err(|error| error.located(text))
}
