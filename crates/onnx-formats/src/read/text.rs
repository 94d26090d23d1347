//! The text format of protobuf.
//!
//! The grammar is that of protobuf's own parsers, without extensions and `Any`: colons before messages and separators after
//! fields are optional, `<` and `>` may stand for braces, repeated fields may be lists, strings that follow each other are
//! one. Unlike Python's parser, numbers of enumerations need not be known.

use bytes::Bytes;
use onnx_diag::Quoted;
use onnx_types::Execution;

use super::builder::Builder;
use super::number::{self, Float, surrogates};
use crate::error::{SyntaxError, TextPosition};
use crate::schema::{Enum, Field, Kind, Message};

pub(super) fn parse(
    message: &'static Message,
    text: &[u8],
    execution: &Execution,
) -> Result<Bytes, SyntaxError> {
    // A byte order mark is what some editors put first.
    let at = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let builder = Builder::new(message, text, execution)?;
    let mut parser = Parser { text, at, builder, open: Vec::new(), last: None };
    parser.messages()?;
    Ok(parser.builder.finish())
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    builder: Builder,
    /// The braces that are open, outermost first; one fewer than the messages.
    open: Vec<Brace>,
    /// The field found last and its message: long texts repeat one field.
    last: Option<(&'static Message, &'static Field)>,
}

struct Brace {
    start: usize,
    close: u8,
    /// The field, if the message is in a list of messages.
    list: Option<&'static Field>,
}

type Parsed<T> = Result<T, SyntaxError>;

