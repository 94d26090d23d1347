//! The lexer: tokens on demand.

use std::borrow::Cow;

/// Returns `true` if a name needs no quotes.
#[inline]
pub(crate) fn is_identifier(name: &[u8]) -> bool {
    match name.split_first() {
        Some((&first, rest)) => {
            (first.is_ascii_alphabetic() || first == b'_')
                && rest.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_')
        }
        None => false,
    }
}

/// Whether a word begins a type.
pub(crate) fn is_type_word(word: &[u8]) -> bool {
    matches!(word, b"seq" | b"optional" | b"map" | b"sparse_tensor" | b"opaque")
        || element_type(word).is_some()
}

/// The element type that a word of the syntax names.
pub(crate) fn element_type(word: &[u8]) -> Option<onnx_types::ElemType> {
    use onnx_types::ElemType as E;
    Some(match word {
        b"float" => E::Float,
        b"double" => E::Double,
        b"float16" => E::Float16,
        b"bfloat16" => E::Bfloat16,
        b"int8" => E::Int8,
        b"int16" => E::Int16,
        b"int32" => E::Int32,
        b"int64" => E::Int64,
        b"uint8" => E::Uint8,
        b"uint16" => E::Uint16,
        b"uint32" => E::Uint32,
        b"uint64" => E::Uint64,
        b"bool" => E::Bool,
        b"string" => E::String,
        b"complex64" => E::Complex64,
        b"complex128" => E::Complex128,
        b"float8e4m3fn" => E::Float8E4M3Fn,
        b"float8e4m3fnuz" => E::Float8E4M3Fnuz,
        b"float8e5m2" => E::Float8E5M2,
        b"float8e5m2fnuz" => E::Float8E5M2Fnuz,
        b"float8e8m0" => E::Float8E8M0,
        b"uint4" => E::Uint4,
        b"int4" => E::Int4,
        b"float4e2m1" => E::Float4E2M1,
        b"uint2" => E::Uint2,
        b"int2" => E::Int2,
        b"float6e2m3" => E::Float6E2M3,
        b"float6e3m2" => E::Float6E3M2,
        _ => return None,
    })
}

/// Whether a word is a number: infinity or no number.
pub(crate) fn is_float_word(word: &[u8]) -> bool {
    [&b"inf"[..], b"infinity", b"nan"].iter().any(|float| word.eq_ignore_ascii_case(float))
}

/// A place in the text.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    /// The byte.
    pub(crate) at: usize,
}

/// The error in a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LexError {
    /// A string has no closing quote.
    OpenString,
    /// An escape `\x{…}` is not pairs of hexadecimal digits.
    BadEscape,
    /// A number has no digits where it needs some.
    BadNumber,
}

/// A literal.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Literal<'a> {
    /// An integer: an optional minus sign and digits.
    Int(&'a str),
    /// A number with a point or exponent.
    Float(&'a str),
    /// An infinity, negative or not.
    Inf(bool),
    /// No number, with the sign.
    Nan(bool),
    /// No number, with all bits.
    NanBits(u64),
    /// A string.
    String(Cow<'a, [u8]>),
}

/// A cursor over the text. Tokens are read on demand, because the kind of a token depends on its context.
#[derive(Clone, Copy)]
pub(crate) struct Lexer<'a> {
    text: &'a [u8],
    mark: Mark,
}

#[cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "a place in a text, or just behind it, is far from the largest number"
    )
)]
impl<'a> Lexer<'a> {
    pub(crate) const fn new(text: &'a [u8]) -> Self {
        Self { text, mark: Mark { at: 0 } }
    }

