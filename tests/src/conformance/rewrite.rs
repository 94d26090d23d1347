//! Writing a message in another form, led by the descriptors: what reading and writing must bear.

use super::schema::{FieldType, MessageId, Schema};
use super::tree::{LEVELS, fits};
use super::wire::{Malformed, Record, Records, Value, packed_varints, put_len, put_tag, put_varint};

/// A way to write a message differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rewrite {
    /// Unknown fields of every wire type at the end of every message: a canonical file stays canonical.
    UnknownLast,
    /// An unknown field with a number as low as possible before everything else in every message.
    UnknownFirst,
    /// Every singular field that is absent is there with its default.
    Defaults,
    /// Packed lists are unpacked, and vice versa.
    FlipPacked,
    /// The fields of every message are in descending order.
    Descending,
    /// Every tag, length and number takes more bytes than it needs.
    Padded,
    /// Every singular message is split into two occurrences.
    Split,
}

impl Rewrite {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::UnknownLast,
        Self::UnknownFirst,
        Self::Defaults,
        Self::FlipPacked,
        Self::Descending,
        Self::Padded,
        Self::Split,
    ];

    /// What reports call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownLast => "unknown-last",
            Self::UnknownFirst => "unknown-first",
            Self::Defaults => "defaults",
            Self::FlipPacked => "flip-packed",
            Self::Descending => "descending",
            Self::Padded => "padded",
            Self::Split => "split",
        }
    }

    /// The message in the other form.
    ///
    /// # Errors
    ///
    /// When the bytes are not protobuf.
    pub fn apply(self, schema: &Schema, message: MessageId, bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
        let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 4);
        self.message(schema, message, bytes, LEVELS, &mut out)?;
        Ok(out)
    }

    const fn padding(self) -> usize {
        if matches!(self, Self::Padded) { 2 } else { 0 }
    }

    fn message(
        self,
        schema: &Schema,
        message: MessageId,
        bytes: &[u8],
        levels: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        let ty = schema.message(message);
        let records = Records::new(bytes, levels).collect::<Result<Vec<_>, _>>()?;
        if self == Self::UnknownFirst {
            let number = (1..).find(|&number| ty.field(number).is_none()).unwrap_or(1000);
            put_len(out, number, b"?");
        }
        let mut order: Vec<&Record<'_>> = records.iter().collect();
        let mut absent = Vec::new();
        match self {
            // A stable sort keeps the order of values of the same field.
            Self::Descending => order.sort_by_key(|record| std::cmp::Reverse(record.number)),
            Self::Defaults => {
                absent.extend(ty.fields.iter().filter(|field| {
                    let message = matches!(field.ty, FieldType::Message(_));
                    let there = records.iter().any(|record| record.number == field.number);
                    !(field.repeated || field.oneof.is_some() || message || there)
                }));
            }
            _ => {}
        }
        let mut absent = absent.into_iter().peekable();
        for record in order {
            while let Some(field) = absent.next_if(|field| field.number < record.number) {
                put_default(out, field.number, &field.ty);
            }
            self.record(schema, message, record, levels, out)?;
        }
        for field in absent {
            put_default(out, field.number, &field.ty);
        }
        if self == Self::UnknownLast {
            put_unknown(out, levels);
        }
        Ok(())
    }

    fn record(
        self,
        schema: &Schema,
        message: MessageId,
        record: &Record<'_>,
        levels: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        let number = record.number;
        let Some(field) = schema.message(message).field(number).filter(|field| fits(field, record)) else {
            out.extend_from_slice(record.raw);
            return Ok(());
        };
        match (record.value, &field.ty) {
            (Value::Len(bytes), FieldType::Message(inner)) => {
                let mut content = Vec::with_capacity(bytes.len());
                let levels = levels.checked_sub(1).ok_or(Malformed(0))?;
                let pieces =
                    if self == Self::Split && !field.repeated { halves(bytes) } else { [Some(bytes), None] };
                for piece in pieces.into_iter().flatten() {
                    content.clear();
                    self.message(schema, *inner, piece, levels, &mut content)?;
                    self.len(number, &content, out);
                }
            }
            (Value::Len(bytes), ty) if ty.packable() && field.repeated => {
                if self == Self::FlipPacked {
                    unpack(number, ty, bytes, out)?
                } else {
                    self.len(number, bytes, out)
                }
            }
            (Value::Len(bytes), _) => self.len(number, bytes, out),
            (value, ty) if self == Self::FlipPacked && field.repeated && ty.packable() => {
                put_len(out, number, &element(value));
            }
            (Value::Varint(value), _) if self == Self::Padded => {
                put_tag(out, number, 0, self.padding());
                put_varint(out, value, self.padding());
            }
            _ => out.extend_from_slice(record.raw),
        }
        Ok(())
    }

    fn len(self, number: u32, content: &[u8], out: &mut Vec<u8>) {
        put_tag(out, number, 2, self.padding());
        put_varint(out, content.len() as u64, self.padding());
        out.extend_from_slice(content);
    }
}

/// The records of a message in two halves.
fn halves(bytes: &[u8]) -> [Option<&[u8]>; 2] {
    let records: Vec<Record<'_>> = Records::new(bytes, LEVELS).map_while(Result::ok).collect();
    let first: usize = records.iter().take(records.len() / 2).map(|record| record.raw.len()).sum();
    let (first, second) = bytes.split_at_checked(first).unwrap_or((bytes, &[]));
    [Some(first), Some(second)]
}

fn put_default(out: &mut Vec<u8>, number: u32, ty: &FieldType) {
    let wire_type = ty.wire_type();
    put_tag(out, number, wire_type, 0);
    let zeros: &[u8] = match wire_type {
        1 => &[0; 8],
        5 => &[0; 4],
        _ => &[0],
    };
    out.extend_from_slice(zeros);
}

fn unpack(number: u32, ty: &FieldType, packed: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let width = match ty.wire_type() {
        1 => 8,
        5 => 4,
        _ => {
            for (value, ..) in packed_varints(packed)? {
                put_tag(out, number, 0, 0);
                put_varint(out, value, 0);
            }
            return Ok(());
        }
    };
    for element in packed.chunks_exact(width) {
        put_tag(out, number, ty.wire_type(), 0);
        out.extend_from_slice(element);
    }
    Ok(())
}

/// The content of a packed list of one number.
fn element(value: Value<'_>) -> Vec<u8> {
    match value {
        Value::Fixed32(bits) => bits.to_le_bytes().to_vec(),
        Value::Fixed64(bits) => bits.to_le_bytes().to_vec(),
        Value::Varint(value) => {
            let mut out = Vec::new();
            put_varint(&mut out, value, 0);
            out
        }
        Value::Len(bytes) | Value::Group(bytes) => bytes.to_vec(),
    }
}

/// Fields that no message of ONNX has, one of each wire type.
fn put_unknown(out: &mut Vec<u8>, levels: u32) {
    put_tag(out, 100, 0, 0);
    put_varint(out, u64::MAX, 0);
    put_tag(out, 101, 1, 0);
    out.extend_from_slice(b"8 bytes!");
    put_len(out, 102, b"\x08\x01");
    if levels > 0 {
        put_tag(out, 103, 3, 0);
        put_len(out, 1, b"inside");
        put_tag(out, 103, 4, 0);
    }
    put_tag(out, 1 << 28, 5, 0);
    out.extend_from_slice(b"four");
}
