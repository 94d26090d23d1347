//! The JSON form, indented.

use onnx_diag::is_unprintable;

use super::output::Output;
use super::{Entry, Form};
use crate::base64::Encoder;
use crate::schema::Field;

#[derive(Default)]
pub(super) struct Json {
    level: usize,
    base64: Encoder,
}

impl Json {
    fn begin_entry(&self, out: &mut Output<'_>, field: &Field, entry: Entry) {
        let (Entry::Single { is_first } | Entry::Element { is_first }) = entry;
        self.begin_line(out, is_first);
        if let Entry::Single { .. } = entry {
            key(out, field);
        }
    }

    fn begin_line(&self, out: &mut Output<'_>, is_first: bool) {
        out.put(if is_first { b"\n" } else { b",\n" });
        out.indent(self.level);
    }
}

fn key(out: &mut Output<'_>, field: &Field) {
    out.put(b"\"");
    out.put(field.name.as_bytes());
    out.put(b"\": ");
}

impl Form for Json {
    fn begin_message(&mut self, out: &mut Output<'_>, place: Option<(&Field, Entry)>) {
        if let Some((field, entry)) = place {
            self.begin_entry(out, field, entry);
        }
        out.put(b"{");
        self.level = self.level.saturating_add(1);
    }

    fn end_message(&mut self, out: &mut Output<'_>, is_empty: bool) {
        self.level = self.level.saturating_sub(1);
        if !is_empty {
            self.begin_line(out, true);
        }
        out.put(b"}");
        if self.level == 0 {
            out.put(b"\n");
        }
    }

    fn begin_list(&mut self, out: &mut Output<'_>, field: &Field, is_first: bool) {
        self.begin_line(out, is_first);
        key(out, field);
        out.put(b"[");
        self.level = self.level.saturating_add(1);
    }

    fn end_list(&mut self, out: &mut Output<'_>) {
        self.level = self.level.saturating_sub(1);
        self.begin_line(out, true);
        out.put(b"]");
    }

    fn begin_value(&mut self, out: &mut Output<'_>, field: &Field, entry: Entry) {
        self.begin_entry(out, field, entry);
    }

    fn end_value(&mut self, _: &mut Output<'_>) {}

    fn float(&mut self, out: &mut Output<'_>, value: f32) {
        match value {
            value if value.is_nan() => out.put(b"\"NaN\""),
            f32::INFINITY => out.put(b"\"Infinity\""),
            f32::NEG_INFINITY => out.put(b"\"-Infinity\""),
            // Python's reader parses with 64 bits and refuses what is above the greatest number of 32 bits, as its
            // shortest decimal is.
            f32::MAX => out.put(b"3.4028234663852886e+38"),
            f32::MIN => out.put(b"-3.4028234663852886e+38"),
            // The shortest decimal that is read as the same number.
            value => out.put(zmij::Buffer::new().format_finite(value).as_bytes()),
        }
    }

    fn double(&mut self, out: &mut Output<'_>, value: f64) {
        match value {
            value if value.is_nan() => out.put(b"\"NaN\""),
            f64::INFINITY => out.put(b"\"Infinity\""),
            f64::NEG_INFINITY => out.put(b"\"-Infinity\""),
            value => out.put(zmij::Buffer::new().format_finite(value).as_bytes()),
        }
    }

    fn int32(&mut self, out: &mut Output<'_>, value: i32) {
        out.put(itoa::Buffer::new().format(value).as_bytes());
    }

    fn int64(&mut self, out: &mut Output<'_>, value: i64) {
        out.put(b"\"");
        out.put(itoa::Buffer::new().format(value).as_bytes());
        out.put(b"\"");
    }

    fn uint64(&mut self, out: &mut Output<'_>, value: u64) {
        out.put(b"\"");
        out.put(itoa::Buffer::new().format(value).as_bytes());
        out.put(b"\"");
    }

    fn name(&mut self, out: &mut Output<'_>, name: &str) {
        out.put(b"\"");
        out.put(name.as_bytes());
        out.put(b"\"");
    }

    fn begin_string(&mut self, out: &mut Output<'_>) {
        out.put(b"\"");
    }

    fn string(&mut self, out: &mut Output<'_>, part: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(part) else { return false };
        if part.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
            out.put(part);
        } else {
            text.chars().for_each(|c| character(out, c));
        }
        true
    }

    fn end_string(&mut self, out: &mut Output<'_>) {
        out.put(b"\"");
    }

    fn begin_bytes(&mut self, out: &mut Output<'_>) {
        out.put(b"\"");
        self.base64 = Encoder::default();
    }

    fn bytes(&mut self, out: &mut Output<'_>, chunk: &[u8]) {
        self.base64.encode(chunk, |text| out.put(text));
    }

    fn end_bytes(&mut self, out: &mut Output<'_>) {
        self.base64.finish(|text| out.put(text));
        out.put(b"\"");
    }
}

/// Writes a character of a string. Characters that would act on a terminal or are not seen are escaped like those for which
/// JSON requires it.
fn character(out: &mut Output<'_>, c: char) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    match c {
        '"' => out.put(b"\\\""),
        '\\' => out.put(b"\\\\"),
        '\n' => out.put(b"\\n"),
        '\r' => out.put(b"\\r"),
        '\t' => out.put(b"\\t"),
        '\u{8}' => out.put(b"\\b"),
        '\u{c}' => out.put(b"\\f"),
        c if is_unprintable(c) => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.put(b"\\u");
                for shift in [12, 8, 4, 0] {
                    let digit = DIGITS.get(usize::from(*unit >> shift & 15)).copied().unwrap_or(b'0');
                    out.put(&[digit]);
                }
            }
        }
        c => out.put(c.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}
