//! Text that a file does not hold as UTF-8.
//!
//! Protobuf strings should be UTF-8, and some readers do not check. A name with a wrong byte must survive being read and
//! written, so such bytes are held as characters of a private use area, `U+10FE80` to `U+10FEFF` for the bytes `0x80` to
//! `0xFF`, and become the same bytes again on writing. Where a text holds such a character itself, its bytes are held one
//! by one in the same way, so that nothing is mistaken for anything else.

use std::borrow::Cow;

/// The first character that stands for a byte, less `0x80`.
const BASE: u32 = 0x0010_FE00;

/// Whether a character stands for a byte.
const fn stands_for_byte(character: char) -> bool {
    matches!(character as u32, 0x0010_FE80..=0x0010_FEFF)
}

/// Whether a text holds characters that stand for bytes.
#[must_use]
pub fn holds_raw_bytes(text: &str) -> bool {
    // Nearly all names are ASCII, which is a fast test; the first byte of these characters is rare in any other text.
    !text.is_ascii() && text.as_bytes().contains(&0xF4) && text.chars().any(stands_for_byte)
}

/// The text that holds the given bytes: the same where they are UTF-8.
///
/// ```
/// use onnx_types::raw_text::{from_bytes, to_bytes};
///
/// assert_eq!(from_bytes(b"x1"), "x1");
/// let odd = from_bytes(b"x\xff1");
/// assert_eq!(to_bytes(&odd).as_ref(), b"x\xff1");
/// ```
#[must_use]
pub fn from_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !holds_raw_bytes(text)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    let escape = |byte: &u8| char::from_u32(BASE + u32::from(*byte)).unwrap_or(char::REPLACEMENT_CHARACTER);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if stands_for_byte(character) {
                text.extend(character.encode_utf8(&mut [0; 4]).as_bytes().iter().map(escape));
            } else {
                text.push(character);
            }
        }
        text.extend(chunk.invalid().iter().map(escape));
    }
    Cow::Owned(text)
}

/// The bytes that a text holds: the inverse of [`from_bytes`].
#[must_use]
pub fn to_bytes(text: &str) -> Cow<'_, [u8]> {
    if !holds_raw_bytes(text) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        if stands_for_byte(character) {
            // The last eight bits are the byte.
            bytes.push((character as u32 & 0xFF) as u8);
        } else {
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    Cow::Owned(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_character_that_looks_like_a_byte_survives() {
        let text = "a\u{10FE90}b";
        let held = from_bytes(text.as_bytes());
        assert_ne!(held, text);
        assert_eq!(to_bytes(&held).as_ref(), text.as_bytes());
    }

    proptest! {
        #[test]
        fn any_bytes_survive(bytes: Vec<u8>) {
            let held = from_bytes(&bytes);
            let back = to_bytes(&held);
            prop_assert_eq!(back.as_ref(), &bytes[..]);
        }

        #[test]
        fn other_text_is_itself(text: String) {
            prop_assume!(!holds_raw_bytes(&text));
            let held = from_bytes(text.as_bytes());
            prop_assert_eq!(held.as_ref(), text.as_str());
        }
    }
}
