//! Values of runs: `TensorProto`, `SequenceProto`, `OptionalProto` and `MapProto` as separate messages, the form in
//! which test data are stored.

use std::sync::Arc;

use bytes::Bytes;
use onnx_ir::Model;
use onnx_proto::field::{map, optional, sequence};
use onnx_proto::wire::{Input, Payload, Reader, Segments, Value, Writer};
use onnx_types::tensor::Tensor;

use crate::decode::{DecodeOptions, decode_tensor, wire_limits};
use crate::encode::{EncodeOptions, encode_parts, tensor_into};
use crate::error::{DecodeError, EncodeError};

/// A value as the messages of the standard hold it.
#[derive(Clone, Debug)]
pub enum ValueMessage {
    /// `TensorProto`. The tensor may be invalid: [`Tensor::validate`] tells.
    Tensor(Arc<Tensor>),
    /// `SequenceProto`.
    Sequence(Vec<Self>),
    /// `OptionalProto`.
    Optional(Option<Box<Self>>),
    /// `MapProto`: as many keys as values.
    Map(Vec<(KeyMessage, Self)>),
}

/// A key of a map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyMessage {
    /// An integer of any type.
    Int(i64),
    /// A string, UTF-8 by convention.
    Text(Bytes),
}

/// The message that holds a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueMessageKind {
    /// `TensorProto`.
    Tensor,
    /// `SequenceProto`.
    Sequence,
    /// `OptionalProto`.
    Optional,
    /// `MapProto`.
    Map,
}

/// The numbers of `SequenceProto.DataType` and `OptionalProto.DataType`, which are the same.
const fn data_type(value: &ValueMessage) -> i32 {
    match value {
        ValueMessage::Tensor(_) => 1,
        ValueMessage::Sequence(_) => 3,
        ValueMessage::Map(_) => 4,
        ValueMessage::Optional(_) => 5,
    }
}

/// Reads a value from the message that holds it.
///
/// ```
/// use onnx_codec::value::{ValueMessage, ValueMessageKind, decode_value, encode_value};
/// use onnx_codec::{DecodeOptions, EncodeOptions};
/// use onnx_types::tensor::{NoData, Tensor};
///
/// let value = ValueMessage::Sequence(vec![ValueMessage::Tensor(Tensor::vector(&[1.0_f32, 2.0]).into())]);
/// let bytes = encode_value(&value, "x", &EncodeOptions::default())?.into_bytes();
/// let read = decode_value(bytes, ValueMessageKind::Sequence, &DecodeOptions::default())?;
/// let ValueMessage::Sequence(items) = read else { panic!() };
/// let [ValueMessage::Tensor(item)] = &*items else { panic!() };
/// assert_eq!(item.to_vec::<f32>(&NoData)?, [1.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the bytes are not protobuf, or a limit is exceeded.
pub fn decode_value(
    bytes: Bytes,
    kind: ValueMessageKind,
    options: &DecodeOptions,
) -> Result<ValueMessage, DecodeError> {
    let input = Input::new(bytes, wire_limits(&options.execution.limits))?;
    message(&input.reader(), input.whole(), kind, options)
}

/// Reads a message that is nested no deeper than the reader allows.
fn message(
    outer: &Reader<'_>,
    payload: Payload<'_>,
    kind: ValueMessageKind,
    options: &DecodeOptions,
) -> Result<ValueMessage, DecodeError> {
    match kind {
        ValueMessageKind::Tensor => {
            let (decoded, node) = decode_tensor(outer.share(payload), options)?;
            let tensor = decoded.model.node(node).attributes().first().and_then(|value| value.as_tensor());
            Ok(ValueMessage::Tensor(tensor.cloned().unwrap_or_else(|| Tensor::vector::<f32>(&[]).into())))
        }
        ValueMessageKind::Sequence => sequence_message(outer.message(payload)?, options),
        ValueMessageKind::Optional => optional_message(outer.message(payload)?, options),
        ValueMessageKind::Map => map_message(outer.message(payload)?, options),
    }
}

