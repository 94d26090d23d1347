//! The JSON form of protobuf.

use bytes::Bytes;
use prost_reflect::{DynamicMessage, SerializeOptions};

use super::{
    FormatError, MODEL, Rendered, TextPosition, decode_dynamic, descriptor, encode_dynamic, loss, stack,
};

/// Writes an encoded model as JSON, indented, with the field names of the schema. As protobuf prescribes, 64-bit integers
/// are strings and bytes are base64.
///
/// # Errors
///
/// When the bytes are no model.
pub fn to_json(model: Bytes) -> Result<Rendered, FormatError> {
    stack::with_room(|| write(model))
}

fn write(model: Bytes) -> Result<Rendered, FormatError> {
    let message = decode_dynamic(MODEL, model)?;
    let options = SerializeOptions::new().use_proto_field_name(true);
    let mut buffer = Vec::new();
    let mut serializer = serde_json::Serializer::pretty(&mut buffer);
    message
        .serialize_with_options(&mut serializer, &options)
        .map_err(|error| FormatError::Write(error.to_string()))?;
    buffer.push(b'\n');
    let text = String::from_utf8(buffer).map_err(|error| FormatError::Write(error.to_string()))?;
    Ok(Rendered { text, losses: loss::losses(&message) })
}

/// Reads a model in JSON, and encodes it. Field names may be those of the schema or in camel case.
///
/// # Errors
///
/// When the text is not JSON, says something that a `ModelProto` cannot, or nests values more than 128 deep.
pub fn from_json(text: &str) -> Result<Bytes, FormatError> {
    stack::with_room(|| parse(text))
}

fn parse(text: &str) -> Result<Bytes, FormatError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = DynamicMessage::deserialize(descriptor(MODEL)?, &mut deserializer);
    let message = read.and_then(|message| deserializer.end().map(|()| message)).map_err(|error| {
        let position = TextPosition { line: error.line(), column: error.column() };
        FormatError::Syntax { position, message: without_position(&error) }
    })?;
    Ok(encode_dynamic(&message))
}

/// The message of an error, which ends in its position.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&position).unwrap_or(&message).to_owned()
}
