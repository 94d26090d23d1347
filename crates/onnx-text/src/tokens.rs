//! The tokens of a text, as far as colours and the places of comments need them. What a token means is for the parser to say.

use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenKind {
    /// A name without quotes, a keyword, or the name of a type.
    Word,
    /// A number, with its sign.
    Number,
    /// A string, with its quotes; one without an end goes to the end of the text.
    String,
    /// A comment, up to the end of its line.
    Comment,
    /// A single character of another kind.
    Mark,
}

/// A token, and the bytes of the text it takes.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Its byte range in the text.
    pub range: Range<usize>,
}

/// The tokens of a text; between them is white space.
///
/// Every text has tokens, with or without errors. The parser does not use them: the kind of a number or a word depends
/// on its context. They are for syntax highlighting and for tools that rearrange text.
///
/// ```
/// use onnx_text::{TokenKind, tokens};
///
/// let text = "y = Relu (x)  # rectified";
/// let words = tokens(text).filter(|token| token.kind == TokenKind::Word).map(|token| &text[token.range]);
/// assert!(words.eq(["y", "Relu", "x"]));
/// ```
#[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "places in a text that is in memory"))]
pub fn tokens(text: &str) -> impl Iterator<Item = Token> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let start = at + rest.find(|c: char| !c.is_ascii_whitespace() && c != '\u{b}')?;
        let rest = text.get(start..)?;
        let mut chars = rest.chars();
        let first = chars.next()?;
        let next = chars.next();
        let length = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (kind, length) = match first {
            '#' => (TokenKind::Comment, length(|c| c != '\n')),
            '"' => (TokenKind::String, string_length(rest)),
            c if c.is_ascii_alphabetic() || c == '_' => (TokenKind::Word, length(is_word)),
            c if c.is_ascii_digit() || (c == '-' && next.is_some_and(|c| c.is_ascii_digit())) => {
                (TokenKind::Number, number_length(rest))
            }
            c => (TokenKind::Mark, c.len_utf8()),
        };
        at = start + length;
        Some(Token { kind, range: start..at })
    })
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The length of the string that a text begins with, quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = true;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at.saturating_add(1),
            _ => {}
        }
    }
    text.len()
}

/// The length of the number that a text begins with.
fn number_length(text: &str) -> usize {
    let mut last = '-';
    let end = text.find(|c: char| {
        let is_part = is_word(c) || c == '.' || (matches!(c, '-' | '+') && matches!(last, 'e' | 'E' | '-'));
        last = c;
        !is_part
    });
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_what_the_parser_takes_them_for() {
        let text = "y = com.x.Op <a = -1.5e-3, s = \"a \\\" # b\"> (x)  # end \u{e9}\n{\u{2026}}";
        let found: Vec<_> = tokens(text).map(|token| &text[token.range]).collect();
        let marks = ["y", "=", "com", ".", "x", ".", "Op", "<", "a", "=", "-1.5e-3", ",", "s", "="];
        let rest = ["\"a \\\" # b\"", ">", "(", "x", ")", "# end \u{e9}", "{", "\u{2026}", "}"];
        assert_eq!(found, [&marks[..], &rest[..]].concat());
        for odd in ["\"", "\"\\", "-", "1e+", "#", "\u{b}\r\n"] {
            let _ = tokens(odd).count();
        }
    }
}
