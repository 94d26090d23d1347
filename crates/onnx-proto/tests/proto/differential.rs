//! The reader and the writer against prost, on ONNX messages that are partly nonsense.
//!
//! Every input is read field by field and written again in canonical form. Both must mean the same to prost, and
//! prost must accept what the reader accepts, except where the two differ on purpose:
//!
//! * A known field with the wrong wire type is a fault for prost. Here, as in upb, it is as good as unknown.
//! * Strings that are not UTF-8 are a fault for prost. Here the caller decides, by calling `Reader::string` or not.
//! * The tenth byte of a varint may have bits that are lost. prost refuses it; upb accepts it, as the reader does.
//! * A tag may be padded to more than five bytes. prost accepts it; upb refuses it, as the reader does.

use std::collections::HashMap;

use bytes::Bytes;
use onnx_proto::FILE_DESCRIPTOR_SET;
use onnx_proto::messages::ModelProto;
use onnx_proto::wire::{Input, Payload, Reader, Value, WireError, WireErrorKind, WireLimits, Writer};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use prost::Message;
use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{DescriptorProto, FileDescriptorSet};

/// The known fields, by message and number.
type Fields = HashMap<(String, u32), Known>;

struct Known {
    ty: Type,
    repeated: bool,
    /// The name of the type, when it is a message.
    message: String,
}

fn known_fields() -> Fields {
    fn add(path: &str, message: &DescriptorProto, fields: &mut Fields) {
        let path = format!("{path}.{}", message.name());
        for field in &message.field {
            let key = (path.clone(), field.number().cast_unsigned());
            let repeated = field.label() == Label::Repeated;
            fields.insert(key, Known { ty: field.r#type(), repeated, message: field.type_name().into() });
        }
        message.nested_type.iter().for_each(|nested| add(&path, nested, fields));
    }
    let mut fields = Fields::new();
    for file in FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap_or_default().file {
        file.message_type.iter().for_each(|message| add(".onnx", message, &mut fields));
    }
    fields
}

/// Reads a message and writes its fields again; notes whether prost has a reason to refuse it.
struct Recode<'f> {
    fields: &'f Fields,
    prost_may_refuse: bool,
}

impl Recode<'_> {
    fn message(&mut self, name: &str, reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), WireError> {
        while let Some(field) = reader.next_field()? {
            let Some(known) = self.fields.get(&(name.to_owned(), field.number)) else {
                writer.raw(&reader.raw_record(&field));
                continue;
            };
            self.field(known, reader, (field.number, field.value), writer)?;
        }
        Ok(())
    }

    fn field<'a>(
        &mut self,
        known: &Known,
        reader: &Reader<'a>,
        (number, value): (u32, Value<'a>),
        writer: &mut Writer,
    ) -> Result<(), WireError> {
        match (known.ty, value) {
            (Type::Int64 | Type::Uint64, Value::Varint(value)) => writer.uint64(number, value),
            (Type::Int32 | Type::Enum, Value::Varint(value)) => writer.int32(number, reader.int32(value)),
            (Type::Float, Value::Fixed32(value)) => writer.float(number, f32::from_bits(value)),
            (Type::Double, Value::Fixed64(value)) => writer.double(number, f64::from_bits(value)),
            (Type::Bytes, Value::Len(payload)) => writer.bytes(number, &reader.share(payload)),
            (Type::String, Value::Len(payload)) => {
                self.prost_may_refuse |= reader.string(payload).is_err();
                writer.slice(number, &payload);
            }
            (Type::Message, Value::Len(payload)) => {
                let mut reader = reader.message(payload)?;
                let mark = writer.begin(number);
                self.message(&known.message, &mut reader, writer)?;
                writer.end(mark);
            }
            (ty, Value::Len(payload)) if known.repeated => {
                self.packed(ty, number, reader, payload, writer)?
            }
            _ => self.prost_may_refuse = true,
        }
        Ok(())
    }

    fn packed<'a>(
        &mut self,
        ty: Type,
        number: u32,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        writer: &mut Writer,
    ) -> Result<(), WireError> {
        match ty {
            Type::Int64 | Type::Uint64 => {
                let values: Vec<_> = reader.packed_varints(payload).collect::<Result<_, _>>()?;
                writer.packed_uint64(number, values);
            }
            Type::Int32 => {
                let values: Vec<_> = reader.packed_varints(payload).int32().collect::<Result<_, _>>()?;
                writer.packed_int32(number, values);
            }
            Type::Float => {
                writer.packed_float(number, reader.packed_fixed32(payload)?.floats());
            }
            Type::Double => {
                writer.packed_double(number, reader.packed_fixed64(payload)?.doubles());
            }
            _ => self.prost_may_refuse = true,
        }
        Ok(())
    }
}