fn sequence_message(mut reader: Reader<'_>, options: &DecodeOptions) -> Result<ValueMessage, DecodeError> {
    let mut items = Vec::new();
    while let Some(field) = reader.next_field()? {
        let Value::Len(payload) = field.value else { continue };
        let kind = match field.number {
            sequence::TENSOR_VALUES => ValueMessageKind::Tensor,
            sequence::SEQUENCE_VALUES => ValueMessageKind::Sequence,
            sequence::MAP_VALUES => ValueMessageKind::Map,
            sequence::OPTIONAL_VALUES => ValueMessageKind::Optional,
            _ => continue,
        };
        items.push(message(&reader, payload, kind, options)?);
    }
    Ok(ValueMessage::Sequence(items))
}

fn optional_message(mut reader: Reader<'_>, options: &DecodeOptions) -> Result<ValueMessage, DecodeError> {
    let mut inner = None;
    while let Some(field) = reader.next_field()? {
        let Value::Len(payload) = field.value else { continue };
        let kind = match field.number {
            optional::TENSOR_VALUE => ValueMessageKind::Tensor,
            optional::SEQUENCE_VALUE => ValueMessageKind::Sequence,
            optional::MAP_VALUE => ValueMessageKind::Map,
            optional::OPTIONAL_VALUE => ValueMessageKind::Optional,
            _ => continue,
        };
        inner = Some(Box::new(message(&reader, payload, kind, options)?));
    }
    Ok(ValueMessage::Optional(inner))
}

fn map_message(mut reader: Reader<'_>, options: &DecodeOptions) -> Result<ValueMessage, DecodeError> {
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    while let Some(field) = reader.next_field()? {
        match (field.number, field.value) {
            (map::KEYS, Value::Varint(key)) => keys.push(KeyMessage::Int(key.cast_signed())),
            (map::KEYS, Value::Len(payload)) => {
                for key in reader.packed_varints(payload).int64() {
                    keys.push(KeyMessage::Int(key?));
                }
            }
            (map::STRING_KEYS, Value::Len(payload)) => keys.push(KeyMessage::Text(reader.share(payload))),
            (map::VALUES, Value::Len(payload)) => {
                if let ValueMessage::Sequence(items) = sequence_message(reader.message(payload)?, options)? {
                    values.extend(items);
                }
            }
            _ => {}
        }
    }
    Ok(ValueMessage::Map(keys.into_iter().zip(values).collect()))
}

/// Writes a value as the message that holds it, with this name.
///
/// # Errors
///
/// Returns an error if a tensor of one repeated element takes too much memory written out.
pub fn encode_value(
    value: &ValueMessage,
    name: &str,
    options: &EncodeOptions,
) -> Result<Segments, EncodeError> {
    encode_parts(&Model::new(), options, |cx, writer| match value {
        ValueMessage::Tensor(tensor) => tensor_into(cx, writer, tensor, Some(name)),
        _ => {
            writer.string(sequence::NAME, name);
            fields(value, writer, &mut |writer, tensor| tensor_into(cx, writer, tensor, None))
        }
    })
}

type WriteTensor<'a> = dyn FnMut(&mut Writer, &Tensor) -> Result<(), EncodeError> + 'a;

