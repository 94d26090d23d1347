//! Text that shares the bytes it was read from.

use std::fmt;
use std::ops::Deref;

use bytes::Bytes;

use crate::raw_text::holds_raw_bytes;

/// UTF-8 text over shared [`Bytes`]: cloning it copies no characters.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text(Bytes);

impl Text {
    /// The empty text.
    #[must_use]
    pub const fn new() -> Self {
        Self(Bytes::new())
    }

    /// The text that `bytes` hold.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not UTF-8.
    pub fn from_utf8(bytes: Bytes) -> Result<Self, std::str::Utf8Error> {
        std::str::from_utf8(&bytes)?;
        Ok(Self(bytes))
    }

    /// The text that `bytes` hold, if they are UTF-8 and the text is held as it is: see [`raw_text`](crate::raw_text).
    #[must_use]
    pub fn from_verbatim(bytes: Bytes) -> Option<Self> {
        // Nearly all texts are ASCII, which is quickly seen and says both.
        let is_plain =
            is_ascii(&bytes) || std::str::from_utf8(&bytes).is_ok_and(|text| !holds_raw_bytes(text));
        is_plain.then_some(Self(bytes))
    }

    /// The text as a string slice.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // The constructors checked the bytes. The crate forbids unsafe code, so they are checked again here. Strings of
        // this type are rarely read (metadata, tensor names, external data entries), so the cost is negligible.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The bytes of the text.
    #[must_use]
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }
}

/// Returns `true` if all bytes are ASCII. Strings of files have some tens of bytes, and the standard library checks the
/// bytes that do not fill a vector one by one; this loads the last eight bytes together, which may overlap the previous
/// chunk.
fn is_ascii(bytes: &[u8]) -> bool {
    let Some(&last) = bytes.last_chunk() else { return bytes.is_ascii() };
    let (chunks, _) = bytes.as_chunks();
    let bits = chunks.iter().fold(u64::from_ne_bytes(last), |bits, &chunk| bits | u64::from_ne_bytes(chunk));
    bits & 0x8080_8080_8080_8080 == 0
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Bytes::from(text))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(Bytes::copy_from_slice(text.as_bytes()))
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::is_ascii;

    #[test]
    fn a_byte_that_is_not_ascii_is_seen_wherever_it_stands() {
        for length in 0..80 {
            let mut bytes = vec![0x7f; length];
            assert!(is_ascii(&bytes), "{length} bytes");
            for position in 0..length {
                bytes[position] = 0x80;
                assert!(!is_ascii(&bytes), "byte {position} of {length}");
                bytes[position] = 0;
            }
        }
    }
}
