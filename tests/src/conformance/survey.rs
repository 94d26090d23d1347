//! One walk over a file's bytes that predicts what reading and writing it must do.

use std::collections::BTreeSet;

use super::schema::{Field, FieldType, MessageId, Schema};
use super::tree::{LEVELS, fits};
use super::wire::{Malformed, Record, Records, Value, packed_varints};

/// What the bytes of a message are like.
#[derive(Clone, Default, Debug)]
pub struct Survey {
    /// Where the bytes stop being what a canonical writer writes, and why: `None` for canonical files.
    ///
    /// A canonical writer puts the fields of each message in ascending order of their numbers, singular ones once and at
    /// most one of a `oneof`, and takes as few bytes as possible for every number. Whether it packs lists or writes
    /// defaults is left to it.
    pub departure: Option<(usize, &'static str)>,
    /// What prost cannot read, although protobuf can.
    pub prost_refuses: BTreeSet<&'static str>,
    /// The slugs of the findings that reading may report.
    pub findings: BTreeSet<&'static str>,
    /// Whether a singular message has several occurrences. Only the merged message determines the diagnostics.
    pub split: bool,
}

/// Finding: see [`Survey::findings`].
const TEXT_NOT_UTF8: &str = "text-not-utf8";
/// Finding: see [`Survey::findings`].
const FIELD_OF_OTHER_TYPE: &str = "field-of-other-type";

impl Survey {
    /// Walks over a message.
    ///
    /// # Errors
    ///
    /// When the bytes are not protobuf.
    pub fn of(schema: &Schema, message: MessageId, bytes: &[u8]) -> Result<Self, Malformed> {
        let mut survey = Self::default();
        Walk { schema, whole: bytes, survey: &mut survey }.message(message, bytes, LEVELS)?;
        Ok(survey)
    }

    /// Whether a canonical writer wrote the bytes.
    #[must_use]
    pub const fn is_canonical(&self) -> bool {
        self.departure.is_none()
    }
}

struct Walk<'a> {
    schema: &'a Schema,
    whole: &'a [u8],
    survey: &'a mut Survey,
}

/// What must be remembered of the fields of one message.
#[derive(Default)]
struct Seen {
    last: u32,
    numbers: BTreeSet<u32>,
    oneofs: Vec<usize>,
    /// The numbers of fields with content.
    filled: BTreeSet<u32>,
}

impl<'a> Walk<'a> {
    fn depart(&mut self, at: &[u8], reason: &'static str) {
        let offset = (at.as_ptr() as usize).saturating_sub(self.whole.as_ptr() as usize);
        self.survey.departure.get_or_insert((offset, reason));
    }

    fn message(&mut self, message: MessageId, bytes: &'a [u8], levels: u32) -> Result<(), Malformed> {
        let schema = self.schema;
        let ty = schema.message(message);
        let mut seen = Seen::default();
        for record in Records::new(bytes, levels) {
            let record = record?;
            self.form(&record, &mut seen);
            match ty.field(record.number) {
                Some(field) if fits(field, &record) => self.known(field, &record, &mut seen, levels)?,
                known => self.unknown(known.is_some(), &record, levels),
            }
            seen.last = record.number;
            seen.numbers.insert(record.number);
        }
        self.meaning(&ty.name, &seen);
        Ok(())
    }

    fn form(&mut self, record: &Record<'a>, seen: &mut Seen) {
        if !record.minimal {
            self.depart(record.raw, "a number takes more bytes than needed");
        }
        if record.number < seen.last {
            self.depart(record.raw, "fields are not in ascending order");
        }
        if record.overflows {
            self.survey.prost_refuses.insert("a varint has more than 64 bits");
        }
    }

    /// A field that is unknown, or known and of a form that its type cannot have.
    fn unknown(&mut self, known: bool, record: &Record<'a>, levels: u32) {
        if known {
            self.depart(record.raw, "a known field is of another wire type");
            self.survey.prost_refuses.insert("a known field is of another wire type");
            self.survey.findings.insert(FIELD_OF_OTHER_TYPE);
        }
        // prost counts an unknown field as a level, and the fields of a group as another one.
        if levels < 1 || (levels < 2 && matches!(record.value, Value::Group(_))) {
            self.survey.prost_refuses.insert("an unknown field is nested 100 deep");
        }
        if matches!(record.value, Value::Group(_)) {
            // prost reads what is in the group with its own idea of levels, tags and varints.
            self.survey.prost_refuses.insert("an unknown group may hold what prost refuses");
        }
    }

