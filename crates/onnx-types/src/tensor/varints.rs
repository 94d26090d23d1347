//! Packed varints, kept as the wire has them.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};

/// The longest varint in bytes.
const MAX_VARINT: usize = 10;

/// A sequence of protobuf varints in their wire form, with the number of them.
///
/// The constructor validates the bytes once, so every value is complete; values are decoded again on each access. The
/// encoding of a value (protobuf allows padding) is preserved.
///
/// ```
/// use onnx_types::tensor::Varints;
///
/// let varints = Varints::from_i64s([3, -1, 300]);
/// assert_eq!(varints.count(), 3);
/// assert_eq!(varints.iter_i64().collect::<Vec<_>>(), [3, -1, 300]);
/// assert!(Varints::new(bytes::Bytes::from_static(&[0x80])).is_err());
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Varints {
    bytes: Bytes,
    count: usize,
}

/// Bytes that are not a sequence of varints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the varint at byte {offset} is cut off or longer than 10 bytes")]
pub struct VarintError {
    /// The offset of the malformed varint from the start of the sequence, in bytes.
    pub offset: usize,
}

impl Varints {
    /// The varints that `bytes` hold, without copying them.
    ///
    /// # Errors
    ///
    /// Returns an error if the last varint is cut off, or one has more than 10 bytes.
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "places in bytes that are in memory, and counts of some; none begins later than here"
        )
    )]
    pub fn new(bytes: Bytes) -> Result<Self, VarintError> {
        let mut count = 0;
        let mut begin = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if byte & 0x80 == 0 {
                count += 1;
                begin = at + 1;
            } else if at - begin + 1 == MAX_VARINT {
                return Err(VarintError { offset: begin });
            }
        }
        if begin != bytes.len() {
            return Err(VarintError { offset: begin });
        }
        Ok(Self { bytes, count })
    }

    /// The shortest encoding of unsigned values.
    #[must_use]
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "every value counted is a byte in memory, or more")
    )]
    pub fn from_u64s(values: impl IntoIterator<Item = u64>) -> Self {
        let mut bytes = BytesMut::new();
        let mut count = 0;
        for mut value in values {
            while value >= 0x80 {
                bytes.put_u8((value & 0x7f) as u8 | 0x80);
                value >>= 7;
            }
            bytes.put_u8(value as u8);
            count += 1;
        }
        Self { bytes: bytes.freeze(), count }
    }

    /// The canonical encoding of signed values: negative ones are sign-extended to 64 bits and take 10 bytes.
    #[must_use]
    pub fn from_i64s(values: impl IntoIterator<Item = i64>) -> Self {
        Self::from_u64s(values.into_iter().map(i64::cast_unsigned))
    }

    /// The canonical encoding of 32-bit signed values, which is that of the same 64-bit values.
    #[must_use]
    pub fn from_i32s(values: impl IntoIterator<Item = i32>) -> Self {
        Self::from_i64s(values.into_iter().map(i64::from))
    }

    /// The number of values.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns `true` if the sequence has no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The wire form.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The values as the 64 bits on the wire.
    #[must_use]
    pub fn iter(&self) -> VarintIter<'_> {
        VarintIter { rest: &self.bytes, left: self.count }
    }

    /// The values read as `int64`.
    pub fn iter_i64(&self) -> impl ExactSizeIterator<Item = i64> + '_ {
        self.iter().map(u64::cast_signed)
    }

    /// The values read as `int32`: protobuf takes the low 32 bits.
    pub fn iter_i32(&self) -> impl ExactSizeIterator<Item = i32> + '_ {
        self.iter().map(|value| (value as u32).cast_signed())
    }
}

impl<'a> IntoIterator for &'a Varints {
    type Item = u64;
    type IntoIter = VarintIter<'a>;

    fn into_iter(self) -> VarintIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Varints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Varints({} values)", self.count)
    }
}

/// Decodes [`Varints`] one by one.
#[derive(Clone, Debug)]
pub struct VarintIter<'a> {
    rest: &'a [u8],
    left: usize,
}

impl Iterator for VarintIter<'_> {
    type Item = u64;

    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "a varint has at most ten bytes, and they are in memory"
        )
    )]
    fn next(&mut self) -> Option<u64> {
        // The constructor admits at most ten bytes, so the shift stays below 64; bits beyond it are dropped, as protobuf
        // drops them.
        let mut value = 0_u64;
        let mut shift = 0_u32;
        for (at, &byte) in self.rest.iter().enumerate() {
            value |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte & 0x80 == 0 {
                self.rest = self.rest.get(at + 1..).unwrap_or_default();
                self.left = self.left.saturating_sub(1);
                return Some(value);
            }
            shift += 7;
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for VarintIter<'_> {}
