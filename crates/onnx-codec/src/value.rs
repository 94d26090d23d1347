//! Values of runs: `TensorProto`, `SequenceProto`, `OptionalProto` and `MapProto` as separate messages, the form in
//! which test data are stored.

use std::sync::Arc;

use bytes::Bytes;
use onnx_ir::Model;
use onnx_proto::field::{map, optional, sequence};
use onnx_proto::wire::{Input, Payload, Reader, Segments, Value, WireError, WireErrorKind, Writer};
use onnx_types::tensor::Tensor;

use crate::decode::{DecodeOptions, TensorDecoder, wire_limits};
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

impl ValueMessage {
    /// The message that holds the value.
    const fn kind(&self) -> ValueMessageKind {
        match self {
            Self::Tensor(_) => ValueMessageKind::Tensor,
            Self::Sequence(_) => ValueMessageKind::Sequence,
            Self::Optional(_) => ValueMessageKind::Optional,
            Self::Map(_) => ValueMessageKind::Map,
        }
    }
}

impl ValueMessageKind {
    const ALL: [Self; 4] = [Self::Tensor, Self::Sequence, Self::Optional, Self::Map];

    /// The number of the kind in `SequenceProto.DataType` and `OptionalProto.DataType`.
    const fn data_type(self) -> i32 {
        match self {
            Self::Tensor => 1,
            Self::Sequence => 3,
            Self::Map => 4,
            Self::Optional => 5,
        }
    }

    /// The field of `SequenceProto` that holds values of the kind.
    const fn field_of_sequence(self) -> u32 {
        match self {
            Self::Tensor => sequence::TENSOR_VALUES,
            Self::Sequence => sequence::SEQUENCE_VALUES,
            Self::Map => sequence::MAP_VALUES,
            Self::Optional => sequence::OPTIONAL_VALUES,
        }
    }

    /// The field of `OptionalProto` that holds a value of the kind.
    const fn field_of_optional(self) -> u32 {
        match self {
            Self::Tensor => optional::TENSOR_VALUE,
            Self::Sequence => optional::SEQUENCE_VALUE,
            Self::Map => optional::MAP_VALUE,
            Self::Optional => optional::OPTIONAL_VALUE,
        }
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
/// Returns an error if the bytes are not protobuf, if they are of a message of another type as far as its fields tell, or if a
/// limit is exceeded. The bytes of an optional value are those of a sequence of one element, so one is read as the other.
pub fn decode_value(
    bytes: Bytes,
    kind: ValueMessageKind,
    options: &DecodeOptions,
) -> Result<ValueMessage, DecodeError> {
    let input = Input::new(bytes, wire_limits(&options.execution.limits))?;
    // One decoder for all tensors: its table of the standard's names costs more than a small tensor.
    message(&input.reader(), input.whole(), kind, &mut TensorDecoder::new(&input, options)?)
}

/// Reads a message that is nested no deeper than the reader allows.
fn message<'a>(
    outer: &Reader<'a>,
    payload: Payload<'a>,
    kind: ValueMessageKind,
    tensors: &mut TensorDecoder<'a>,
) -> Result<ValueMessage, DecodeError> {
    match kind {
        ValueMessageKind::Tensor => Ok(ValueMessage::Tensor(tensors.tensor(outer, payload)?.into())),
        ValueMessageKind::Sequence => sequence_message(outer.message(payload)?, tensors),
        ValueMessageKind::Optional => optional_message(outer.message(payload)?, tensors),
        ValueMessageKind::Map => map_message(outer.message(payload)?, tensors),
    }
}

fn sequence_message<'a>(
    reader: Reader<'a>,
    tensors: &mut TensorDecoder<'a>,
) -> Result<ValueMessage, DecodeError> {
    let start = reader.offset();
    let (items, elem) = nested_values(reader, ValueMessageKind::field_of_sequence, tensors)?;
    // The bytes of an optional value without a value.
    if items.is_empty() && elem.unwrap_or_default() == 0 {
        return Err(WireError::new(WireErrorKind::Ambiguous, start).into());
    }
    Ok(ValueMessage::Sequence(items))
}

fn optional_message<'a>(
    reader: Reader<'a>,
    tensors: &mut TensorDecoder<'a>,
) -> Result<ValueMessage, DecodeError> {
    let start = reader.offset();
    let (mut values, elem) = nested_values(reader, ValueMessageKind::field_of_optional, tensors)?;
    // An empty file is not a value.
    if values.is_empty() && elem.is_none() {
        return Err(WireError::new(WireErrorKind::Ambiguous, start).into());
    }
    // The last of several fields counts.
    Ok(ValueMessage::Optional(values.pop().map(Box::new)))
}