    fn known(
        &mut self,
        field: &Field,
        record: &Record<'a>,
        seen: &mut Seen,
        levels: u32,
    ) -> Result<(), Malformed> {
        if seen.numbers.contains(&field.number) && !field.repeated {
            self.depart(record.raw, "a singular field occurs twice");
            if matches!(field.ty, FieldType::Message(_)) {
                self.survey.split = true;
            }
        }
        if let Some(oneof) = field.oneof {
            if seen.oneofs.contains(&oneof) {
                self.depart(record.raw, "a `oneof` has several members");
            }
            seen.oneofs.push(oneof);
        }
        match (&field.ty, record.value) {
            (FieldType::Message(inner), Value::Len(bytes)) => {
                seen.filled.insert(field.number);
                return self.message(*inner, bytes, levels.checked_sub(1).ok_or(Malformed(0))?);
            }
            (FieldType::String, Value::Len(bytes)) => {
                if std::str::from_utf8(bytes).is_err() {
                    self.survey.prost_refuses.insert("a text is not UTF-8");
                    self.survey.findings.insert(TEXT_NOT_UTF8);
                }
                if !bytes.is_empty() {
                    seen.filled.insert(field.number);
                }
            }
            (FieldType::Bytes, _) => {
                // An empty one is a value, except where it is the content of a tensor.
                let empty = matches!(record.value, Value::Len(bytes) if bytes.is_empty());
                if !empty || field.number != 9 || field.repeated {
                    seen.filled.insert(field.number);
                }
            }
            (ty, Value::Len(packed)) => self.packed(field, ty, packed, record, seen)?,
            (ty, value) => {
                seen.filled.insert(field.number);
                if let Value::Varint(value) = value {
                    self.number(ty, value, record);
                }
            }
        }
        Ok(())
    }

    fn packed(
        &mut self,
        field: &Field,
        ty: &FieldType,
        packed: &'a [u8],
        record: &Record<'a>,
        seen: &mut Seen,
    ) -> Result<(), Malformed> {
        if packed.is_empty() {
            self.depart(record.raw, "a packed list has no elements");
            return Ok(());
        }
        if seen.numbers.contains(&field.number) {
            self.depart(record.raw, "a list has several pieces");
        }
        seen.filled.insert(field.number);
        let width = match ty.wire_type() {
            1 => 8,
            5 => 4,
            _ => {
                for (value, minimal, overflows) in packed_varints(packed)? {
                    if !minimal {
                        self.depart(record.raw, "a number takes more bytes than needed");
                    }
                    if overflows {
                        self.survey.prost_refuses.insert("a varint has more than 64 bits");
                    }
                    self.number(ty, value, record);
                }
                return Ok(());
            }
        };
        if packed.len().is_multiple_of(width) { Ok(()) } else { Err(Malformed(0)) }
    }

    /// A number of 32 bits is written with its sign extended to 64.
    fn number(&mut self, ty: &FieldType, value: u64, record: &Record<'a>) {
        let narrow = value as i32;
        match ty {
            FieldType::Int64 => return,
            FieldType::Enum(known) if !known.contains(&narrow) => {
                // To protobuf this is an unknown field.
                self.survey.findings.insert(FIELD_OF_OTHER_TYPE);
            }
            FieldType::Int32 if !(0..=28).contains(&narrow) => {
                self.survey.findings.insert("unknown-element-type");
            }
            _ => {}
        }
        if i64::from(narrow).cast_unsigned() != value {
            self.depart(record.raw, "a number of 32 bits is not extended by its sign");
        }
    }

    /// What a message says beyond its form.
    fn meaning(&mut self, message: &str, seen: &Seen) {
        let count = |numbers: &[u32]| numbers.iter().filter(|number| seen.numbers.contains(number)).count();
        let filled = |numbers: &[u32]| numbers.iter().filter(|number| seen.filled.contains(number)).count();
        let values = count(&[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 22, 23]);
        if message == "AttributeProto" && values > 0 && filled(&[21]) > 0 {
            self.survey.findings.insert("reference-with-value");
        }
        let finding = match message {
            "ModelProto" if filled(&[7]) == 0 => "no-graph",
            "AttributeProto" if values > 1 => "attribute-with-several-values",
            "TensorProto" if filled(&[4, 5, 6, 7, 9, 10, 11]) > 1 => "tensor-with-several-data-fields",
            "TypeProto" if seen.oneofs.len() > 1 => "type-with-several-kinds",
            "TensorShapeProto.Dimension" if seen.oneofs.len() > 1 => "dimension-with-two-values",
            _ => return,
        };
        self.survey.findings.insert(finding);
    }
}
