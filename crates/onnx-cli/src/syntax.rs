//! Colours for ONNX text.

use onnx_text::{Token, TokenKind, tokens};
use onnx_types::ElemType;

use crate::output::{DIM, GOOD, HEADING, KEY, WARN};

/// The text with colours.
pub(crate) fn coloured(text: &str) -> String {
    let mut painted = String::with_capacity(text.len().saturating_mul(2));
    let mut done = 0;
    let mut before = "";
    for Token { kind, range } in tokens(text) {
        let word = text.get(range.clone()).unwrap_or_default();
        let style = match kind {
            TokenKind::Comment => Some(DIM),
            TokenKind::String => Some(GOOD),
            TokenKind::Number => Some(WARN.effects(anstyle::Effects::new())),
            TokenKind::Word if is_type(word) => Some(KEY),
            // The operator of a node, and the last part of its domain.
            TokenKind::Word
                if matches!(before, "=" | ".") && word.starts_with(|c: char| c.is_ascii_uppercase()) =>
            {
                Some(HEADING)
            }
            _ => None,
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
    fn colours_change_nothing_else() {
        let text = "<ir_version: 10>\ng (float[2] x) => (y) # c\n{\n   y = Relu (x)\n}\n";
        let painted = coloured(text);
        assert_eq!(anstream::adapter::strip_str(&painted).to_string(), text);
        assert!(painted.contains("\u{1b}["));
    }
}
