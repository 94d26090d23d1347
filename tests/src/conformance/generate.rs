//! Messages made from the descriptors: every field in every form, sensible or not.

use super::schema::{Field, FieldType, MessageId, Schema};
use super::wire::{put_len, put_tag, put_varint};

/// Names that occur often, so that uses find definitions.
const NAMES: [&str; 8] = ["a", "b", "c", "x", "y", "Add", "If", ""];

/// How messages are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// As a canonical writer writes them.
    Canonical,
    /// With every oddity that protobuf allows.
    Odd,
    /// Including bytes that are not protobuf.
    Broken,
}

/// Choices, made by bytes. When the bytes are used up every choice is 0, so that messages end.
#[derive(Clone, Debug)]
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Choices made by the given bytes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    /// True once in `times`.
    fn rarely(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len())).copied()
    }
}

/// Makes a message; `levels` is how deep others may be nested in it.
#[must_use]
pub fn message(
    schema: &Schema,
    message: MessageId,
    choices: &mut Choices<'_>,
    style: Style,
    levels: u32,
) -> Vec<u8> {
    let ty = schema.message(message);
    let mut fields: Vec<Option<&Field>> = Vec::new();
    for _ in 0..choices.below(if levels > 6 { 12 } else { 6 }) {
        let unknown = choices.rarely(12);
        fields.push(if unknown { None } else { ty.fields.get(choices.below(ty.fields.len())) });
    }
    if style == Style::Canonical {
        fields.sort_by_key(|field| field.map_or(u32::MAX, |field| field.number));
        let mut seen: Vec<&Field> = Vec::new();
        fields.retain(|field| {
            let Some(field) = *field else { return true };
            let again = seen.iter().any(|other| {
                (other.number == field.number && !field.repeated)
                    || (field.oneof.is_some() && other.oneof == field.oneof)
            });
            seen.push(field);
            !again
        });
    }
    let mut out = Vec::new();
    let mut last = None;
    for field in fields {
        match field {
            Some(field) => {
                let again = last == Some(field.number);
                put_field(schema, field, choices, style, levels, again, &mut out);
                last = Some(field.number);
            }
            None => put_unknown(choices, style, &mut out),
        }
    }
    out
}

fn put_field(
    schema: &Schema,
    field: &Field,
    choices: &mut Choices<'_>,
    style: Style,
    levels: u32,
    again: bool,
    out: &mut Vec<u8>,
) {
    let odd = style != Style::Canonical;
    if odd && choices.rarely(40) {
        // Some other wire type.
        put_raw(field.number, choices, style, out);
        return;
    }
    let padding = if odd && choices.rarely(16) { choices.below(12) } else { 0 };
    match &field.ty {
        FieldType::Message(inner) => {
            let content = match levels.checked_sub(1) {
                Some(levels) => message(schema, *inner, choices, style, levels),
                None => Vec::new(),
            };
            put_content(field.number, &content, padding, choices, style, out);
        }
        FieldType::String | FieldType::Bytes => {
            let mut content = choices.pick(&NAMES).unwrap_or_default().as_bytes().to_vec();
            if odd && choices.rarely(20) {
                content.extend([choices.byte(), choices.byte()]);
            }
            put_content(field.number, &content, padding, choices, style, out);
        }
        ty => {
            let packed = field.repeated && (odd || !again) && choices.rarely(2);
            if !packed {
                // A canonical list is packed or not, and what came before decides; so lists of both kinds have one element.
                if style == Style::Canonical && field.repeated && again {
                    return;
                }
                put_tag(out, field.number, ty.wire_type(), padding);
                put_number(ty, choices, style, padding, out);
                return;
            }
            let mut content = Vec::new();
            for _ in 0..=choices.below(4) {
                if !(odd && choices.rarely(8)) {
                    put_number(ty, choices, style, padding, &mut content);
                }
            }
            put_content(field.number, &content, padding, choices, style, out);
        }
    }
}

fn put_content(
    number: u32,
    content: &[u8],
    padding: usize,
    choices: &mut Choices<'_>,
    style: Style,
    out: &mut Vec<u8>,
) {
    let mut length = content.len() as u64;
    if style == Style::Broken && choices.rarely(60) {
        length = length.wrapping_add(u64::from(choices.byte())).wrapping_sub(8);
    }
    put_tag(out, number, 2, padding);
    put_varint(out, length, padding);
    out.extend_from_slice(content);
}

