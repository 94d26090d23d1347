//! Reading: a cursor over the fields of one message.

use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use super::packed::{Fixed32s, Fixed64s, Varints};
use super::{WireError, WireErrorKind, WireLimits};

/// The bytes of a top-level message and the limits on reading them.
#[derive(Debug)]
pub struct Input {
    bytes: Bytes,
    limits: WireLimits,
    non_minimal: AtomicUsize,
}

impl Input {
    /// Creates the input from the bytes of a whole message.
    ///
    /// # Errors
    /// Returns an error if there are more than [`WireLimits::input_bytes`] of them.
    pub fn new(bytes: Bytes, limits: WireLimits) -> Result<Self, WireError> {
        let wanted = bytes.len() as u64;
        if wanted > limits.input_bytes {
            let kind = WireErrorKind::Limit { name: "input_bytes", limit: limits.input_bytes, wanted };
            return Err(WireError::new(kind, 0));
        }
        Ok(Self { bytes, limits, non_minimal: AtomicUsize::new(0) })
    }

    /// A reader of the top-level message.
    #[must_use]
    pub fn reader(&self) -> Reader<'_> {
        Reader {
            rest: &self.bytes,
            end: self.bytes.len(),
            depth_left: self.limits.message_depth,
            input: self,
        }
    }

    /// All bytes as the content of a field, for readers of fields: the message that they hold counts as nested once.
    #[must_use]
    pub fn whole(&self) -> Payload<'_> {
        Payload { bytes: &self.bytes, offset: 0 }
    }

    /// The bytes of the top-level message.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The limits that hold for every reader of this input.
    #[must_use]
    pub fn limits(&self) -> &WireLimits {
        &self.limits
    }

    /// A piece of the input that shares its memory, or `None` when the range (of offsets in bytes) is not inside.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Option<Bytes> {
        (range.start <= range.end && range.end <= self.bytes.len()).then(|| self.bytes.slice(range))
    }

    /// The payload as owned bytes, without a copy.
    ///
    /// A payload of another input is copied.
    #[must_use]
    pub fn share(&self, payload: Payload<'_>) -> Bytes {
        let range = payload.offset..payload.end();
        match self.bytes.get(range.clone()) {
            Some(own) if std::ptr::eq(own, payload.bytes) => self.bytes.slice(range),
            _ => Bytes::copy_from_slice(payload.bytes),
        }
    }

    /// Number of values read so far that a canonical writer would encode differently:
    /// varints (tags and lengths among them) with more bytes than needed, and 32-bit numbers with excess upper bits.
    ///
    /// As long as this does not change while a message is read,
    /// writing the same fields in the same order and form gives the same bytes.
    #[must_use]
    pub fn non_minimal(&self) -> usize {
        self.non_minimal.load(Ordering::Relaxed)
    }

    #[cold]
    pub(super) fn note_non_minimal(&self) {
        self.non_minimal.fetch_add(1, Ordering::Relaxed);
    }
}

/// The content of a length-delimited field or group: a piece of the input that knows where it is.
#[derive(Debug, Clone, Copy)]
pub struct Payload<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Payload<'a> {
    /// The bytes, for as long as the input lives.
    #[inline]
    #[must_use]
    pub fn as_slice(self) -> &'a [u8] {
        self.bytes
    }

    /// The offset of the first byte from the start of the input, in bytes.
    #[inline]
    #[must_use]
    pub fn offset(self) -> usize {
        self.offset
    }

    /// The offset just after the last byte from the start of the input, in bytes.
    #[inline]
    #[must_use]
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "a payload lies in its input, which is in memory")
    )]
    pub fn end(self) -> usize {
        self.offset + self.bytes.len()
    }
}

impl Deref for Payload<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

/// One field of a message.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    /// The field number, in 1 to 2^29-1.
    pub number: u32,
    /// The offset of the tag from the start of the input, in bytes.
    pub start: usize,
    /// The offset just after the value from the start of the input, in bytes.
    pub end: usize,
    /// The value, as far as the wire format determines it.
    pub value: Value<'a>,
}