    /// All of the text.
    pub(crate) const fn text(&self) -> &'a [u8] {
        self.text
    }

    pub(crate) const fn mark(&self) -> Mark {
        self.mark
    }

    pub(crate) const fn rewind(&mut self, mark: Mark) {
        self.mark = mark;
    }

    /// The text between two bytes.
    pub(crate) fn slice(&self, from: usize, to: usize) -> &'a [u8] {
        self.text.get(from..to).unwrap_or_default()
    }

    #[inline]
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    /// The text from here on.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.text.get(self.mark.at..).unwrap_or_default()
    }

    /// Advances by `bytes` bytes.
    pub(crate) const fn skip(&mut self, bytes: usize) {
        self.mark.at += bytes;
    }

    /// Skips white space and comments; gives the byte after them.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let mut byte = self.byte(self.mark.at)?;
        // Most tokens follow the one before at once, or after one space.
        if byte == b' ' {
            self.mark.at += 1;
            byte = self.byte(self.mark.at)?;
        }
        if byte > b' ' && byte != b'#' { Some(byte) } else { self.peek_further() }
    }

    /// Skips any white space and comments.
    #[inline(never)]
    fn peek_further(&mut self) -> Option<u8> {
        loop {
            match self.byte(self.mark.at)? {
                b' ' | b'\n' | b'\t' | 0x0b | 0x0c | b'\r' => self.mark.at += 1,
                b'#' => {
                    let rest = self.rest();
                    self.mark.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                byte => return Some(byte),
            }
        }
    }

    /// The byte that comes next, without skipping anything.
    pub(crate) fn here(&self) -> Option<u8> {
        self.byte(self.mark.at)
    }

    /// The byte right after the current one, without skipping anything.
    pub(crate) fn second(&self) -> Option<u8> {
        self.byte(self.mark.at.saturating_add(1))
    }

    /// Advances by one byte.
    #[inline]
    pub(crate) const fn bump(&mut self) {
        self.mark.at += 1;
    }

    /// Consumes a byte if it comes next.
    #[inline]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.bump();
        }
        is_next
    }

    /// The identifier that comes next, if one does, without taking it.
    #[inline]
    pub(crate) fn peek_word(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        self.word_here()
    }

    /// The identifier that begins here, if one does, without taking it.
    #[cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "the table has an entry for every byte"))]
    #[inline]
    pub(crate) fn word_here(&self) -> Option<&'a [u8]> {
        let rest = self.rest();
        if !rest.first().is_some_and(|&first| first.is_ascii_alphabetic() || first == b'_') {
            return None;
        }
        let end = rest.iter().position(|&byte| !IN_WORDS[usize::from(byte)]);
        rest.get(..end.unwrap_or(rest.len()))
    }

    /// Consumes the identifier that comes next, if one does.
    #[inline]
    pub(crate) fn word(&mut self) -> Option<&'a [u8]> {
        let word = self.peek_word()?;
        self.mark.at += word.len();
        Some(word)
    }

    /// The byte after the identifier that comes next, without taking anything.
    pub(crate) fn after_word(&mut self) -> Option<u8> {
        let mark = self.mark;
        self.word();
        let byte = self.peek();
        self.mark = mark;
        byte
    }

    /// Consumes a string without escapes, whose opening quote comes next; consumes nothing and returns `None` if it has
    /// escapes.
    #[inline]
    pub(crate) fn plain_string(&mut self) -> Option<&'a [u8]> {
        let rest = self.text.get(self.mark.at.saturating_add(1)..)?;
        let end = quote_or_escape(rest);
        let content = rest.get(..end).filter(|_| rest.get(end) == Some(&b'"'))?;
        self.mark.at += end + 2;
        Some(content)
    }

    /// Consumes a string; the opening quote comes next.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, [u8]>, LexError> {
        if let Some(content) = self.plain_string() {
            return Ok(Cow::Borrowed(content));
        }
        self.bump();
        let start = self.mark.at;
        self.mark.at += quote_or_escape(self.rest());
        self.escaped(start).map(Cow::Owned)
    }

    /// Skips a string, whose opening quote comes next, with any escapes; returns `true` if it is terminated.
    pub(crate) fn skip_string(&mut self) -> bool {
        self.bump();
        loop {
            let rest = self.rest();
            let end = quote_or_escape(rest);
            self.mark.at += end;
            match rest.get(end) {
                Some(b'"') => {
                    self.bump();
                    return true;
                }
                // An escape is two bytes at least; the second one may be a quote.
                Some(_) => self.mark.at = self.mark.at.saturating_add(2).min(self.text.len()),
                None => return false,
            }
        }
    }

    /// The rest of a string from its first escape on.
    fn escaped(&mut self, start: usize) -> Result<Vec<u8>, LexError> {
        let mut content = self.slice(start, self.mark.at).to_vec();
        loop {
            match self.byte(self.mark.at).ok_or(LexError::OpenString)? {
                b'"' => {
                    self.bump();
                    return Ok(content);
                }
                b'\\' if self.slice(self.mark.at, self.mark.at.saturating_add(3)) == b"\\x{" => {
                    self.mark.at += 3;
                    self.hex_escape(&mut content)?;
                }
                b'\\' => {
                    self.bump();
                    let byte = self.byte(self.mark.at).ok_or(LexError::OpenString)?;
                    content.push(byte);
                    self.bump();
                }
                _ => {
                    let rest = self.rest();
                    let plain = rest.get(..quote_or_escape(rest)).unwrap_or_default();
                    content.extend_from_slice(plain);
                    self.mark.at += plain.len();
                }
            }
        }
    }

    /// The digits of an escape, up to the closing brace.
    fn hex_escape(&mut self, content: &mut Vec<u8>) -> Result<(), LexError> {
        loop {
            let high = self.byte(self.mark.at).ok_or(LexError::OpenString)?;
            self.bump();
            if high == b'}' {
                return Ok(());
            }
            let low = self.byte(self.mark.at).ok_or(LexError::OpenString)?;
            match (hex_digit(high), hex_digit(low)) {
                (Some(high), Some(low)) => content.push(high << 4 | low),
                _ => return Err(LexError::BadEscape),
            }
            self.bump();
        }
    }

    /// Consumes the literal that comes next, if one does.
    pub(crate) fn literal(&mut self) -> Result<Option<Literal<'a>>, LexError> {
        match self.peek() {
            Some(b'"') => self.string().map(|string| Some(Literal::String(string))),
            Some(b'-' | b'0'..=b'9') => self.number().map(Some),
            Some(b'i' | b'I' | b'n' | b'N') => self.float_word(false),
            _ => Ok(None),
        }
    }

    fn digits(&mut self) -> bool {
        let start = self.mark.at;
        while self.byte(self.mark.at).is_some_and(|byte| byte.is_ascii_digit()) {
            self.bump();
        }
        self.mark.at > start
    }

    fn number(&mut self) -> Result<Literal<'a>, LexError> {
        let start = self.mark.at;
        let negative = self.byte(start) == Some(b'-');
        if negative {
            self.bump();
            if self.byte(self.mark.at).is_some_and(|byte| byte.is_ascii_alphabetic()) {
                return self.float_word(true)?.ok_or(LexError::BadNumber);
            }
        }
        if !self.digits() {
            return Err(LexError::BadNumber);
        }
        let mut is_float = false;
        if self.byte(self.mark.at) == Some(b'.') {
            is_float = true;
            self.bump();
            self.digits();
        }
        if matches!(self.byte(self.mark.at), Some(b'e' | b'E')) {
            is_float = true;
            self.bump();
            if matches!(self.byte(self.mark.at), Some(b'+' | b'-')) {
                self.bump();
            }
            if !self.digits() {
                return Err(LexError::BadNumber);
            }
        }
        // All bytes of a number are ASCII.
        let text = std::str::from_utf8(self.slice(start, self.mark.at)).unwrap_or_default();
        Ok(if is_float { Literal::Float(text) } else { Literal::Int(text) })
    }

    /// Consumes an infinity or NaN, if it comes next.
    fn float_word(&mut self, negative: bool) -> Result<Option<Literal<'a>>, LexError> {
        let Some(word) = self.peek_word().filter(|word| is_float_word(word)) else { return Ok(None) };
        self.mark.at += word.len();
        if !word.eq_ignore_ascii_case(b"nan") {
            return Ok(Some(Literal::Inf(negative)));
        }
        if negative || self.byte(self.mark.at) != Some(b'(') {
            return Ok(Some(Literal::Nan(negative)));
        }
        // All bits of it, in hexadecimal: `nan(0x7fc00001)`.
        let rest = self.text.get(self.mark.at..).unwrap_or_default();
        let rest = rest.get(..rest.len().min(24)).unwrap_or_default();
        let end = rest.iter().position(|&byte| byte == b')').ok_or(LexError::BadNumber)?;
        let digits = rest.get(3..end).filter(|_| rest.starts_with(b"(0x"));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok()).ok_or(LexError::BadNumber)?;
        let bits = u64::from_str_radix(digits, 16).map_err(|_| LexError::BadNumber)?;
        self.mark.at += end + 1;
        Ok(Some(Literal::NanBits(bits)))
    }
}

/// Whether a byte can be part of a word.
#[cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "computed when this is compiled"))]
static IN_WORDS: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_';
        byte += 1;
    }
    table
};

/// The place of the first quote or backslash; the length where there is none.
#[inline]
fn quote_or_escape(text: &[u8]) -> usize {
    memchr::memchr2(b'"', b'\\', text).unwrap_or(text.len())
}

/// The value of a hexadecimal digit.
pub(crate) fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