fn check(fields: &Fields, bytes: &Bytes) -> Result<bool, TestCaseError> {
    let theirs = ModelProto::decode(bytes.clone());
    let input =
        Input::new(bytes.clone(), WireLimits::default()).map_err(|e| TestCaseError::fail(e.to_string()))?;
    let mut recode = Recode { fields, prost_may_refuse: false };
    let mut writer = Writer::new();
    if let Err(error) = recode.message(".onnx.ModelProto", &mut input.reader(), &mut writer) {
        prop_assert!(error.offset() <= bytes.len());
        let ours_alone = matches!(error.kind(), WireErrorKind::TagTooLarge) || recode.prost_may_refuse;
        prop_assert!(theirs.is_err() || ours_alone, "only the reader refuses: {}", error);
        return Ok(false);
    }
    let written = writer.finish().into_bytes();
    match theirs {
        Ok(theirs) => {
            let ours = ModelProto::decode(written).map_err(|e| TestCaseError::fail(e.to_string()))?;
            // Compared as bytes, in which NaN equals itself.
            prop_assert_eq!(ours.encode_to_vec(), theirs.encode_to_vec());
            Ok(true)
        }
        Err(error) => {
            let may_refuse = recode.prost_may_refuse || input.non_minimal() > 0;
            prop_assert!(may_refuse, "only prost refuses: {}", error);
            Ok(false)
        }
    }
}

fn varint() -> impl Strategy<Value = Vec<u8>> {
    let minimal = prop_oneof![0_u64..300, any::<u64>()].prop_map(|value| {
        let mut writer = Writer::new();
        writer.uint64(1, value);
        writer.finish().to_vec().split_off(1)
    });
    let padded = (any::<u8>(), 0_usize..10).prop_map(|(byte, padding)| {
        let mut bytes = vec![0x80; padding];
        bytes.extend([byte | 0x80, 0]);
        bytes
    });
    prop_oneof![8 => minimal, 1 => padded]
}

/// Fields of which many have the numbers and types of ONNX fields.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let number = || prop_oneof![15 => 1_u32..27, 1 => 1_u32..=(1 << 29) - 1];
    let tagged = |number: u32, wire_type: u64, value: Vec<u8>| {
        let mut writer = Writer::new();
        writer.uint64(1, u64::from(number) << 3 | wire_type);
        let mut bytes = writer.finish().to_vec().split_off(1);
        bytes.extend(value);
        bytes
    };
    let record = move |number: u32, content: Vec<u8>| {
        let mut writer = Writer::new();
        writer.slice(number, &content);
        writer.finish().to_vec()
    };
    let field = prop_oneof![
        3 => (number(), varint()).prop_map(move |(number, value)| tagged(number, 0, value)),
        1 => (number(), any::<[u8; 4]>()).prop_map(move |(number, value)| tagged(number, 5, value.to_vec())),
        1 => (number(), any::<[u8; 8]>()).prop_map(move |(number, value)| tagged(number, 1, value.to_vec())),
        1 => (number(), "[a-z]{0,9}").prop_map(move |(number, text)| record(number, text.into())),
        1 => (number(), proptest::collection::vec(any::<u8>(), 0..9)).prop_map(move |(n, bytes)| record(n, bytes)),
        1 => (number(), proptest::collection::vec(varint(), 0..5)).prop_map(move |(n, v)| record(n, v.concat())),
    ];
    field.prop_recursive(5, 40, 6, move |inner| {
        let content = proptest::collection::vec(inner, 0..6).prop_map(|fields| fields.concat());
        let group = (100_u32..120, content.clone()).prop_map(move |(number, content)| {
            [tagged(number, 3, content), tagged(number, 4, Vec::new())].concat()
        });
        prop_oneof![8 => (prop_oneof![3 => number(), 1 => Just(7_u32)], content).prop_map(move |(n, c)| record(n, c)), 1 => group]
    })
}

fn config() -> Config {
    Config { cases: 4000, failure_persistence: None, ..Config::default() }
}

#[test]
fn same_as_prost_on_messages() {
    let fields = known_fields();
    let mut runner = TestRunner::new(config());
    let counter = std::cell::Cell::new(0);
    let result = runner.run(&message(), |bytes| {
        counter.set(counter.get() + u32::from(check(&fields, &bytes.into())?));
        Ok(())
    });
    result.unwrap();
    let accepted = counter.get();

    assert!(accepted > 200, "most inputs were refused, so little was compared: {accepted}");
}

#[test]
fn same_as_prost_on_damaged_messages() {
    let fields = known_fields();
    let damage = (any::<prop::sample::Index>(), any::<u8>(), any::<bool>());
    let damaged = (message(), damage).prop_filter("something to damage", |(bytes, _)| !bytes.is_empty());
    let result = TestRunner::new(config()).run(&damaged, |(mut bytes, (index, byte, cut))| {
        let index = index.index(bytes.len());
        if cut {
            bytes.truncate(index);
        } else if let Some(place) = bytes.get_mut(index) {
            *place = byte;
        }
        check(&fields, &bytes.into()).map(drop)
    });
    result.unwrap();
}