/// The values in a message whose fields have a number for each kind, and the kind that it states.
fn nested_values<'a>(
    mut reader: Reader<'a>,
    field_of: fn(ValueMessageKind) -> u32,
    tensors: &mut TensorDecoder<'a>,
) -> Result<(Vec<ValueMessage>, Option<u64>), DecodeError> {
    let (mut values, mut elem) = (Vec::new(), None);
    while let Some(field) = reader.next_field()? {
        let kind = ValueMessageKind::ALL.into_iter().find(|&kind| field_of(kind) == field.number);
        match (kind, field.value) {
            (Some(kind), Value::Len(payload)) => values.push(message(&reader, payload, kind, tensors)?),
            // Both messages have the same numbers for these.
            (None, Value::Len(_)) if field.number == sequence::NAME => {}
            (None, Value::Varint(stated)) if field.number == sequence::ELEM_TYPE => elem = Some(stated),
            _ => return Err(foreign(field.number, &reader)),
        }
    }
    Ok((values, elem))
}

/// The field is not one of the message.
fn foreign(number: u32, reader: &Reader<'_>) -> DecodeError {
    WireError::new(WireErrorKind::ForeignField { number }, reader.offset()).into()
}

fn map_message<'a>(
    mut reader: Reader<'a>,
    tensors: &mut TensorDecoder<'a>,
) -> Result<ValueMessage, DecodeError> {
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
                if let ValueMessage::Sequence(items) = sequence_message(reader.message(payload)?, tensors)? {
                    values.extend(items);
                }
            }
            (map::NAME, Value::Len(_)) | (map::KEY_TYPE, Value::Varint(_)) => {}
            _ => return Err(foreign(field.number, &reader)),
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
        ValueMessage::Sequence(items) => items_of_sequence(items.iter(), writer, tensor),
        ValueMessage::Optional(inner) => {
            let kind = inner.as_deref().map(ValueMessage::kind);
            writer.int32(optional::ELEM_TYPE, kind.map_or(0, ValueMessageKind::data_type));
            let (Some(inner), Some(kind)) = (inner, kind) else { return Ok(()) };
            writer.message(kind.field_of_optional(), |writer| fields(inner, writer, tensor))
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
                items_of_sequence(entries.iter().map(|(_, value)| value), writer, tensor)
            })
        }
    }
}

/// Writes the fields of a `SequenceProto`, except its name.
fn items_of_sequence<'v>(
    items: impl Iterator<Item = &'v ValueMessage>,
    writer: &mut Writer,
    tensor: &mut WriteTensor<'_>,
) -> Result<(), EncodeError> {
    let mut items = items.peekable();
    let kind = items.peek().map_or(ValueMessageKind::Tensor, |item| item.kind());
    writer.int32(sequence::ELEM_TYPE, kind.data_type());
    items.try_for_each(|item| {
        writer.message(item.kind().field_of_sequence(), |writer| fields(item, writer, tensor))
    })
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
    fn values_of_every_kind_are_in_sequences_and_optional_values() {
        let entry = (KeyMessage::Int(1), tensor(2));
        let values = [
            tensor(1),
            ValueMessage::Sequence(Vec::new()),
            ValueMessage::Optional(None),
            ValueMessage::Map(vec![entry]),
        ];
        let kinds = values.each_ref().map(ValueMessage::kind);
        assert_eq!(kinds, ValueMessageKind::ALL);
        for value in &values {
            let value = ValueMessage::Optional(Some(Box::new(value.clone())));
            let ValueMessage::Optional(Some(read)) = round_trip(&value, ValueMessageKind::Optional) else {
                panic!()
            };
            let ValueMessage::Optional(Some(written)) = value else { panic!() };
            assert_eq!(read.kind(), written.kind());
        }
        let sequence = ValueMessage::Sequence(values.into());
        let ValueMessage::Sequence(read) = round_trip(&sequence, ValueMessageKind::Sequence) else {
            panic!()
        };
        assert_eq!(read.iter().map(ValueMessage::kind).collect::<Vec<_>>(), kinds);
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
    fn messages_of_another_type_are_refused() {
        use ValueMessageKind as K;
        let optional = |value: Option<ValueMessage>| ValueMessage::Optional(value.map(Box::new));
        let map = ValueMessage::Map(vec![(KeyMessage::Int(1), tensor(2))]);
        for (value, kinds) in [
            (tensor(1), &[K::Sequence, K::Optional, K::Map][..]),
            (ValueMessage::Tensor(Tensor::scalar(1_i64).into()), &[K::Sequence, K::Optional, K::Map]),
            (optional(None), &[K::Sequence]),
            (map, &[K::Sequence, K::Optional]),
        ] {
            let bytes = encode_value(&value, "v", &EncodeOptions::default()).unwrap().into_bytes();
            for &kind in kinds {
                decode_value(bytes.clone(), kind, &DecodeOptions::default()).unwrap_err();
            }
        }
        for kind in [K::Sequence, K::Optional] {
            decode_value(Bytes::new(), kind, &DecodeOptions::default()).unwrap_err();
        }
        let empty = ValueMessage::Sequence(Vec::new());
        assert!(matches!(round_trip(&empty, K::Sequence), ValueMessage::Sequence(items) if items.is_empty()));
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
