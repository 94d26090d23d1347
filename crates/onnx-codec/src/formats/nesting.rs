//! Bounding the depth of a text before a recursive parser sees it.

use super::{FormatError, MAX_NESTING, TextPosition};

/// Checks that no message of a protobuf text stands inside more than [`MAX_NESTING`] - 1 others.
pub(super) fn check(text: &str) -> Result<(), FormatError> {
    let mut depth: u32 = 1;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'{' | b'<' => depth = depth.saturating_add(1),
            b'}' | b'>' => depth = depth.saturating_sub(1),
            b'#' => skip(&mut bytes, b'\n', false),
            b'"' | b'\'' => skip(&mut bytes, byte, true),
            _ => {}
        }
        if depth > MAX_NESTING {
            let message = format!("messages nest more than {MAX_NESTING} deep");
            return Err(FormatError::Syntax { position: TextPosition::of(text, at), message });
        }
    }
    Ok(())
}

/// Skips to the end of a comment or string. An unfinished string ends with its line, where the parser will complain.
fn skip(bytes: &mut impl Iterator<Item = (usize, u8)>, end: u8, escapes: bool) {
    while let Some((_, byte)) = bytes.next() {
        if byte == end || byte == b'\n' {
            return;
        }
        if escapes && byte == b'\\' {
            bytes.next();
        }
    }
}
