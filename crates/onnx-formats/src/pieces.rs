//! Reading the wire format from pieces that follow each other.
//!
//! A model that was just encoded is a list of pieces, so that its weights are not copied together; `onnx_proto::wire` reads
//! contiguous bytes only. Positions are counted from the first byte of the first piece.

use onnx_proto::wire::{WireError, WireErrorKind};

/// The bytes of a message.
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    /// None of them is empty.
    pieces: Vec<&'a [u8]>,
    /// The offset of each.
    starts: Vec<u64>,
    len: u64,
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let pieces: Vec<_> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        let mut len = 0_u64;
        let mut starts = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            starts.push(len);
            len = len.saturating_add(piece.len() as u64);
        }
        Self { pieces, starts, len }
    }

    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn start(&self) -> Cursor<'a, '_> {
        Cursor { rest: self.pieces.first().copied().unwrap_or_default(), offset: 0, next: 1, pieces: self }
    }
}

/// A position in the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a, 'p> {
    /// The remainder of the piece.
    rest: &'a [u8],
    offset: u64,
    /// The number of the piece after this one.
    next: usize,
    pieces: &'p Pieces<'a>,
}

/// A field, with the value as far as the wire format determines it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a, 'p> {
    pub(crate) number: u32,
    pub(crate) value: Value<'a, 'p>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a, 'p> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Len(Span<'a, 'p>),
    Group,
}

/// The content of a length-delimited field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a, 'p> {
    pub(crate) start: Cursor<'a, 'p>,
    pub(crate) end: u64,
}

impl<'a, 'p> Span<'a, 'p> {
    pub(crate) const fn len(&self) -> u64 {
        self.end.saturating_sub(self.start.offset)
    }

    /// The bytes; `copy` is the buffer in which they are joined if they are in several pieces.
    pub(crate) fn contiguous<'b>(mut self, copy: &'b mut Vec<u8>) -> &'b [u8]
    where
        'a: 'b,
    {
        let len = usize::try_from(self.len()).unwrap_or(usize::MAX);
        self.start.refill();
        if let Some(bytes) = self.start.rest.get(..len) {
            return bytes;
        }
        copy.clear();
        while let Some(chunk) = self.next_chunk() {
            copy.extend_from_slice(chunk);
        }
        copy
    }

    /// The next bytes that are in one piece, none at the end.
    pub(crate) fn next_chunk(&mut self) -> Option<&'a [u8]> {
        self.start.refill();
        let most = usize::try_from(self.len()).unwrap_or(usize::MAX).min(self.start.rest.len());
        let chunk = self.start.rest.get(..most).filter(|chunk| !chunk.is_empty())?;
        self.start.skip(most as u64);
        Some(chunk)
    }

    /// The next varint, none at the end.
    #[inline]
    pub(crate) fn next_varint(&mut self) -> Result<Option<u64>, WireError> {
        if self.start.offset >= self.end { Ok(None) } else { self.start.varint(self.end).map(Some) }
    }

    /// The next bytes, none at the end.
    #[inline]
    pub(crate) fn next_array<const N: usize>(&mut self) -> Result<Option<[u8; N]>, WireError> {
        if self.start.offset >= self.end { Ok(None) } else { self.start.array(self.end).map(Some) }
    }

    pub(crate) fn next_record(&mut self, depth_left: u32) -> Result<Option<Record<'a, 'p>>, WireError> {
        self.start.record(self.end, depth_left)
    }
}

