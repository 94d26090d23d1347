//! What a file said beyond its meaning: fields nobody knows, and defaults written out.

use bytes::Bytes;

/// Which fields of a message were written although they hold their default.
///
/// Protobuf tells an absent field from one that was written with its default value. The difference means nothing to a
/// reader of models, but a file that is read and written again must not change, so records of the IR keep one mask each:
/// bit *n* stands for field number *n* (ONNX uses numbers below 32).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct FieldMask(pub u32);

impl FieldMask {
    /// No field.
    pub const NONE: Self = Self(0);

    /// Whether field `number` is in the mask.
    #[must_use]
    pub const fn contains(self, number: u32) -> bool {
        number < 32 && self.0 & (1 << number) != 0
    }

    /// Adds field `number`; numbers from 32 on are ignored.
    pub const fn insert(&mut self, number: u32) {
        if number < 32 {
            self.0 |= 1 << number;
        }
    }

    /// Removes field `number`.
    pub const fn remove(&mut self, number: u32) {
        if number < 32 {
            self.0 &= !(1 << number);
        }
    }
}

/// One field kept as it stood in the file because nothing in the IR can hold it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownField {
    /// The field number.
    pub number: u32,
    /// The complete record: tag and contents.
    pub bytes: Bytes,
}

/// The fields of one message that are kept as they stood in the file, in file order.
pub type UnknownFields = Vec<UnknownField>;