impl Field<'_> {
    /// The whole record, from tag to end of value, for [`Input::slice`].
    #[inline]
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// The value of a field by wire type.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// An `int32`, `int64`, `uint64`, `bool` or enum, …
    Varint(u64),
    /// A `double`, `fixed64` or `sfixed64`.
    Fixed64(u64),
    /// A `float`, `fixed32` or `sfixed32`.
    Fixed32(u32),
    /// A message, `string`, `bytes` or packed repeated field.
    Len(Payload<'a>),
    /// The fields of a group, without its end tag. ONNX has no groups, so this belongs to an unknown field.
    Group(Payload<'a>),
}

/// A cursor over the fields of one message.
///
/// It does not recurse: to read a message inside a field, make another reader with [`Reader::message`].
/// It allocates nothing, save 4 bytes for each level of groups inside an unknown group while it is skipped.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    /// The bytes of this message that are still to be read.
    rest: &'a [u8],
    /// The offset of the end of this message in the input.
    end: usize,
    /// Number of further levels of messages and groups that may be entered.
    depth_left: u32,
    input: &'a Input,
}

impl<'a> Reader<'a> {
    /// Reads one field, or `None` at the end of the message.
    ///
    /// # Errors
    /// Returns an error if the bytes are not protobuf. The reader is then of no further use.
    #[inline]
    pub fn next_field(&mut self) -> Result<Option<Field<'a>>, WireError> {
        let start = self.offset();
        // Each branch creates the field separately, so that it stays in registers.
        if let Some((number, payload)) = self.next_short_len() {
            return Ok(Some(Field { number, start, end: self.offset(), value: Value::Len(payload) }));
        }
        if let [tag @ 8..0x80, value @ 0..0x80, ref rest @ ..] = *self.rest
            && tag & 7 == 0
        {
            self.rest = rest;
            let value = Value::Varint(u64::from(value));
            return Ok(Some(Field { number: u32::from(tag >> 3), start, end: self.offset(), value }));
        }
        self.next_other()
    }

    /// Reads one field of any kind.
    #[inline(never)]
    fn next_other(&mut self) -> Result<Option<Field<'a>>, WireError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let start = self.offset();
        let tag = self.tag()?;
        let value = match tag & 7 {
            2 => Value::Len(self.len_payload()?),
            0 => Value::Varint(self.varint()?),
            _ => self.rare_value(tag, start)?,
        };
        Ok(Some(Field { number: tag >> 3, start, end: self.offset(), value }))
    }

    /// Reads one field if it is length-delimited, with a tag of one byte and a length of one or two, as most fields of ONNX
    /// messages are. Returns `None` for other fields and at the end of the message, without consuming anything;
    /// [`next_field`](Self::next_field) distinguishes the two.
    #[inline(always)]
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "what is left of a message is no longer than the message, and that ends at `end`"
        )
    )]
    pub fn next_short_len(&mut self) -> Option<(u32, Payload<'a>)> {
        let (tag, length, rest) = match *self.rest {
            [tag @ 8..0x80, length @ 0..0x80, ref rest @ ..] => (tag, usize::from(length), rest),
            // A second byte of 0 would be a longer form than needed, which is for the other method to note.
            [tag @ 8..0x80, low @ 0x80..=0xff, high @ 1..0x80, ref rest @ ..] => {
                (tag, usize::from(low & 0x7f) | usize::from(high) << 7, rest)
            }
            _ => return None,
        };
        let (bytes, after) = rest.split_at_checked(length).filter(|_| tag & 7 == 2)?;
        let payload = Payload { bytes, offset: self.end - rest.len() };
        self.rest = after;
        Some((u32::from(tag >> 3), payload))
    }

    /// A reader of the part of this message that begins at an offset from the start of the input; an empty reader if
    /// the offset is not in the remaining part.
    #[inline]
    #[must_use]
    pub fn starting_at(&self, offset: usize) -> Self {
        let skipped = offset.checked_sub(self.offset());
        Self {
            rest: skipped.and_then(|skipped| self.rest.get(skipped..)).unwrap_or_default(),
            ..self.clone()
        }
    }

    /// A reader of the message in a field of this message.
    ///
    /// # Errors
    /// Returns an error if messages are nested deeper than [`WireLimits::message_depth`].
    #[inline]
    pub fn message(&self, payload: Payload<'a>) -> Result<Self, WireError> {
        let Some(depth_left) = self.depth_left.checked_sub(1) else {
            return Err(self.too_deep(payload.offset));
        };
        Ok(Self { rest: payload.bytes, end: payload.end(), depth_left, input: self.input })
    }

    /// The text of a `string` field.
    ///
    /// # Errors
    /// Returns an error if it is not UTF-8 (the offset is that of the first wrong byte) or longer than
    /// [`WireLimits::string_bytes`].
    #[inline]
    pub fn string(&self, payload: Payload<'a>) -> Result<&'a str, WireError> {
        if payload.bytes.len() as u64 > self.input.limits.string_bytes {
            return Err(self.string_too_long(payload));
        }
        std::str::from_utf8(payload.bytes).map_err(|error| {
            WireError::new(WireErrorKind::Utf8, payload.offset.saturating_add(error.valid_up_to()))
        })
    }

    /// The value of an `int32` or enum field: as in every protobuf reader, only the lower half of the varint counts.
    #[inline]
    #[must_use]
    pub fn int32(&self, varint: u64) -> i32 {
        int32(self.input, varint)
    }

    /// The elements of a packed field of varints.
    #[inline]
    #[must_use]
    pub fn packed_varints(&self, payload: Payload<'a>) -> Varints<'a> {
        Varints::new(Self { rest: payload.bytes, end: payload.end(), ..*self })
    }

    /// The elements of a packed field of `fixed32` or `float`.
    ///
    /// # Errors
    /// Returns an error if the length is not a multiple of 4.
    #[inline]
    pub fn packed_fixed32(&self, payload: Payload<'a>) -> Result<Fixed32s<'a>, WireError> {
        Fixed32s::new(payload)
    }

    /// The elements of a packed field of `fixed64` or `double`.
    ///
    /// # Errors
    /// Returns an error if the length is not a multiple of 8.
    #[inline]
    pub fn packed_fixed64(&self, payload: Payload<'a>) -> Result<Fixed64s<'a>, WireError> {
        Fixed64s::new(payload)
    }

    /// The payload as owned bytes, without a copy.
    #[inline]
    #[must_use]
    pub fn share(&self, payload: Payload<'a>) -> Bytes {
        self.input.share(payload)
    }

    /// The whole record of a field this reader gave, tag included, without a copy; to keep unknown fields.
    ///
    /// It is empty when the caller has changed the field to one outside of the input.
    #[must_use]
    pub fn raw_record(&self, field: &Field<'a>) -> Bytes {
        self.input.slice(field.range()).unwrap_or_default()
    }

    /// The input that this reader is a cursor of.
    #[inline]
    #[must_use]
    pub fn input(&self) -> &'a Input {
        self.input
    }

    /// The offset of the next byte to read from the start of the input, in bytes.
    #[inline]
    #[must_use]
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "what is left of a message is no longer than the message, and that ends at `end`"
        )
    )]
    pub fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    /// Number of remaining bytes of the message: an upper bound for the size of its content.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The bytes of the message that are still to be read.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline(always)]
    fn tag(&mut self) -> Result<u32, WireError> {
        match *self.rest {
            [byte @ 8..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(u32::from(byte))
            }
            _ => self.long_tag(),
        }
    }

    /// A tag of two to five bytes (five is where protobuf's own readers stop), or one with field number 0.
    #[inline(never)]
    fn long_tag(&mut self) -> Result<u32, WireError> {
        let (start, before) = (self.offset(), self.rest.len());
        let tag = self.varint()?;
        match u32::try_from(tag) {
            Ok(0..8) => Err(WireError::new(WireErrorKind::FieldNumberZero, start)),
            Ok(tag) if before.saturating_sub(self.rest.len()) <= 5 => Ok(tag),
            _ => Err(WireError::new(WireErrorKind::TagTooLarge, start)),
        }
    }

    #[inline(always)]
    pub(super) fn varint(&mut self) -> Result<u64, WireError> {
        match *self.rest {
            [byte @ 0..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    /// A varint of up to ten bytes, seven bits each. A tenth byte has six bits more than fit into 64; they are dropped, as by the
    /// readers of protobuf.
    #[inline(never)]
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "there are at most ten bytes of seven bits")
    )]
    fn long_varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0_u64;
        for (index, &byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (index * 7);
            if byte < 0x80 {
                // The last byte adds nothing, or bits that are lost.
                if (byte == 0 && index > 0) || (index == 9 && byte > 1) {
                    self.input.note_non_minimal();
                }
                self.rest = self.rest.get(index + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        if self.rest.len() < 10 {
            return Err(self.truncated(self.rest.len() as u64 + 1));
        }
        Err(WireError::new(WireErrorKind::VarintTooLong, self.offset()))
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else {
            return Err(self.truncated(N as u64));
        };
        self.rest = rest;
        Ok(*bytes)
    }

    #[inline(always)]
    fn len_payload(&mut self) -> Result<Payload<'a>, WireError> {
        let length = self.varint()?;
        // On a machine with small addresses a length that does not fit is longer than any input.
        let wanted = usize::try_from(length).unwrap_or(usize::MAX);
        let Some((bytes, rest)) = self.rest.split_at_checked(wanted) else {
            return Err(self.truncated(length));
        };
        let payload = Payload { bytes, offset: self.offset() };
        self.rest = rest;
        Ok(payload)
    }

    /// The value after the tag at offset `start`, for the wire types that are rare in ONNX, and the wrong ones.
    #[inline(never)]
    fn rare_value(&mut self, tag: u32, start: usize) -> Result<Value<'a>, WireError> {
        match tag & 7 {
            1 => Ok(Value::Fixed64(u64::from_le_bytes(self.array()?))),
            5 => Ok(Value::Fixed32(u32::from_le_bytes(self.array()?))),
            3 => Ok(Value::Group(self.group(tag >> 3)?)),
            _ => Err(wrong_tag(tag, start)),
        }
    }

    /// Skips to the end of the group whose start tag was just read, and the groups inside, without recursion.
    #[cold]
    fn group(&mut self, number: u32) -> Result<Payload<'a>, WireError> {
        let (content, offset) = (self.rest, self.offset());
        let mut innermost = number;
        let mut outer = Vec::new();
        loop {
            if outer.len() as u64 >= u64::from(self.depth_left) {
                return Err(self.too_deep(self.offset()));
            }
            let (before, start) = (self.rest, self.offset());
            if before.is_empty() {
                return Err(WireError::new(WireErrorKind::GroupNotClosed { number: innermost }, start));
            }
            let tag = self.tag()?;
            match tag & 7 {
                0 => drop(self.varint()?),
                1 => drop(self.array::<8>()?),
                2 => drop(self.len_payload()?),
                5 => drop(self.array::<4>()?),
                3 => outer.push(std::mem::replace(&mut innermost, tag >> 3)),
                4 if tag >> 3 == innermost => match outer.pop() {
                    Some(number) => innermost = number,
                    None => {
                        let length = content.len().saturating_sub(before.len());
                        return Ok(Payload { bytes: content.get(..length).unwrap_or_default(), offset });
                    }
                },
                _ => return Err(wrong_tag(tag, start)),
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn truncated(&self, needed: u64) -> WireError {
        WireError::new(WireErrorKind::Truncated { needed, left: self.remaining() as u64 }, self.offset())
    }

    #[cold]
    #[inline(never)]
    fn too_deep(&self, offset: usize) -> WireError {
        let limit = u64::from(self.input.limits.message_depth);
        WireError::new(WireErrorKind::Limit { name: "message_depth", limit, wanted: limit + 1 }, offset)
    }

    #[cold]
    #[inline(never)]
    fn string_too_long(&self, payload: Payload<'_>) -> WireError {
        let (limit, wanted) = (self.input.limits.string_bytes, payload.bytes.len() as u64);
        WireError::new(WireErrorKind::Limit { name: "string_bytes", limit, wanted }, payload.offset)
    }
}

#[inline]
pub(super) fn int32(input: &Input, varint: u64) -> i32 {
    let value = varint as i32;
    if i64::from(value).cast_unsigned() != varint {
        input.note_non_minimal();
    }
    value
}

#[cold]
fn wrong_tag(tag: u32, offset: usize) -> WireError {
    let kind = match tag & 7 {
        4 => WireErrorKind::UnmatchedEndGroup { number: tag >> 3 },
        wire_type => WireErrorKind::WireType(wire_type as u8),
    };
    WireError::new(kind, offset)
}
