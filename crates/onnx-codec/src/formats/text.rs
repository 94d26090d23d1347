//! The text format of protobuf.

use bytes::Bytes;
use miette::Diagnostic;
use prost_reflect::DynamicMessage;
use prost_reflect::text_format::ParseError;

use super::{
    FormatError, MODEL, OPERATOR_SET, Rendered, TextPosition, decode_dynamic, descriptor, encode_dynamic,
    loss, nesting, print, stack,
};

/// Writes an encoded model in the text format of protobuf, one field to a line.
///
/// # Errors
///
/// When the bytes are no model.
pub fn to_text(model: Bytes) -> Result<Rendered, FormatError> {
    stack::with_room(|| write(MODEL, model))
}

/// Writes an encoded operator set document in the text format of protobuf, as [`to_text`] writes models.
///
/// # Errors
///
/// When the bytes are no operator set document.
pub fn operator_set_to_text(document: Bytes) -> Result<Rendered, FormatError> {
    stack::with_room(|| write(OPERATOR_SET, document))
}

fn write(name: &str, bytes: Bytes) -> Result<Rendered, FormatError> {
    let message = decode_dynamic(name, bytes)?;
    Ok(Rendered { text: print::print(&message), losses: loss::losses(&message) })
}

/// Reads a model in the text format of protobuf, and encodes it.
///
/// # Errors
///
/// When the text is not well-formed, says something that a `ModelProto` cannot, or nests messages too deeply.
pub fn from_text(text: &str) -> Result<Bytes, FormatError> {
    stack::with_room(|| parse(MODEL, text))
}

/// Reads an operator set document in the text format of protobuf, and encodes it.
///
/// # Errors
///
/// When the text is not well-formed, says something that an `OperatorSetProto` cannot, or nests messages too deeply.
pub fn operator_set_from_text(text: &str) -> Result<Bytes, FormatError> {
    stack::with_room(|| parse(OPERATOR_SET, text))
}

fn parse(name: &str, text: &str) -> Result<Bytes, FormatError> {
    nesting::check(text)?;
    let message = DynamicMessage::parse_text_format(descriptor(name)?, text)
        .map_err(|error| syntax_error(text, &error))?;
    Ok(encode_dynamic(&message))
}

fn syntax_error(text: &str, error: &ParseError) -> FormatError {
    let label = error.labels().and_then(|mut labels| labels.next());
    // Without a place, the text ended too early.
    let byte = label.map_or(text.len(), |label| label.offset());
    FormatError::Syntax { position: TextPosition::of(text, byte), message: error.to_string() }
}
