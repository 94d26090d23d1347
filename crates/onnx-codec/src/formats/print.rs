//! Printing the text format the way the protobuf libraries print it: one field to a line, repeated ones repeated.

use std::fmt::Write;

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, Value};

/// The text of a message. Fields stand in the order of their numbers, unknown ones are left out. The depth is bounded by
/// that of decoding.
pub(super) fn print(message: &DynamicMessage) -> String {
    let mut printer = Printer { text: String::new(), indent: 0 };
    printer.message(message);
    printer.text
}

struct Printer {
    text: String,
    indent: usize,
}

impl Printer {
    fn message(&mut self, message: &DynamicMessage) {
        let mut fields: Vec<_> = message.fields().collect();
        fields.sort_by_key(|(field, _)| field.number());
        for (field, value) in fields {
            match value {
                Value::List(values) => values.iter().for_each(|value| self.field(&field, value)),
                value => self.field(&field, value),
            }
        }
    }

    fn field(&mut self, field: &FieldDescriptor, value: &Value) {
        self.start_line();
        self.text.push_str(field.name());
        if let Value::Message(message) = value {
            self.text.push_str(" {\n");
            self.indent = self.indent.saturating_add(1);
            self.message(message);
            self.indent = self.indent.saturating_sub(1);
            self.start_line();
            self.text.push_str("}\n");
        } else {
            self.text.push_str(": ");
            self.scalar(field, value);
            self.text.push('\n');
        }
    }

    fn start_line(&mut self) {
        self.text.extend(std::iter::repeat_n("  ", self.indent));
    }

    fn scalar(&mut self, field: &FieldDescriptor, value: &Value) {
        match value {
            Value::Bool(value) => self.shown(value),
            Value::I32(value) => self.shown(value),
            Value::I64(value) => self.shown(value),
            Value::U32(value) => self.shown(value),
            Value::U64(value) => self.shown(value),
            Value::F32(value) if value.is_nan() => self.text.push_str("nan"),
            Value::F64(value) if value.is_nan() => self.text.push_str("nan"),
            // The shortest decimal that gives the same number, which is what `Debug` prints.
            Value::F32(value) => self.shown(format_args!("{value:?}")),
            Value::F64(value) => self.shown(format_args!("{value:?}")),
            Value::EnumNumber(number) => self.enumerator(field, *number),
            Value::String(text) => self.string(text),
            Value::Bytes(bytes) => self.bytes(bytes),
            // The schema has no maps, and neither lists of lists nor messages come here.
            Value::Message(_) | Value::List(_) | Value::Map(_) => {}
        }
    }

    fn shown(&mut self, value: impl std::fmt::Display) {
        // Writing into a string cannot fail.
        let _ = write!(self.text, "{value}");
    }

    fn enumerator(&mut self, field: &FieldDescriptor, number: i32) {
        let named = match field.kind() {
            Kind::Enum(descriptor) => descriptor.get_value(number),
            _ => None,
        };
        match named {
            Some(value) => self.text.push_str(value.name()),
            None => self.shown(number),
        }
    }

    fn string(&mut self, text: &str) {
        self.text.push('"');
        for character in text.chars() {
            match u8::try_from(character) {
                Ok(byte) if byte.is_ascii() => self.byte(byte),
                _ if character.is_control() => {
                    let mut buffer = [0; 4];
                    character.encode_utf8(&mut buffer).bytes().for_each(|byte| self.byte(byte));
                }
                _ => self.text.push(character),
            }
        }
        self.text.push('"');
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.text.push('"');
        bytes.iter().for_each(|&byte| self.byte(byte));
        self.text.push('"');
    }

    fn byte(&mut self, byte: u8) {
        match byte {
            b'\n' => self.text.push_str("\\n"),
            b'\r' => self.text.push_str("\\r"),
            b'\t' => self.text.push_str("\\t"),
            b'"' => self.text.push_str("\\\""),
            b'\'' => self.text.push_str("\\'"),
            b'\\' => self.text.push_str("\\\\"),
            b' '..=b'~' => self.text.push(char::from(byte)),
            _ => self.shown(format_args!("\\{byte:03o}")),
        }
    }
}