impl<'a, 'p> Cursor<'a, 'p> {
    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    /// The next field of a message that ends at `end`.
    pub(crate) fn record(&mut self, end: u64, depth_left: u32) -> Result<Option<Record<'a, 'p>>, WireError> {
        if self.offset >= end {
            return Ok(None);
        }
        let start = self.offset;
        let tag = self.tag(end)?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint(end)?),
            1 => Value::Fixed64(u64::from_le_bytes(self.array(end)?)),
            2 => {
                let len = self.varint(end)?;
                let left = end.saturating_sub(self.offset);
                if len > left {
                    return Err(self.error(WireErrorKind::Truncated { needed: len, left }));
                }
                let span = Span { start: *self, end: self.offset.saturating_add(len) };
                self.skip(len);
                Value::Len(span)
            }
            3 => {
                self.group(tag >> 3, end, depth_left)?;
                Value::Group
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.array(end)?)),
            4 => return Err(error(WireErrorKind::UnmatchedEndGroup { number: tag >> 3 }, start)),
            wire_type => return Err(error(WireErrorKind::WireType(wire_type as u8), start)),
        };
        Ok(Some(Record { number: tag >> 3, value }))
    }

    fn tag(&mut self, end: u64) -> Result<u32, WireError> {
        let start = self.offset;
        let tag = self.varint(end)?;
        match u32::try_from(tag) {
            Ok(0..8) => Err(error(WireErrorKind::FieldNumberZero, start)),
            Ok(tag) if self.offset.saturating_sub(start) <= 5 => Ok(tag),
            _ => Err(error(WireErrorKind::TagTooLarge, start)),
        }
    }

    /// Skips to the end of the group whose start tag was just read, and the groups inside.
    fn group(&mut self, number: u32, end: u64, depth_left: u32) -> Result<(), WireError> {
        let mut innermost = number;
        let mut outer = Vec::new();
        loop {
            if outer.len() as u64 >= u64::from(depth_left) {
                let limit = u64::from(depth_left);
                let wanted = limit.saturating_add(1);
                return Err(self.error(WireErrorKind::Limit { name: "message_depth", limit, wanted }));
            }
            if self.offset >= end {
                return Err(self.error(WireErrorKind::GroupNotClosed { number: innermost }));
            }
            let start = self.offset;
            let tag = self.tag(end)?;
            match tag & 7 {
                0 => drop(self.varint(end)?),
                1 => drop(self.array::<8>(end)?),
                2 => {
                    let len = self.varint(end)?;
                    let left = end.saturating_sub(self.offset);
                    if len > left {
                        return Err(self.error(WireErrorKind::Truncated { needed: len, left }));
                    }
                    self.skip(len);
                }
                5 => drop(self.array::<4>(end)?),
                3 => outer.push(std::mem::replace(&mut innermost, tag >> 3)),
                4 if tag >> 3 == innermost => match outer.pop() {
                    Some(number) => innermost = number,
                    None => return Ok(()),
                },
                4 => return Err(error(WireErrorKind::UnmatchedEndGroup { number: tag >> 3 }, start)),
                wire_type => return Err(error(WireErrorKind::WireType(wire_type as u8), start)),
            }
        }
    }

    /// A varint of any length; bits beyond the 64th are dropped, as protobuf's own readers do.
    #[inline]
    fn varint(&mut self, end: u64) -> Result<u64, WireError> {
        if let [byte @ 0..0x80, rest @ ..] = self.rest
            && self.offset < end
        {
            self.rest = rest;
            self.offset = self.offset.wrapping_add(1);
            return Ok(u64::from(*byte));
        }
        self.long_varint(end)
    }

    fn long_varint(&mut self, end: u64) -> Result<u64, WireError> {
        let start = self.offset;
        let mut value = 0_u64;
        for index in 0..10_u32 {
            if self.offset >= end {
                let left = end.saturating_sub(start);
                return Err(error(WireErrorKind::Truncated { needed: left.saturating_add(1), left }, start));
            }
            let byte = self.byte();
            value |= u64::from(byte & 0x7f).wrapping_shl(index.wrapping_mul(7));
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(error(WireErrorKind::VarintTooLong, start))
    }

    #[inline]
    fn array<const N: usize>(&mut self, end: u64) -> Result<[u8; N], WireError> {
        let left = end.saturating_sub(self.offset);
        if left < N as u64 {
            return Err(self.error(WireErrorKind::Truncated { needed: N as u64, left }));
        }
        if let Some((bytes, rest)) = self.rest.split_first_chunk() {
            self.rest = rest;
            self.offset = self.offset.wrapping_add(N as u64);
            return Ok(*bytes);
        }
        let mut bytes = [0; N];
        bytes.iter_mut().for_each(|byte| *byte = self.byte());
        Ok(bytes)
    }

    /// The next byte, which the caller knows to be there.
    fn byte(&mut self) -> u8 {
        self.refill();
        let Some((&byte, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        self.offset = self.offset.wrapping_add(1);
        byte
    }

    /// Goes to the next piece at the end of one.
    fn refill(&mut self) {
        if self.rest.is_empty()
            && let Some(&piece) = self.pieces.pieces.get(self.next)
        {
            self.rest = piece;
            self.next = self.next.saturating_add(1);
        }
    }

    /// Goes forward, not beyond the end.
    fn skip(&mut self, count: u64) {
        let to = self.offset.saturating_add(count).min(self.pieces.len);
        if let Some(rest) = usize::try_from(count).ok().and_then(|count| self.rest.get(count..)) {
            self.rest = rest;
        } else {
            // The piece in which the position is; at the very end, the last one.
            let next = self.pieces.starts.partition_point(|&start| start <= to);
            let piece = next.saturating_sub(1);
            let inside = to.saturating_sub(self.pieces.starts.get(piece).copied().unwrap_or_default());
            let bytes = self.pieces.pieces.get(piece).copied().unwrap_or_default();
            self.rest = usize::try_from(inside).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
            self.next = next;
        }
        self.offset = to;
    }

    #[cold]
    fn error(&self, kind: WireErrorKind) -> WireError {
        error(kind, self.offset)
    }
}

#[cold]
fn error(kind: WireErrorKind, offset: u64) -> WireError {
    WireError::new(kind, usize::try_from(offset).unwrap_or(usize::MAX))
}
