//! Names, strings and bytes.

use onnx_diag::is_unprintable;
use onnx_types::Symbol;
use onnx_types::raw_text::{holds_raw_bytes, to_bytes};

use super::Printer;
use crate::lexer::{is_float_word, is_identifier, is_type_word};

/// Whether a character would act on a terminal, or would be lost or changed on the way through an editor.
fn is_unsafe(c: char) -> bool {
    !matches!(c, '\n' | '\t') && is_unprintable(c)
}

impl Printer<'_> {
    /// Writes a name, quoted unless it is an identifier.
    #[inline]
    pub(super) fn name(&mut self, name: &str) {
        if is_identifier(name.as_bytes()) {
            self.out.push_str(name);
        } else {
            self.string(name);
        }
    }

    /// Writes a name in a context that also allows a type.
    pub(super) fn name_not_type(&mut self, name: &str) {
        if is_type_word(name.as_bytes()) { self.string(name) } else { self.name(name) }
    }

    /// Writes the name of a nested graph, in a context that also allows a type or number.
    pub(super) fn graph_name_of_attribute(&mut self, name: &str) {
        let bytes = name.as_bytes();
        let word = is_type_word(bytes) || is_float_word(bytes) || bytes == b"sparse_tensor";
        if is_identifier(bytes) && !word {
            self.out.push_str(name);
        } else if self.compat() {
            self.lost("the name of a nested graph");
            self.out.push('_');
        } else {
            self.string(name);
        }
    }

    /// Writes a name that the reference cannot quote.
    pub(super) fn bare_name(&mut self, name: Symbol, what: &str) {
        let name = self.str(name);
        if is_identifier(name.as_bytes()) {
            self.out.push_str(name);
        } else if self.compat() {
            self.lost(what);
            self.sanitized(name);
        } else {
            self.string(name);
        }
    }

    /// Writes an identifier that resembles a name.
    fn sanitized(&mut self, name: &str) {
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            self.out.push('_');
        }
        let fit = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        self.out.extend(name.chars().map(fit));
    }

    /// Writes a quoted text.
    pub(super) fn string(&mut self, text: &str) {
        if holds_raw_bytes(text) {
            self.byte_string(&to_bytes(text));
            return;
        }
        self.out.push('"');
        self.quoted(text);
        self.out.push('"');
    }

    /// Writes quoted bytes, whether they are text or not.
    pub(super) fn byte_string(&mut self, bytes: &[u8]) {
        self.out.push('"');
        for chunk in bytes.utf8_chunks() {
            self.quoted(chunk.valid());
            if !chunk.invalid().is_empty() {
                if self.compat() {
                    self.lost("bytes of a string that are not UTF-8");
                    self.out.push('\u{fffd}');
                } else {
                    self.escaped(chunk.invalid());
                }
            }
        }
        self.out.push('"');
    }

    fn quoted(&mut self, text: &str) {
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
            self.out.push_str(text);
            return;
        }
        let plain = |c: char| c != '"' && c != '\\' && !is_unsafe(c);
        let mut begins_line = false;
        for c in text.chars() {
            // A colon at the beginning of a line would begin a command where text is logged by GitHub Actions: `::error::`.
            let is_command = begins_line && c == ':';
            begins_line = matches!(c, '\n' | '\r') || (begins_line && c.is_whitespace());
            if c == '"' || c == '\\' || is_command {
                self.out.push('\\');
                self.out.push(c);
            } else if c == '\0' && self.compat() {
                // The reference takes it for the end of the text.
                self.lost("a NUL in a string");
                self.out.push('\u{fffd}');
            } else if plain(c) || self.compat() {
                self.out.push(c);
            } else {
                let mut buffer = [0; 4];
                let bytes = c.encode_utf8(&mut buffer).len();
                self.escaped(buffer.get(..bytes).unwrap_or_default());
            }
        }
    }

    /// Writes bytes inside quotes by their numbers.
    fn escaped(&mut self, bytes: &[u8]) {
        self.out.push_str("\\x{");
        self.hex_digits(bytes);
        self.out.push('}');
    }

    /// Writes bytes as a quoted string of hexadecimal digits.
    pub(super) fn hex(&mut self, bytes: &[u8]) {
        self.out.push('"');
        self.hex_digits(bytes);
        self.out.push('"');
    }

    fn hex_digits(&mut self, bytes: &[u8]) {
        const BLOCK: usize = 4096;
        const DIGITS: [char; 16] =
            ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
        self.reserve(bytes.len().saturating_mul(2));
        for block in bytes.chunks(BLOCK) {
            for &byte in block {
                for digit in [byte >> 4, byte & 15] {
                    self.out.push(DIGITS.get(usize::from(digit)).copied().unwrap_or('0'));
                }
            }
            if self.pass_on() {
                return;
            }
        }
    }
}
