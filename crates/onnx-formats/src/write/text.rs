//! The text format, the way the protobuf libraries print it: one field to a line, repeated ones repeated.

use onnx_diag::is_unprintable;

use super::output::Output;
use super::{Entry, Form};
use crate::schema::Field;

#[derive(Default)]
pub(super) struct Text {
    level: usize,
}

impl Form for Text {
    fn begin_message(&mut self, out: &mut Output<'_>, place: Option<(&Field, Entry)>) {
        if let Some((field, _)) = place {
            out.indent(self.level);
            out.put(field.name.as_bytes());
            out.put(b" {\n");
            self.level = self.level.saturating_add(1);
        }
    }

    fn end_message(&mut self, out: &mut Output<'_>, _: bool) {
        // The whole message has no braces.
        if let Some(level) = self.level.checked_sub(1) {
            self.level = level;
            out.indent(level);
            out.put(b"}\n");
        }
    }

    fn begin_list(&mut self, _: &mut Output<'_>, _: &Field, _: bool) {}

    fn end_list(&mut self, _: &mut Output<'_>) {}

    fn begin_value(&mut self, out: &mut Output<'_>, field: &Field, _: Entry) {
        out.indent(self.level);
        out.put(field.name.as_bytes());
        out.put(b": ");
    }

    fn end_value(&mut self, out: &mut Output<'_>) {
        out.put(b"\n");
    }

    fn float(&mut self, out: &mut Output<'_>, value: f32) {
        match value {
            value if value.is_nan() => out.put(b"nan"),
            f32::INFINITY => out.put(b"inf"),
            f32::NEG_INFINITY => out.put(b"-inf"),
            // The shortest decimal that is read as the same number.
            value => out.put(zmij::Buffer::new().format_finite(value).as_bytes()),
        }
    }

    fn double(&mut self, out: &mut Output<'_>, value: f64) {
        match value {
            value if value.is_nan() => out.put(b"nan"),
            f64::INFINITY => out.put(b"inf"),
            f64::NEG_INFINITY => out.put(b"-inf"),
            value => out.put(zmij::Buffer::new().format_finite(value).as_bytes()),
        }
    }

    fn int32(&mut self, out: &mut Output<'_>, value: i32) {
        out.put(itoa::Buffer::new().format(value).as_bytes());
    }

    fn int64(&mut self, out: &mut Output<'_>, value: i64) {
        out.put(itoa::Buffer::new().format(value).as_bytes());
    }

    fn uint64(&mut self, out: &mut Output<'_>, value: u64) {
        out.put(itoa::Buffer::new().format(value).as_bytes());
    }

    fn name(&mut self, out: &mut Output<'_>, name: &str) {
        out.put(name.as_bytes());
    }

    fn begin_string(&mut self, out: &mut Output<'_>) {
        out.put(b"\"");
    }

    fn string(&mut self, out: &mut Output<'_>, part: &[u8]) -> bool {
        if part.is_ascii() {
            escaped(out, part);
        } else {
            for chunk in part.utf8_chunks() {
                text(out, chunk.valid());
                escaped(out, chunk.invalid());
            }
        }
        true
    }

    fn end_string(&mut self, out: &mut Output<'_>) {
        out.put(b"\"");
    }

    fn begin_bytes(&mut self, out: &mut Output<'_>) {
        out.put(b"\"");
    }

    fn bytes(&mut self, out: &mut Output<'_>, chunk: &[u8]) {
        escaped(out, chunk);
    }

    fn end_bytes(&mut self, out: &mut Output<'_>) {
        out.put(b"\"");
    }
}

/// Writes characters of a `string`: those that are not ASCII as they are, unless they act or are not seen.
fn text(out: &mut Output<'_>, text: &str) {
    for c in text.chars() {
        let mut buffer = [0; 4];
        let bytes = c.encode_utf8(&mut buffer).as_bytes();
        if c.is_ascii() || is_unprintable(c) { escaped(out, bytes) } else { out.put(bytes) }
    }
}

/// The notation of a byte, and its number of characters.
const ESCAPES: [([u8; 4], u8); 256] = escapes();

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a constant, computed at compile time"
)]
const fn escapes() -> [([u8; 4], u8); 256] {
    let mut table = [([b'\\', 0, 0, 0], 2); 256];
    let mut byte = 0;
    while byte < 256 {
        let short = match byte as u8 {
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            quote @ (b'"' | b'\'' | b'\\') => quote,
            _ => 0,
        };
        if short != 0 {
            table[byte].0[1] = short;
        } else if byte >= 0x20 && byte < 0x7f {
            table[byte] = ([byte as u8, 0, 0, 0], 1);
        } else {
            let digits = [b'0' + (byte >> 6) as u8, b'0' + (byte >> 3 & 7) as u8, b'0' + (byte & 7) as u8];
            table[byte] = ([b'\\', digits[0], digits[1], digits[2]], 4);
        }
        byte += 1;
    }
    table
}

/// Writes bytes in a string: printable ASCII as it is, everything else escaped.
fn escaped(out: &mut Output<'_>, bytes: &[u8]) {
    const AT_ONCE: usize = 256;
    let mut buffer = [0_u8; AT_ONCE * 4];
    for bytes in bytes.chunks(AT_ONCE) {
        let mut len = 0_usize;
        for &byte in bytes {
            let Some((escape, count)) = ESCAPES.get(usize::from(byte)) else { continue };
            // Four characters are always put down; the next byte overwrites what is not part of the escape.
            if let Some(room) = buffer.get_mut(len..).and_then(|rest| rest.first_chunk_mut()) {
                *room = *escape;
            }
            len = len.wrapping_add(usize::from(*count));
        }
        out.put(buffer.get(..len).unwrap_or_default());
    }
}