impl Parser<'_> {
    fn messages(&mut self) -> Parsed<()> {
        loop {
            self.skip_space();
            let Some(next) = self.peek() else { break };
            match self.open.last() {
                Some(brace) if brace.close == next => {
                    self.at = self.at.saturating_add(1);
                    self.leave()?;
                }
                _ => self.field()?,
            }
        }
        match self.open.last() {
            None => Ok(()),
            Some(brace) => {
                let (line, close) = (self.line(brace.start), char::from(brace.close));
                self.fail(format!("expected `{close}` or a field, but reached end of input: the message of line {line} is open"))
            }
        }
    }

    /// Ends a message, and begins the next one of a list.
    fn leave(&mut self) -> Parsed<()> {
        self.builder.leave();
        let Some(list) = self.open.pop().and_then(|brace| brace.list) else {
            self.separator();
            return Ok(());
        };
        self.skip_space();
        if self.eat(b']') {
            self.separator();
            return Ok(());
        }
        if !self.eat(b',') {
            return self.fail(format!("expected `,` or `]` in the list of `{}`", list.name));
        }
        self.skip_space();
        self.enter(list, Some(list))
    }

    fn field(&mut self) -> Parsed<()> {
        let start = self.at;
        let field = self.field_name()?;
        self.builder.name(field, start, true)?;
        self.builder.choose(field, start)?;
        self.skip_space();
        let colon = self.eat(b':');
        self.skip_space();
        if let Kind::Message(_) = field.kind {
            if field.repeated && self.eat(b'[') {
                self.skip_space();
                if self.eat(b']') {
                    self.separator();
                    return Ok(());
                }
                return self.enter(field, Some(field));
            }
            return self.enter(field, None);
        }
        if !colon {
            return self.fail(format!("expected `:` after `{}`", field.name));
        }
        if field.repeated && self.eat(b'[') {
            self.list(field)?;
        } else {
            self.scalar(field)?;
        }
        self.separator();
        Ok(())
    }

    fn field_name(&mut self) -> Parsed<&'static Field> {
        let start = self.at;
        let Some(message) = self.builder.message() else { return self.fail("no message is open") };
        let rest = self.text.get(start..).unwrap_or_default();
        if let Some((of, field)) = self.last
            && std::ptr::eq(of, message)
            && let Some(after) = rest.strip_prefix(field.name.as_bytes())
            && !after.first().is_some_and(|&byte| is_word(byte))
        {
            self.at = start.saturating_add(field.name.len());
            return Ok(field);
        }
        if self.peek() == Some(b'[') {
            return self.fail("an extension or `Any` was not found: ONNX messages have none");
        }
        let name = self.word();
        if name.is_empty() || name.first().is_some_and(u8::is_ascii_digit) {
            self.at = start;
            let found = self.found();
            return self.fail(format!("expected the name of a field, but found {found}"));
        }
        let Some(field) = message.by_name(name) else {
            let name = String::from_utf8_lossy(name).into_owned();
            return Err(SyntaxError::new(start, format!("field '{name}' not found in `{}`", message.name)));
        };
        self.last = Some((message, field));
        Ok(field)
    }

    /// Begins a message at its brace.
    fn enter(&mut self, field: &'static Field, list: Option<&'static Field>) -> Parsed<()> {
        let start = self.at;
        let close = match self.peek() {
            Some(b'{') => b'}',
            Some(b'<') => b'>',
            _ => {
                let found = self.found();
                return self.fail(format!("expected `{{` after `{}`, but found {found}", field.name));
            }
        };
        self.at = start.saturating_add(1);
        if let Kind::Message(message) = field.kind {
            self.builder.enter(field, message, start)?;
            self.open.push(Brace { start, close, list });
        }
        Ok(())
    }

    /// Values in brackets, the first of which was read.
    fn list(&mut self, field: &'static Field) -> Parsed<()> {
        self.skip_space();
        if self.eat(b']') {
            return Ok(());
        }
        loop {
            self.builder.reach(self.at)?;
            self.scalar(field)?;
            self.skip_space();
            if self.eat(b']') {
                return Ok(());
            }
            if !self.eat(b',') {
                return self.fail(format!("expected `,` or `]` in the list of `{}`", field.name));
            }
            self.skip_space();
        }
    }

    fn scalar(&mut self, field: &'static Field) -> Parsed<()> {
        match field.kind {
            Kind::Float => {
                let value = self.float::<f32>()?;
                self.builder.float(field, value);
            }
            Kind::Double => {
                let value = self.float::<f64>()?;
                self.builder.double(field, value);
            }
            Kind::Int64 => {
                let value = self.signed(i64::MIN, i64::MAX)?;
                self.builder.varint(field, value.cast_unsigned());
            }
            Kind::Int32 => {
                let value = self.signed(i64::from(i32::MIN), i64::from(i32::MAX))?;
                self.builder.varint(field, value.cast_unsigned());
            }
            Kind::Uint64 => {
                let value = self.unsigned()?;
                self.builder.varint(field, value);
            }
            Kind::Enum(names) => {
                let value = self.enumerator(names)?;
                self.builder.varint(field, value.cast_unsigned());
            }
            Kind::String | Kind::Bytes => self.strings(field)?,
            Kind::Message(_) => {}
        }
        Ok(())
    }

    /// A number as it is written: where it begins, whether it has a sign, and the rest.
    fn number(&mut self) -> (usize, bool, &str) {
        let start = self.at;
        let is_negative = self.eat(b'-');
        if is_negative {
            self.skip_space();
        }
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_hexadecimal = rest.starts_with(b"0x") || rest.starts_with(b"0X");
        let mut before = 0;
        let mut len = 0_usize;
        for &byte in rest {
            let is_sign = matches!(byte, b'+' | b'-') && matches!(before, b'e' | b'E') && !is_hexadecimal;
            if !(is_word(byte) || byte == b'.' || is_sign) {
                break;
            }
            before = byte;
            len = len.wrapping_add(1);
        }
        self.at = self.at.saturating_add(len);
        (start, is_negative, rest.get(..len).and_then(|token| str::from_utf8(token).ok()).unwrap_or_default())
    }

    fn integer(&mut self) -> Parsed<(usize, bool, u64)> {
        let (start, is_negative, token) = self.number();
        if let Some(magnitude) = number::magnitude(token) {
            return Ok((start, is_negative, magnitude));
        }
        let is_digits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
        let message = match is_digits {
            true if token.starts_with('0') => {
                "the number begins with 0, so it is octal, and is not".to_owned()
            }
            true => "the number does not fit into 64 bits".to_owned(),
            false => format!("expected an integer, but found {}", self.found_at(start)),
        };
        Err(SyntaxError::new(start, message))
    }

    fn signed(&mut self, least: i64, most: i64) -> Parsed<i64> {
        let (start, is_negative, magnitude) = self.integer()?;
        number::signed(is_negative, magnitude)
            .filter(|value| (least..=most).contains(value))
            .ok_or_else(|| SyntaxError::new(start, format!("the number is not in {least} to {most}")))
    }

    fn unsigned(&mut self) -> Parsed<u64> {
        match self.integer()? {
            (start, true, 1..) => Err(SyntaxError::new(start, "the number must not be negative")),
            (_, _, magnitude) => Ok(magnitude),
        }
    }

    fn enumerator(&mut self, names: &Enum) -> Parsed<i64> {
        let start = self.at;
        if self.peek().is_some_and(|byte| byte == b'-' || byte.is_ascii_digit()) {
            return self.signed(i64::from(i32::MIN), i64::from(i32::MAX));
        }
        let name = self.word();
        if let Some(number) = names.number(name) {
            return Ok(i64::from(number));
        }
        let message = if name.is_empty() {
            format!("expected a name or number of `{}`, but found {}", names.name, self.found())
        } else {
            format!("`{}` has no value `{}`", names.name, String::from_utf8_lossy(name))
        };
        Err(SyntaxError::new(start, message))
    }

    fn float<T: Float>(&mut self) -> Parsed<T> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let digits = rest.strip_prefix(b"-").unwrap_or(rest);
        if let Some((value, len)) = number::common::<T>(digits) {
            let sign = rest.len().wrapping_sub(digits.len());
            self.at = self.at.saturating_add(len).saturating_add(sign);
            return Ok(if sign > 0 { value.negated() } else { value });
        }
        let (start, is_negative, token) = self.number();
        let value = match token.as_bytes() {
            [b'0'..=b'9' | b'.', ..] => {
                let is_octal = token.len() > 1
                    && token.starts_with('0')
                    && token.bytes().all(|byte| byte.is_ascii_digit());
                let digits = token.strip_suffix(['f', 'F']).unwrap_or(token);
                digits.parse::<T>().ok().filter(|_| !is_octal)
            }
            word if word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"infinity") => {
                Some(T::INFINITY)
            }
            word if word.eq_ignore_ascii_case(b"nan") => Some(T::NAN),
            _ => None,
        };
        let Some(value) = value else {
            let message = format!("expected a decimal number, but found {}", self.found_at(start));
            return Err(SyntaxError::new(start, message));
        };
        Ok(if is_negative { value.negated() } else { value })
    }

    /// Strings that follow each other, as one.
    fn strings(&mut self, field: &'static Field) -> Parsed<()> {
        let start = self.at;
        if !matches!(self.peek(), Some(b'"' | b'\'')) {
            let found = self.found();
            return self.fail(format!("expected a string, but found {found}"));
        }
        let content = self.builder.begin(field);
        while let Some(quote @ (b'"' | b'\'')) = self.peek() {
            self.at = self.at.saturating_add(1);
            self.string(quote)?;
            self.skip_space();
        }
        if let Kind::String = field.kind {
            self.builder.check_string(&content, start)?;
        }
        self.builder.end(content);
        Ok(())
    }

    /// The rest of a string.
    fn string(&mut self, quote: u8) -> Parsed<()> {
        let start = self.at.saturating_sub(1);
        loop {
            self.builder.reach(self.at)?;
            self.plain(quote);
            match self.peek() {
                Some(b'\\') => self.escape()?,
                Some(found) if found == quote => {
                    self.at = self.at.saturating_add(1);
                    return Ok(());
                }
                None | Some(b'\n') => {
                    let message =
                        format!("invalid string: expected `{}` on the same line", char::from(quote));
                    return Err(SyntaxError::new(start, message));
                }
                Some(0x80..) => self.not_ascii()?,
                // There is more than was taken at once, or this is near the end of the text.
                Some(byte) => {
                    self.builder.add(&[byte]);
                    self.at = self.at.saturating_add(1);
                }
            }
        }
    }

    /// ASCII characters and octal escapes of three digits, which is the most common notation of bytes.
    fn plain(&mut self, quote: u8) {
        const AT_ONCE: usize = 1024;
        let mut buffer = [0_u8; AT_ONCE];
        let mut len = 0_usize;
        let (text, mut at) = (self.text, self.at);
        for slot in &mut buffer {
            // Without branches that depend on the bytes: which of the two comes next cannot be predicted. The next position
            // depends on the first byte only, because the processor waits for nothing else.
            let Some(&[first, a, b, c]) = text.get(at..).and_then(<[u8]>::first_chunk) else { break };
            let is_escape = first == b'\\';
            let is_octal = (a & !3 == b'0') & (b & !7 == b'0') & (c & !7 == b'0');
            let is_plain = (first < 0x80) & (first != quote) & (first != b'\n');
            if !((is_escape & is_octal) | (!is_escape & is_plain)) {
                break;
            }
            let octal = (a & 3) << 6 | (b & 7) << 3 | (c & 7);
            *slot = std::hint::select_unpredictable(is_escape, octal, first);
            at = at.wrapping_add(1).wrapping_add(usize::from(is_escape).wrapping_mul(3));
            len = len.wrapping_add(1);
        }
        self.at = at;
        self.builder.add(buffer.get(..len).unwrap_or_default());
    }

    /// Characters that are not ASCII.
    fn not_ascii(&mut self) -> Parsed<()> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let len = rest.iter().position(u8::is_ascii).unwrap_or(rest.len());
        let run = rest.get(..len).unwrap_or_default();
        if let Err(error) = str::from_utf8(run) {
            let at = self.at.saturating_add(error.valid_up_to());
            return Err(SyntaxError::new(at, "invalid string: the text is not UTF-8"));
        }
        self.builder.add(run);
        self.at = self.at.saturating_add(len);
        Ok(())
    }

    fn escape(&mut self) -> Parsed<()> {
        let start = self.at;
        let rest = self.text.get(start.saturating_add(1)..).unwrap_or_default();
        let (byte, len) = match *rest {
            [b'a', ..] => (7, 1),
            [b'b', ..] => (8, 1),
            [b't', ..] => (b'\t', 1),
            [b'n', ..] => (b'\n', 1),
            [b'v', ..] => (11, 1),
            [b'f', ..] => (12, 1),
            [b'r', ..] => (b'\r', 1),
            [byte @ (b'?' | b'\\' | b'\'' | b'"'), ..] => (byte, 1),
            [b'0'..=b'7', ..] => match digits(rest, 3, 8) {
                (value @ 0..=0xff, len) => (value as u8, len),
                _ => return Err(SyntaxError::new(start, "invalid string: an octal escape exceeds 255")),
            },
            [b'x' | b'X', ref rest @ ..] if rest.first().is_some_and(u8::is_ascii_hexdigit) => {
                let (value, len) = digits(rest, 2, 16);
                (value as u8, len.saturating_add(1))
            }
            [b'u' | b'U', ..] => return self.unicode(start),
            _ => return Err(SyntaxError::new(start, "invalid string: unknown escape sequence")),
        };
        self.builder.add(&[byte]);
        self.at = start.saturating_add(1).saturating_add(len);
        Ok(())
    }

    /// A character by its number, `\uXXXX` or `\UXXXXXXXX`; one beyond 0xffff may be given as a pair of surrogates.
    fn unicode(&mut self, start: usize) -> Parsed<()> {
        let first = self.code_unit(start);
        let value = match first {
            Some(high @ 0xd800..=0xdbff) => match self.code_unit(self.at) {
                Some(low @ 0xdc00..=0xdfff) => Some(surrogates(high, low)),
                _ => None,
            },
            other => other,
        };
        let Some(c) = value.and_then(char::from_u32) else {
            return Err(SyntaxError::new(start, "invalid string: the escape sequence is not a character"));
        };
        self.builder.add(c.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn code_unit(&mut self, start: usize) -> Option<u32> {
        let rest = self.text.get(start..).unwrap_or_default();
        let (count, digits_of) = match *rest {
            [b'\\', b'u', ref rest @ ..] => (4, rest),
            [b'\\', b'U', ref rest @ ..] => (8, rest),
            _ => return None,
        };
        let (value, len) = digits(digits_of, count, 16);
        self.at = start.saturating_add(2).saturating_add(len);
        (len == count).then_some(value)
    }

    /// Skips white space and comments.
    fn skip_space(&mut self) {
        let mut rest = self.text.get(self.at..).unwrap_or_default();
        loop {
            match *rest {
                [b' ' | b'\n' | b'\t' | b'\r' | 11 | 12, ref after @ ..] => rest = after,
                [b'#', ..] => {
                    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                    rest = rest.get(end..).unwrap_or_default();
                }
                _ => break,
            }
        }
        self.at = self.text.len().saturating_sub(rest.len());
    }

    /// Consumes the optional separator after a field.
    fn separator(&mut self) {
        self.skip_space();
        if matches!(self.peek(), Some(b',' | b';')) {
            self.at = self.at.saturating_add(1);
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at = self.at.saturating_add(usize::from(is_there));
        is_there
    }

    fn word(&mut self) -> &[u8] {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let len = rest.iter().position(|&byte| !is_word(byte)).unwrap_or(rest.len());
        self.at = self.at.saturating_add(len);
        rest.get(..len).unwrap_or_default()
    }

    /// The token at the position, for messages.
    fn found(&self) -> String {
        self.found_at(self.at)
    }

    fn found_at(&self, at: usize) -> String {
        const MOST: usize = 40;
        let rest = self.text.get(at..).unwrap_or_default();
        let Some(&first) = rest.first() else { return "reached end of input".to_owned() };
        let rest = rest.get(..MOST).unwrap_or(rest);
        let len = match first {
            first if is_word(first) || matches!(first, b'-' | b'.') => rest
                .iter()
                .position(|&byte| !is_word(byte) && !matches!(byte, b'-' | b'.'))
                .unwrap_or(rest.len()),
            _ => 0,
        };
        let text = String::from_utf8_lossy(rest.get(..len.max(1)).unwrap_or_default()).into_owned();
        if first.is_ascii() {
            return Quoted(&text).to_string();
        }
        // The first character, which may have more bytes.
        match rest.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next()) {
            Some(c) => format!("invalid token {}", Quoted(c.encode_utf8(&mut [0; 4]))),
            None => "invalid token: the text is not UTF-8".to_owned(),
        }
    }

    /// The line of a position.
    fn line(&self, at: usize) -> usize {
        TextPosition::of(self.text, at).line
    }

    fn fail<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(SyntaxError::new(self.at, message))
    }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The value of the leading digits, at most `most` of them, and their number.
fn digits(text: &[u8], most: usize, radix: u32) -> (u32, usize) {
    let digits = text.iter().map_while(|&byte| char::from(byte).to_digit(radix)).take(most);
    digits.fold((0, 0), |(value, len), digit| {
        (value.wrapping_mul(radix).wrapping_add(digit), len.wrapping_add(1))
    })
}
