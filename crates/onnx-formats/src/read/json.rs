//! The JSON form of protobuf.

use bytes::Bytes;
use onnx_diag::Quoted;
use onnx_types::Execution;

use super::builder::Builder;
use super::number::{self, Float, surrogates};
use crate::base64::{Base64Error, Decoder};
use crate::error::SyntaxError;
use crate::schema::{Enum, Field, Kind, Message};

pub(super) fn parse(
    message: &'static Message,
    text: &[u8],
    execution: &Execution,
) -> Result<Bytes, SyntaxError> {
    let builder = Builder::new(message, text, execution)?;
    let mut parser =
        Parser { text, at: 0, builder, open: Vec::new(), characters: Vec::new(), decoded: Vec::new() };
    parser.skip_space();
    parser.expect(b'{', "a model as an object")?;
    parser.open.push(Place::First);
    parser.messages()?;
    parser.skip_space();
    if parser.peek().is_some() {
        return parser.fail("trailing characters");
    }
    Ok(parser.builder.finish())
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    builder: Builder,
    /// The position in each open object or list of objects, outermost first.
    open: Vec<Place>,
    /// The characters of the last string that needed decoding.
    characters: Vec<u8>,
    /// The bytes of a piece of base64.
    decoded: Vec<u8>,
}

/// A position in an object or list.
#[derive(Clone, Copy)]
enum Place {
    /// After the brace.
    First,
    /// After a member.
    Later,
    /// After an element of the list of messages of a field.
    List(&'static Field),
}

type Parsed<T> = Result<T, SyntaxError>;

impl Parser<'_> {
    fn messages(&mut self) -> Parsed<()> {
        while let Some(place) = self.open.last_mut() {
            let place = std::mem::replace(
                place,
                match *place {
                    Place::List(field) => Place::List(field),
                    _ => Place::Later,
                },
            );
            self.skip_space();
            match place {
                Place::List(field) => {
                    if self.eat(b']') {
                        self.open.pop();
                    } else {
                        self.expect(b',', "`,` or `]`")?;
                        self.skip_space();
                        self.enter(field)?;
                    }
                }
                _ if self.eat(b'}') => {
                    self.open.pop();
                    // The whole message ends with the text.
                    if !self.open.is_empty() {
                        self.builder.leave();
                    }
                }
                Place::First => self.member()?,
                Place::Later => {
                    self.expect(b',', "`,` or `}`")?;
                    self.skip_space();
                    self.member()?;
                }
            }
        }
        Ok(())
    }

    fn member(&mut self) -> Parsed<()> {
        let start = self.at;
        self.expect(b'"', "the name of a field")?;
        self.string_characters(start)?;
        let Some(message) = self.builder.message() else { return self.fail("no object is open") };
        let Some(field) = message.by_json_name(&self.characters) else {
            let name = String::from_utf8_lossy(&self.characters);
            let message = format!("unrecognized field name {} in `{}`", Quoted(&name), message.name);
            return Err(SyntaxError::new(start, message));
        };
        self.builder.name(field, start, false)?;
        self.skip_space();
        self.expect(b':', "`:`")?;
        self.skip_space();
        if self.null() {
            // As if the field were not there, but it must not be named again.
            return Ok(());
        }
        self.builder.choose(field, start)?;
        if field.repeated {
            self.expect(b'[', "a list")?;
            self.skip_space();
            if self.eat(b']') {
                return Ok(());
            }
            if let Kind::Message(_) = field.kind {
                self.open.push(Place::List(field));
                return self.enter(field);
            }
            return self.list(field);
        }
        if let Kind::Message(_) = field.kind { self.enter(field) } else { self.scalar(field) }
    }

    /// Begins a message at its brace.
    fn enter(&mut self, field: &'static Field) -> Parsed<()> {
        let start = self.at;
        self.expect(b'{', "an object")?;
        if let Kind::Message(message) = field.kind {
            self.builder.enter(field, message, start)?;
            self.open.push(Place::First);
        }
        Ok(())
    }