fn put_number(ty: &FieldType, choices: &mut Choices<'_>, style: Style, padding: usize, out: &mut Vec<u8>) {
    let small = u64::from(choices.byte() % 24);
    let odd = style != Style::Canonical;
    match ty {
        FieldType::Double => out.extend(f64::from(small as u8).to_le_bytes()),
        FieldType::Float => out.extend(f32::from(small as u8).to_le_bytes()),
        FieldType::Enum(known) => {
            let value = choices.pick(known).unwrap_or(0);
            let value = if odd && choices.rarely(12) { 77 } else { value };
            put_varint(out, i64::from(value).cast_unsigned(), padding);
        }
        _ if odd && choices.rarely(10) => {
            let bits = [choices.byte(), choices.byte(), 0, 0, choices.byte(), 0, 0, choices.byte()];
            put_varint(out, u64::from_le_bytes(bits), padding);
        }
        _ if choices.rarely(10) => put_varint(out, (-i64::from(small as u8)).cast_unsigned(), padding),
        _ => put_varint(out, small, padding),
    }
}

fn put_unknown(choices: &mut Choices<'_>, style: Style, out: &mut Vec<u8>) {
    // Known in some messages and unknown in others; a canonical file has them after everything else.
    let number = match style {
        Style::Canonical => 100,
        _ => choices.pick(&[12, 16, 17, 19, 24, 27, 31, 32, 100, (1 << 29) - 1]).unwrap_or(100),
    };
    put_raw(number, choices, style, out);
}

fn put_raw(number: u32, choices: &mut Choices<'_>, style: Style, out: &mut Vec<u8>) {
    match choices.below(if style == Style::Broken { 6 } else { 5 }) {
        0 => {
            put_tag(out, number, 0, 0);
            put_varint(out, u64::from(choices.byte()), 0);
        }
        1 => {
            put_tag(out, number, 1, 0);
            out.extend([choices.byte(); 8]);
        }
        2 => put_len(out, number, &[0x08, choices.byte() & 0x7f]),
        3 => {
            put_tag(out, number, 3, 0);
            put_len(out, 1 + u32::from(choices.byte()), b"in");
            put_tag(out, number, 4, 0);
        }
        4 => {
            put_tag(out, number, 5, 0);
            out.extend([choices.byte(); 4]);
        }
        _ => out.extend([choices.byte(), choices.byte()]),
    }
}

/// Bytes to choose by, the same for the same seed.
#[must_use]
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    onnx_smith::noise(seed, len.saturating_mul(8)).into_iter().step_by(8).collect()
}

/// One message with every field of every message type in it, a repeated one twice; messages nested in a message of the
/// same type are left empty.
#[must_use]
pub fn complete(schema: &Schema, message: MessageId) -> Vec<u8> {
    let mut open = Vec::new();
    complete_in(schema, message, &mut open)
}

fn complete_in(schema: &Schema, message: MessageId, open: &mut Vec<MessageId>) -> Vec<u8> {
    let mut out = Vec::new();
    if open.contains(&message) {
        return out;
    }
    open.push(message);
    let mut oneofs = Vec::new();
    for field in &schema.message(message).fields {
        if let Some(oneof) = field.oneof {
            if oneofs.contains(&oneof) {
                continue;
            }
            oneofs.push(oneof);
        }
        for round in 0..=u8::from(field.repeated) {
            match &field.ty {
                FieldType::Message(inner) => {
                    let content = complete_in(schema, *inner, open);
                    put_len(&mut out, field.number, &content);
                }
                FieldType::String | FieldType::Bytes => {
                    put_len(&mut out, field.number, format!("{}{round}", field.name).as_bytes());
                }
                ty => {
                    put_tag(&mut out, field.number, ty.wire_type(), 0);
                    let number = [1 + round, 0, 0, 0, 0, 0, 0, 0];
                    let width = match ty.wire_type() {
                        1 => 8,
                        5 => 4,
                        _ => 1,
                    };
                    out.extend(&number[..width]);
                }
            }
        }
    }
    open.pop();
    out
}