/// Writes the fields of a value, except its name.
fn fields(
    value: &ValueMessage,
    writer: &mut Writer,
    tensor: &mut WriteTensor<'_>,
) -> Result<(), EncodeError> {
    match value {
        ValueMessage::Tensor(value) => tensor(writer, value),
        ValueMessage::Sequence(items) => {
            writer.int32(sequence::ELEM_TYPE, items.first().map_or(1, data_type));
            items.iter().try_for_each(|item| {
                let number = match item {
                    ValueMessage::Tensor(_) => sequence::TENSOR_VALUES,
                    ValueMessage::Sequence(_) => sequence::SEQUENCE_VALUES,
                    ValueMessage::Map(_) => sequence::MAP_VALUES,
                    ValueMessage::Optional(_) => sequence::OPTIONAL_VALUES,
                };
                writer.message(number, |writer| fields(item, writer, tensor))
            })
        }
        ValueMessage::Optional(inner) => {
            writer.int32(optional::ELEM_TYPE, inner.as_deref().map_or(0, data_type));
            let Some(inner) = inner else { return Ok(()) };
            let number = match **inner {
                ValueMessage::Tensor(_) => optional::TENSOR_VALUE,
                ValueMessage::Sequence(_) => optional::SEQUENCE_VALUE,
                ValueMessage::Map(_) => optional::MAP_VALUE,
                ValueMessage::Optional(_) => optional::OPTIONAL_VALUE,
            };
            writer.message(number, |writer| fields(inner, writer, tensor))
        }
        ValueMessage::Map(entries) => {
            let is_text = matches!(entries.first(), Some((KeyMessage::Text(_), _)));
            // The element types `string` and `int64`.
            writer.int32(map::KEY_TYPE, if is_text { 8 } else { 7 });
            for (key, _) in entries {
                match key {
                    KeyMessage::Int(key) => writer.int64(map::KEYS, *key),
                    KeyMessage::Text(key) => writer.bytes(map::STRING_KEYS, key),
                }
            }
            writer.message(map::VALUES, |writer| {
                writer.int32(sequence::ELEM_TYPE, entries.first().map_or(1, |(_, value)| data_type(value)));
                entries.iter().try_for_each(|(_, value)| {
                    let number = match value {
                        ValueMessage::Tensor(_) => sequence::TENSOR_VALUES,
                        ValueMessage::Sequence(_) => sequence::SEQUENCE_VALUES,
                        ValueMessage::Map(_) => sequence::MAP_VALUES,
                        ValueMessage::Optional(_) => sequence::OPTIONAL_VALUES,
                    };
                    writer.message(number, |writer| fields(value, writer, tensor))
                })
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use onnx_types::tensor::NoData;

    use super::*;

    fn tensor(element: i64) -> ValueMessage {
        ValueMessage::Tensor(Tensor::vector(&[element]).into())
    }

    #[track_caller]
    fn round_trip(value: &ValueMessage, kind: ValueMessageKind) -> ValueMessage {
        let bytes = encode_value(value, "v", &EncodeOptions::default()).unwrap().into_bytes();
        decode_value(bytes, kind, &DecodeOptions::default()).unwrap()
    }

    #[test]
    fn an_absent_value_and_one_within_others() {
        let absent = round_trip(&ValueMessage::Optional(None), ValueMessageKind::Optional);
        assert!(matches!(absent, ValueMessage::Optional(None)));
        let value = ValueMessage::Optional(Some(Box::new(ValueMessage::Sequence(vec![tensor(3)]))));
        let ValueMessage::Optional(Some(inner)) = round_trip(&value, ValueMessageKind::Optional) else {
            panic!()
        };
        let ValueMessage::Sequence(items) = *inner else { panic!() };
        let [ValueMessage::Tensor(item)] = &*items else { panic!() };
        assert_eq!(item.to_vec::<i64>(&NoData).unwrap(), [3]);
    }

    #[test]
    fn maps_keep_their_keys() {
        let texts = ["b", "a"].map(|key| (KeyMessage::Text(Bytes::from_static(key.as_bytes())), tensor(1)));
        let ints = [(KeyMessage::Int(-4), tensor(2))];
        for (entries, keys) in [
            (texts.to_vec(), texts.iter().map(|entry| entry.0.clone()).collect::<Vec<_>>()),
            (ints.to_vec(), vec![KeyMessage::Int(-4)]),
        ] {
            let ValueMessage::Map(read) = round_trip(&ValueMessage::Map(entries), ValueMessageKind::Map)
            else {
                panic!()
            };
            assert_eq!(read.into_iter().map(|entry| entry.0).collect::<Vec<_>>(), keys);
        }
    }

    #[test]
    fn nesting_is_limited() {
        let bytes = (0..200).fold(Vec::new(), |inner: Vec<u8>, _| {
            let mut writer = Writer::new();
            writer.slice(sequence::SEQUENCE_VALUES, &inner);
            writer.finish().into_bytes().to_vec()
        });
        let error = decode_value(bytes.into(), ValueMessageKind::Sequence, &DecodeOptions::default());
        assert_eq!(error.unwrap_err().limit(), Some("message_depth"));
    }
}
