//! The tokens of ONNX text, as far as colours and the places of comments need them. What a token means is for `onnx_text`
//! to say.

use std::ops::Range;

use onnx_types::ElemType;

use crate::output::{DIM, GOOD, HEADING, KEY, WARN};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Number,
    String,
    Comment,
    /// A single character of another kind.
    Mark,
}

/// A token, and the bytes of the text it takes.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
}

/// The tokens of a text; between them is white space.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = Token> + '_ {
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
            '#' => (Kind::Comment, length(|c| c != '\n')),
            '"' => (Kind::String, string_length(rest)),
            c if c.is_ascii_alphabetic() || c == '_' => (Kind::Word, length(is_word)),
            c if c.is_ascii_digit() || (c == '-' && next.is_some_and(|c| c.is_ascii_digit())) => {
                (Kind::Number, number_length(rest))
            }
            c => (Kind::Mark, c.len_utf8()),
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
            b'"' => return at + 1,
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

/// The text with colours.
pub(crate) fn coloured(text: &str) -> String {
    let mut painted = String::with_capacity(text.len().saturating_mul(2));
    let mut done = 0;
    let mut before = "";
    for Token { kind, range } in tokens(text) {
        let word = text.get(range.clone()).unwrap_or_default();
        let style = match kind {
            Kind::Comment => Some(DIM),
            Kind::String => Some(GOOD),
            Kind::Number => Some(WARN.effects(anstyle::Effects::new())),
            Kind::Word if is_type(word) => Some(KEY),
            // The operator of a node, and the last part of its domain.
            Kind::Word
                if matches!(before, "=" | ".") && word.starts_with(|c: char| c.is_ascii_uppercase()) =>
            {
                Some(HEADING)
            }
            Kind::Word | Kind::Mark => None,
        };
        painted.push_str(text.get(done..range.start).unwrap_or_default());
        done = range.end;
        match style {
            Some(style) => painted.push_str(&format!("{style}{word}{style:#}")),
            None => painted.push_str(word),
        }
        before = word;
    }
    painted.push_str(text.get(done..).unwrap_or_default());
    painted
}

fn is_type(word: &str) -> bool {
    matches!(word, "seq" | "optional" | "map" | "sparse_tensor" | "opaque")
        || ElemType::from_name(word).is_some()
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

    #[test]
    fn colours_change_nothing_else() {
        let text = "<ir_version: 10>\ng (float[2] x) => (y) # c\n{\n   y = Relu (x)\n}\n";
        let painted = coloured(text);
        assert_eq!(anstream::adapter::strip_str(&painted).to_string(), text);
        assert!(painted.contains("\u{1b}["));
    }
}