    /// Values in brackets, the first of which was read.
    fn list(&mut self, field: &'static Field) -> Parsed<()> {
        loop {
            self.builder.reach(self.at)?;
            self.scalar(field)?;
            self.skip_space();
            if self.eat(b']') {
                return Ok(());
            }
            self.expect(b',', "`,` or `]`")?;
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
            Kind::Int32 => {
                let value = self.integer(i64::from(i32::MIN), i32::MAX as u64)?;
                self.builder.varint(field, value);
            }
            Kind::Int64 => {
                let value = self.integer(i64::MIN, i64::MAX as u64)?;
                self.builder.varint(field, value);
            }
            Kind::Uint64 => {
                let value = self.integer(0, u64::MAX)?;
                self.builder.varint(field, value);
            }
            Kind::Enum(names) => {
                let value = self.enumerator(names)?;
                self.builder.varint(field, value);
            }
            Kind::String => self.text_field(field)?,
            Kind::Bytes => self.bytes_field(field)?,
            Kind::Message(_) => {}
        }
        Ok(())
    }

    /// A number, or what a string holds in its place, as a token; with where it begins and whether it was a string.
    fn token(&mut self) -> Parsed<(usize, bool)> {
        let start = self.at;
        if self.eat(b'"') {
            self.string_characters(start)?;
            return Ok((start, true));
        }
        let token = number_token(self.text.get(start..).unwrap_or_default());
        let Some(token) = token else {
            return self.fail(format!("expected a number, but found {}", self.found()));
        };
        self.characters.clear();
        self.characters.extend_from_slice(token);
        self.at = start.saturating_add(token.len());
        Ok((start, false))
    }

