//! The elements of packed repeated fields.

use super::reader::int32;
use super::{Payload, Reader, WireError, WireErrorKind};

/// The elements of a packed field of varints. After an error there are no more.
#[derive(Debug, Clone)]
pub struct Varints<'a> {
    reader: Reader<'a>,
    failed: bool,
}

impl<'a> Varints<'a> {
    pub(super) fn new(reader: Reader<'a>) -> Self {
        Self { reader, failed: false }
    }

    /// The elements as `int32` or enum numbers: only the lower half of each varint counts.
    pub fn int32(self) -> impl Iterator<Item = Result<i32, WireError>> + 'a {
        let input = self.reader.input();
        self.map(move |item| item.map(|varint| int32(input, varint)))
    }

    /// The elements as `int64` numbers.
    pub fn int64(self) -> impl Iterator<Item = Result<i64, WireError>> + 'a {
        self.map(|item| item.map(u64::cast_signed))
    }

    /// Number of remaining elements, counted without decoding them; too low if the last one is truncated.
    #[must_use]
    pub fn count_elements(&self) -> usize {
        self.reader.rest().iter().filter(|&&byte| byte < 0x80).count()
    }
}

impl Iterator for Varints<'_> {
    type Item = Result<u64, WireError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.reader.remaining() == 0 {
            return None;
        }
        let item = self.reader.varint();
        self.failed = item.is_err();
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // A varint has 1 to 10 bytes; the first that is wrong ends the iteration.
        let left = if self.failed { 0 } else { self.reader.remaining() };
        (usize::from(left > 0), Some(left))
    }
}

macro_rules! fixed {
    ($name:ident, $int:ident, $float:ident, $width:literal, $floats:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Debug, Clone)]
        pub struct $name<'a>(std::slice::Iter<'a, [u8; $width]>);

        impl<'a> $name<'a> {
            pub(super) fn new(payload: Payload<'a>) -> Result<Self, WireError> {
                let (elements, rest) = payload.as_slice().as_chunks();
                if rest.is_empty() {
                    return Ok(Self(elements.iter()));
                }
                let kind = WireErrorKind::PackedLength { length: payload.len() as u64, width: $width };
                Err(WireError::new(kind, payload.offset()))
            }

            /// The elements as floating-point numbers.
            pub fn $floats(self) -> impl ExactSizeIterator<Item = $float> + 'a {
                self.map($float::from_bits)
            }
        }

        impl Iterator for $name<'_> {
            type Item = $int;

            #[inline]
            fn next(&mut self) -> Option<$int> {
                self.0.next().map(|bytes| $int::from_le_bytes(*bytes))
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl ExactSizeIterator for $name<'_> {}
    };
}

fixed!(Fixed32s, u32, f32, 4, floats, "The elements of a packed field of `fixed32` or `float`.");
fixed!(Fixed64s, u64, f64, 8, doubles, "The elements of a packed field of `fixed64` or `double`.");
