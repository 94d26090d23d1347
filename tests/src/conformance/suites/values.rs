//! Values of runs from the messages that hold them: `TensorProto`, `SequenceProto`, `OptionalProto`, `MapProto`.

use std::sync::Arc;

use bytes::Bytes;
use onnx_codec::value::{KeyMessage, ValueMessage, encode_value};
use onnx_codec::{DecodeOptions, EncodeOptions, decode};
use onnx_eval::{MapKey, Value};
use onnx_proto::messages::{MapProto, OptionalProto, SequenceProto, TensorProto};
use onnx_types::tensor::Tensor;
use onnx_types::{Type, TypeKind};
use prost::Message as _;

use crate::conformance::wire::put_len;

/// The value in a message, which has the form of the declared type.
///
/// # Errors
///
/// When the bytes are not such a message.
pub(super) fn read(bytes: &Bytes, ty: Option<&Type>) -> Result<Value, String> {
    let fail = |error: prost::DecodeError| error.to_string();
    match ty.map(|ty| &ty.kind) {
        Some(TypeKind::Sequence(_)) => sequence(&SequenceProto::decode(bytes.clone()).map_err(fail)?),
        Some(TypeKind::Optional(_)) => optional(&OptionalProto::decode(bytes.clone()).map_err(fail)?),
        Some(TypeKind::Map { .. }) => map(&MapProto::decode(bytes.clone()).map_err(fail)?),
        _ => tensor(bytes).map(Value::from),
    }
}

/// The value in a message of a kind: `tensor`, `sequence`, `optional` or `map`.
///
/// # Errors
///
/// When the bytes are not such a message.
pub(super) fn read_as(kind: &str, bytes: &Bytes) -> Result<Value, String> {
    let fail = |error: prost::DecodeError| error.to_string();
    match kind {
        "tensor" => tensor(bytes).map(Value::from),
        "sequence" => sequence(&SequenceProto::decode(bytes.clone()).map_err(fail)?),
        "optional" => optional(&OptionalProto::decode(bytes.clone()).map_err(fail)?),
        "map" => map(&MapProto::decode(bytes.clone()).map_err(fail)?),
        other => Err(format!("there is no kind `{other}`")),
    }
}

/// The message that holds a value, and its kind.
///
/// # Errors
///
/// When a tensor cannot be written.
pub(super) fn write(value: &Value, name: &str) -> Result<(&'static str, Bytes), String> {
    let message = to_message(value);
    let kind = match &message {
        ValueMessage::Tensor(_) => "tensor",
        ValueMessage::Sequence(_) => "sequence",
        ValueMessage::Optional(_) => "optional",
        ValueMessage::Map(_) => "map",
    };
    let encoded =
        encode_value(&message, name, &EncodeOptions::default()).map_err(|error| error.to_string())?;
    Ok((kind, encoded.into_bytes()))
}

fn to_message(value: &Value) -> ValueMessage {
    match value {
        Value::Tensor(tensor) => ValueMessage::Tensor(tensor.clone()),
        Value::Sequence(items) => ValueMessage::Sequence(items.iter().map(to_message).collect()),
        Value::Optional(inner) => {
            ValueMessage::Optional(inner.as_deref().map(|inner| Box::new(to_message(inner))))
        }
        Value::Map(entries) => {
            let key = |key: &MapKey| match key {
                MapKey::Int(key) => KeyMessage::Int(*key),
                MapKey::Text(key) => KeyMessage::Text(key.clone()),
            };
            ValueMessage::Map(entries.iter().map(|(name, value)| (key(name), to_message(value))).collect())
        }
    }
}

/// The tensor in a message: it is read as an initializer of a model around it.
fn tensor(bytes: &[u8]) -> Result<Tensor, String> {
    let (mut graph, mut model) = (Vec::new(), Vec::new());
    put_len(&mut graph, 5, bytes);
    put_len(&mut model, 7, &graph);
    let decoded = decode(Bytes::from(model), &DecodeOptions::default()).map_err(|error| error.to_string())?;
    let model = decoded.model;
    let first = model.initializers(model.main_graph()).next();
    let constant = first.and_then(|value| model.value(value).initializer());
    constant.and_then(|constant| constant.dense().cloned()).ok_or_else(|| "it is not a tensor".to_owned())
}

fn message(tensor_proto: &TensorProto) -> Result<Value, String> {
    tensor(&tensor_proto.encode_to_vec()).map(Value::from)
}

fn sequence(proto: &SequenceProto) -> Result<Value, String> {
    let mut items = Vec::new();
    for tensor in &proto.tensor_values {
        items.push(message(tensor)?);
    }
    for inner in &proto.sequence_values {
        items.push(sequence(inner)?);
    }
    for inner in &proto.map_values {
        items.push(map(inner)?);
    }
    for inner in &proto.optional_values {
        items.push(optional(inner)?);
    }
    Ok(Value::Sequence(Arc::new(items)))
}

fn optional(proto: &OptionalProto) -> Result<Value, String> {
    let inner = if let Some(tensor) = &proto.tensor_value {
        message(tensor)?
    } else if let Some(inner) = &proto.sequence_value {
        sequence(inner)?
    } else if let Some(inner) = &proto.map_value {
        map(inner)?
    } else {
        return Ok(Value::Optional(None));
    };
    Ok(Value::Optional(Some(Arc::new(inner))))
}

fn map(proto: &MapProto) -> Result<Value, String> {
    let ints = proto.keys.iter().map(|&key| MapKey::Int(key));
    let texts = proto.string_keys.iter().map(|key| MapKey::Text(key.clone()));
    let values = proto.values.as_ref().map(sequence).transpose()?;
    let values = values.as_ref().and_then(Value::sequence).unwrap_or_default();
    Ok(Value::Map(Arc::new(ints.chain(texts).zip(values.iter().cloned()).collect())))
}