    /// A whole number, as the varint that stands for it.
    fn integer(&mut self, least: i64, most: u64) -> Parsed<u64> {
        let (start, is_string) = self.token()?;
        let token = str::from_utf8(&self.characters).unwrap_or_default();
        // A quoted value must be a number as well.
        let is_number =
            !is_string || number_token(token.as_bytes()).is_some_and(|whole| whole.len() == token.len());
        let (is_negative, digits) = match token.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, token),
        };
        let magnitude = digits.parse().ok().or_else(|| number::whole(digits)).filter(|_| is_number);
        let Some(magnitude) = magnitude else {
            return Err(SyntaxError::new(start, format!("expected an integer, but found {}", Quoted(token))));
        };
        let value = if is_negative && magnitude > 0 {
            number::signed(true, magnitude).filter(|&value| value >= least).map(i64::cast_unsigned)
        } else {
            Some(magnitude).filter(|&magnitude| magnitude <= most)
        };
        value.ok_or_else(|| SyntaxError::new(start, format!("{token} is not in {least} to {most}")))
    }

    fn float<T: Float>(&mut self) -> Parsed<T> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let digits = rest.strip_prefix(b"-").unwrap_or(rest);
        if let Some((value, len)) = number::common::<T>(digits) {
            let sign = rest.len().wrapping_sub(digits.len());
            self.at = self.at.saturating_add(len).saturating_add(sign);
            return Ok(if sign > 0 { value.negated() } else { value });
        }
        let (start, is_string) = self.token()?;
        let token = str::from_utf8(&self.characters).unwrap_or_default();
        if is_string {
            match token {
                "NaN" => return Ok(T::NAN),
                "Infinity" => return Ok(T::INFINITY),
                "-Infinity" => return Ok(T::INFINITY.negated()),
                _ => {}
            }
        }
        let is_number = number_token(token.as_bytes()).is_some_and(|whole| whole.len() == token.len());
        let Some(value) = token.parse::<T>().ok().filter(|_| is_number) else {
            let message = format!(
                "expected a number, \"NaN\", \"Infinity\" or \"-Infinity\", but found {}",
                Quoted(token)
            );
            return Err(SyntaxError::new(start, message));
        };
        if value.is_infinite() {
            return Err(SyntaxError::new(start, format!("{token} is too large for a {}", T::NAME)));
        }
        Ok(value)
    }

    fn enumerator(&mut self, names: &Enum) -> Parsed<u64> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return self.integer(i64::from(i32::MIN), i32::MAX as u64);
        }
        self.at = start.saturating_add(1);
        self.string_characters(start)?;
        if let Some(number) = names.number(&self.characters) {
            return Ok(i64::from(number).cast_unsigned());
        }
        // Python's reader takes a number in a string, too.
        if self.characters.first().is_some_and(|&first| first == b'-' || first.is_ascii_digit()) {
            self.at = start;
            return self.integer(i64::from(i32::MIN), i32::MAX as u64);
        }
        let name = String::from_utf8_lossy(&self.characters);
        Err(SyntaxError::new(start, format!("`{}` has no value {}", names.name, Quoted(&name))))
    }

    fn text_field(&mut self, field: &'static Field) -> Parsed<()> {
        let start = self.at;
        self.expect(b'"', "a string")?;
        let content = self.builder.begin(field);
        while let Some(piece) = self.piece(start)? {
            match piece {
                Piece::Plain(from, to) => {
                    self.builder.add(self.text.get(from..to).unwrap_or_default());
                }
                Piece::Escape(c) => self.builder.add(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        self.builder.check_string(&content, start)?;
        self.builder.end(content);
        Ok(())
    }

    fn bytes_field(&mut self, field: &'static Field) -> Parsed<()> {
        /// Number of characters that are decoded at once.
        const BLOCK: usize = 1 << 16;
        let start = self.at;
        self.expect(b'"', "a string of base64")?;
        let content = self.builder.begin(field);
        let mut decoder = Decoder::default();
        while let Some(piece) = self.piece(start)? {
            let mut buffer = [0; 4];
            let (from, text) = match piece {
                Piece::Plain(from, to) => (from, self.text.get(from..to).unwrap_or_default()),
                Piece::Escape(c) => (self.at.saturating_sub(1), c.encode_utf8(&mut buffer).as_bytes()),
            };
            for (index, block) in text.chunks(BLOCK).enumerate() {
                self.builder.reach(from.saturating_add(index.saturating_mul(BLOCK)))?;
                self.decoded.clear();
                if let Err(error) = decoder.decode(block, &mut self.decoded) {
                    let inside = if let Base64Error::Character(at) = error { at } else { 0 };
                    let at = index.saturating_mul(BLOCK).saturating_add(inside).saturating_add(from);
                    return Err(SyntaxError::new(at, "this character is not base64"));
                }
                self.builder.add(&self.decoded);
            }
        }
        self.decoded.clear();
        if decoder.finish(&mut self.decoded).is_err() {
            return Err(SyntaxError::new(start, "the base64 is incomplete"));
        }
        self.builder.add(&self.decoded);
        self.builder.end(content);
        Ok(())
    }

    /// The characters of the rest of a string.
    fn string_characters(&mut self, start: usize) -> Parsed<()> {
        self.characters.clear();
        while let Some(piece) = self.piece(start)? {
            match piece {
                Piece::Plain(from, to) => {
                    self.characters.extend_from_slice(self.text.get(from..to).unwrap_or_default());
                }
                Piece::Escape(c) => {
                    self.characters.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
        Ok(())
    }

    /// The next piece of a string; nothing at its end.
    fn piece(&mut self, start: usize) -> Parsed<Option<Piece>> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let len = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        let run = rest.get(..len).unwrap_or_default();
        if len > 0 {
            if let Some(control) = run.iter().position(|&byte| byte < 0x20) {
                let at = self.at.saturating_add(control);
                return Err(SyntaxError::new(at, "a control character in a string must be escaped"));
            }
            if let Err(error) = str::from_utf8(run) {
                let at = self.at.saturating_add(error.valid_up_to());
                return Err(SyntaxError::new(at, "the text is not UTF-8"));
            }
            let from = self.at;
            self.at = from.saturating_add(len);
            return Ok(Some(Piece::Plain(from, self.at)));
        }
        match rest.first() {
            Some(b'"') => {
                self.at = self.at.saturating_add(1);
                Ok(None)
            }
            Some(_) => self.escape().map(|c| Some(Piece::Escape(c))),
            None => Err(SyntaxError::new(start, "the string is not closed")),
        }
    }

    fn escape(&mut self) -> Parsed<char> {
        let start = self.at;
        let rest = self.text.get(start.saturating_add(1)..).unwrap_or_default();
        let c = match rest.first() {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(&quoted @ (b'"' | b'\\' | b'/')) => char::from(quoted),
            Some(b'u') => return self.unicode(start),
            _ => return Err(SyntaxError::new(start, "unknown escape sequence")),
        };
        self.at = start.saturating_add(2);
        Ok(c)
    }

    /// A character by its number; one beyond 0xffff is a pair of surrogates.
    fn unicode(&mut self, start: usize) -> Parsed<char> {
        let value = match self.code_unit(start) {
            Some(high @ 0xd800..=0xdbff) => match self.code_unit(self.at) {
                Some(low @ 0xdc00..=0xdfff) => Some(surrogates(high, low)),
                _ => None,
            },
            other => other,
        };
        let message = "the escape sequence is not a character: a surrogate needs its other half";
        value.and_then(char::from_u32).ok_or_else(|| SyntaxError::new(start, message))
    }

    fn code_unit(&mut self, start: usize) -> Option<u32> {
        let rest = self.text.get(start..).unwrap_or_default().strip_prefix(b"\\u")?;
        let digits = rest.get(..4)?;
        let value = digits
            .iter()
            .try_fold(0_u32, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))?;
        self.at = start.saturating_add(6);
        Some(value)
    }

    fn null(&mut self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_null = rest.starts_with(b"null") && !rest.get(4).is_some_and(u8::is_ascii_alphanumeric);
        self.at = self.at.saturating_add(if is_null { 4 } else { 0 });
        is_null
    }

    fn skip_space(&mut self) {
        let mut rest = self.text.get(self.at..).unwrap_or_default();
        while let [b' ' | b'\n' | b'\t' | b'\r', after @ ..] = rest {
            rest = after;
        }
        self.at = self.text.len().saturating_sub(rest.len());
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at = self.at.saturating_add(usize::from(is_there));
        is_there
    }

    fn expect(&mut self, byte: u8, what: &str) -> Parsed<()> {
        if self.eat(byte) {
            return Ok(());
        }
        self.fail(format!("expected {what}, but found {}", self.found()))
    }

    /// The token at the position, for messages.
    fn found(&self) -> String {
        let rest = self.text.get(self.at..).unwrap_or_default();
        match rest.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next()) {
            Some(c) => Quoted(c.encode_utf8(&mut [0; 4])).to_string(),
            None if rest.is_empty() => "the end of the text".to_owned(),
            None => "a byte that is not UTF-8".to_owned(),
        }
    }

    fn fail<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(SyntaxError::new(self.at, message))
    }
}

/// A piece of a string.
enum Piece {
    /// Characters that stand for themselves, from one position to another.
    Plain(usize, usize),
    Escape(char),
}

/// The number at the beginning of a text, if there is one that JSON allows.
fn number_token(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    let skip_digits = |rest: &mut &[u8]| {
        let len = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        *rest = rest.get(len..).unwrap_or_default();
        len > 0
    };
    match rest {
        [b'0', after @ ..] => rest = after,
        _ => skip_digits(&mut rest).then_some(())?,
    }
    if let [b'.', after @ ..] = rest {
        rest = after;
        skip_digits(&mut rest).then_some(())?;
    }
    if let [b'e' | b'E', after @ ..] = rest {
        rest = after.strip_prefix(b"+").or_else(|| after.strip_prefix(b"-")).unwrap_or(after);
        skip_digits(&mut rest).then_some(())?;
    }
    if rest.first().is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    text.get(..text.len().saturating_sub(rest.len()))
}
