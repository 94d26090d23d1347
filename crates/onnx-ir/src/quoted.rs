//! Names between quotes, with escapes.

use thiserror::Error;

/// Why a text does not begin with a name between quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct QuotedError {
    /// The message that states the defect.
    pub message: &'static str,
    /// The byte of the text at which it applies.
    pub offset: usize,
}

/// Reads a name between double quotes, with the escapes `\"`, `\\`, `\n`, `\r`, `\t` and `\u{HEX}`, from the beginning of a text.
/// Returns the name and the text after it.
///
/// ```
/// let (name, rest) = onnx_ir::read_quoted(r#""a \"b\"\u{41}" = 1"#)?;
/// assert_eq!((name.as_str(), rest), (r#"a "b"A"#, " = 1"));
/// # Ok::<(), onnx_ir::QuotedError>(())
/// ```
///
/// # Errors
///
/// If the text does not begin with a quote, if none ends the name, or if an escape is unknown.
pub fn read_quoted(text: &str) -> Result<(String, &str), QuotedError> {
    let mut reader = Reader { text, at: 0 };
    if reader.next() != Some('"') {
        return Err(QuotedError { message: "expected a name between quotes", offset: 0 });
    }
    let mut name = String::new();
    loop {
        match reader.next().ok_or_else(|| reader.error("a quoted name does not end"))? {
            '"' => return Ok((name, reader.rest())),
            '\\' => name.push(reader.escape()?),
            c => name.push(c),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at = self.at.saturating_add(c.len_utf8());
        Some(c)
    }

    const fn error(&self, message: &'static str) -> QuotedError {
        QuotedError { message, offset: self.at }
    }

    fn escape(&mut self) -> Result<char, QuotedError> {
        match self.next() {
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some(c @ ('"' | '\\')) => Ok(c),
            Some('u') => {
                let code = self.rest().strip_prefix('{').and_then(|rest| {
                    // At most six digits, so that the end of a brace is not looked for in a long text.
                    let end = rest.bytes().take(7).position(|byte| byte == b'}')?;
                    rest.get(..end)
                });
                let found = code
                    .and_then(|hex| Some((hex.len(), char::from_u32(u32::from_str_radix(hex, 16).ok()?)?)));
                let (len, c) = found.ok_or_else(|| self.error("expected `\\u{HEX}`"))?;
                self.at = self.at.saturating_add(len).saturating_add(2);
                Ok(c)
            }
            _ => Err(self.error("unknown escape in a quoted name")),
        }
    }
}
