//! Writing: fields in order, lengths filled in afterwards, large payloads by reference.

use bytes::Bytes;

/// From this length on, a payload is kept by reference instead of copied, and a message is not moved to make room
/// for its length. Below it, a copy costs less than one more segment.
const SEGMENT_FROM: usize = 4096;

/// Gathers a message, field by field, in the order in which the fields shall appear.
///
/// Messages inside messages are written with [`message`](Self::message), or with [`begin`](Self::begin) and
/// [`end`](Self::end) where closures do not fit. Every number is written in its shortest form.
///
/// The length of a message precedes its content but is known only afterwards. One byte is reserved for it; if a longer
/// one is needed, short content moves up by a byte, and for long content the other bytes of the length become a
/// separate segment. So no message is measured twice, and long content is never moved.
///
/// Field numbers are those of the caller's own messages, in 1 to 2^29-1; fields with numbers from outside are copied
/// with [`raw`](Self::raw).
///
/// ```
/// use onnx_proto::field;
/// use onnx_proto::wire::Writer;
///
/// let mut writer = Writer::new();
/// writer.int64(field::model::IR_VERSION, 10);
/// writer.message(field::model::GRAPH, |graph| graph.string(field::graph::NAME, "main"));
/// assert_eq!(writer.finish().to_vec(), b"\x08\x0a\x3a\x06\x12\x04main");
/// ```
#[derive(Debug, Default)]
pub struct Writer {
    buf: Vec<u8>,
    /// The segments between the bytes of `buf`.
    inserts: Vec<Insert>,
    /// The length of all inserts.
    inserted: u64,
}

#[derive(Debug)]
struct Insert {
    /// The position in `buf` before which it belongs.
    at: usize,
    what: Inserted,
}

#[derive(Debug)]
enum Inserted {
    /// The bytes of this length after its first.
    Length(u64),
    Payload(Bytes),
}

/// A message that was begun and must be [ended](Writer::end).
#[derive(Debug)]
#[must_use = "the message has no length until it is ended"]
pub struct Mark {
    /// The position in `buf` of the byte kept free.
    at: usize,
    /// The length of everything before the content.
    before: u64,
}

impl Writer {
    /// A writer of an empty message.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A writer of an empty message with capacity for `bytes` bytes, not counting large payloads.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self { buf: Vec::with_capacity(bytes), ..Self::default() }
    }

    /// The length of what is written so far, in bytes. It is too small by up to 9 for every message not ended.
    #[must_use]
    pub fn len(&self) -> u64 {
        (self.buf.len() as u64).saturating_add(self.inserted)
    }

    /// Whether nothing is written so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes an `int64` field.
    #[inline]
    pub fn int64(&mut self, number: u32, value: i64) {
        self.uint64(number, value.cast_unsigned());
    }

    /// Writes an `int32` or enum field.
    #[inline]
    pub fn int32(&mut self, number: u32, value: i32) {
        self.int64(number, i64::from(value));
    }

    /// Writes a `uint64` field, or any varint.
    #[inline]
    pub fn uint64(&mut self, number: u32, value: u64) {
        self.tag_and_varint(number, 0, value);
    }

    /// Writes a `float` field.
    #[inline]
    pub fn float(&mut self, number: u32, value: f32) {
        self.tag(number, 5);
        self.buf.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes a `double` field.
    #[inline]
    pub fn double(&mut self, number: u32, value: f64) {
        self.tag(number, 1);
        self.buf.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes a `string` field.
    #[inline]
    pub fn string(&mut self, number: u32, value: &str) {
        self.slice(number, value.as_bytes());
    }

    /// Writes a `bytes` field by copying.
    #[inline]
    pub fn slice(&mut self, number: u32, value: &[u8]) {
        self.tag_and_varint(number, 2, value.len() as u64);
        self.buf.extend_from_slice(value);
    }

    /// Writes a `bytes` field; large ones are shared, not copied.
    #[inline]
    pub fn bytes(&mut self, number: u32, value: &Bytes) {
        self.tag_and_varint(number, 2, value.len() as u64);
        self.raw(value);
    }

    /// Writes bytes as they are, such as whole records of unknown fields; large ones are shared, not copied.
    #[inline]
    pub fn raw(&mut self, records: &Bytes) {
        if records.len() < SEGMENT_FROM {
            self.buf.extend_from_slice(records);
        } else {
            self.insert(self.buf.len(), Inserted::Payload(records.clone()), records.len() as u64);
        }
    }

    /// Writes bytes as they are by copying, such as a part of the content of a field that was [begun](Self::begin).
    #[inline]
    pub fn raw_slice(&mut self, bytes: &[u8]) {
        self.buf.extend_from_slice(bytes);
    }

    /// Writes a varint without a tag, such as an element of a packed field that was [begun](Self::begin).
    #[inline]
    pub fn raw_varint(&mut self, value: u64) {
        self.varint(value);
    }

    /// Writes a packed field of `int64`.
    pub fn packed_int64(&mut self, number: u32, values: impl IntoIterator<Item = i64>) {
        self.packed_uint64(number, values.into_iter().map(i64::cast_unsigned));
    }

    /// Writes a packed field of `int32` or enum numbers.
    pub fn packed_int32(&mut self, number: u32, values: impl IntoIterator<Item = i32>) {
        self.packed_uint64(number, values.into_iter().map(|value| i64::from(value).cast_unsigned()));
    }

    /// Writes a packed field of `uint64`, or of any varints.
    pub fn packed_uint64(&mut self, number: u32, values: impl IntoIterator<Item = u64>) {
        self.message(number, |writer| values.into_iter().for_each(|value| writer.varint(value)));
    }

    /// Writes a packed field of `float`.
    pub fn packed_float(&mut self, number: u32, values: impl IntoIterator<Item = f32>) {
        self.message(number, |writer| {
            writer.buf.extend(values.into_iter().flat_map(f32::to_le_bytes));
        });
    }

    /// Writes a packed field of `double`.
    pub fn packed_double(&mut self, number: u32, values: impl IntoIterator<Item = f64>) {
        self.message(number, |writer| {
            writer.buf.extend(values.into_iter().flat_map(f64::to_le_bytes));
        });
    }

    /// Writes a message field whose content `content` writes.
    #[inline]
    pub fn message<R>(&mut self, number: u32, content: impl FnOnce(&mut Self) -> R) -> R {
        let mark = self.begin(number);
        let result = content(self);
        self.end(mark);
        result
    }

    /// Begins a message field. What is written from now until the mark is [ended](Self::end) is its content.
    #[inline]
    #[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "a byte was written just before"))]
    pub fn begin(&mut self, number: u32) -> Mark {
        self.tag_and_varint(number, 2, 0);
        Mark { at: self.buf.len() - 1, before: self.len() }
    }

    /// Ends a message field. Messages end in the opposite order of their beginnings.
    ///
    /// # Panics
    /// May panic when the mark is of another writer or out of order.
    #[expect(clippy::needless_pass_by_value, reason = "a mark must not be used twice")]
    #[cfg_attr(
        not(test),
        expect(
            clippy::indexing_slicing,
            clippy::arithmetic_side_effects,
            reason = "the mark was made by this writer, which only grows"
        )
    )]
    #[inline]
    pub fn end(&mut self, mark: Mark) {
        let Mark { at, before } = mark;
        let length = self.len() - before;
        if length < 0x80 {
            self.buf[at] = length as u8;
            return;
        }
        self.buf[at] = length as u8 | 0x80;
        if length < SEGMENT_FROM as u64 {
            // Nothing inside is as long as an insert, so no position of an insert changes.
            self.buf.insert(at + 1, (length >> 7) as u8);
        } else {
            self.insert(at + 1, Inserted::Length(length), varint_len(length) - 1);
        }
    }

    /// The finished message.
    #[must_use]
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "positions and lengths of what is in memory")
    )]
    pub fn finish(self) -> Segments {
        let Self { mut buf, mut inserts, inserted } = self;
        let own = buf.len();
        let len = (own as u64).saturating_add(inserted);
        // Where both meet, the length comes first: it belongs before the content that begins with the payload.
        inserts.sort_by_key(|insert| (insert.at, matches!(insert.what, Inserted::Payload(_))));
        for insert in &inserts {
            if let Inserted::Length(length) = insert.what {
                put_varint(&mut buf, length >> 7);
            }
        }
        let mut tail = own;
        let buf = Bytes::from(buf);
        let mut segments = Segments { segments: Vec::with_capacity(2 * inserts.len() + 1), len };
        let mut done = 0;
        for insert in inserts {
            segments.push(buf.slice(done..insert.at));
            done = insert.at;
            match insert.what {
                Inserted::Payload(payload) => segments.push(payload),
                Inserted::Length(length) => {
                    let end = tail + varint_len(length) as usize - 1;
                    segments.push(buf.slice(tail..end));
                    tail = end;
                }
            }
        }
        segments.push(buf.slice(done..own));
        segments
    }

    /// The finished message in one piece. Unlike [`Segments::into_bytes`], this takes no second copy of a message that was
    /// written without shared payloads: lengths are put in by moving what follows them.
    #[must_use]
    #[cfg_attr(
        not(test),
        expect(
            clippy::indexing_slicing,
            clippy::arithmetic_side_effects,
            reason = "inserts lie in the buffer, and there is room for all of them behind it"
        )
    )]
    pub fn finish_contiguous(self) -> Bytes {
        if self.inserts.iter().any(|insert| matches!(insert.what, Inserted::Payload(_))) {
            return self.finish().into_bytes();
        }
        let Self { mut buf, mut inserts, inserted } = self;
        inserts.sort_by_key(|insert| insert.at);
        let mut from = buf.len();
        let mut to = from + inserted as usize;
        buf.reserve_exact(inserted as usize);
        buf.resize(to, 0);
        // From the end, so that nothing is overwritten before it is moved.
        for insert in inserts.iter().rev() {
            let Inserted::Length(length) = insert.what else { continue };
            buf.copy_within(insert.at..from, to - (from - insert.at));
            to -= from - insert.at;
            from = insert.at;
            let bytes = varint_len(length) as usize - 1;
            to -= bytes;
            let mut rest = length >> 7;
            for byte in &mut buf[to..to + bytes] {
                *byte = rest as u8 | 0x80;
                rest >>= 7;
            }
            buf[to + bytes - 1] &= 0x7f;
        }
        buf.into()
    }

    #[cold]
    fn insert(&mut self, at: usize, what: Inserted, length: u64) {
        self.inserts.push(Insert { at, what });
        self.inserted = self.inserted.saturating_add(length);
    }

    #[inline]
    fn tag(&mut self, number: u32, wire_type: u32) {
        self.varint(u64::from(tag(number, wire_type)));
    }

    #[inline]
    fn tag_and_varint(&mut self, number: u32, wire_type: u32, value: u64) {
        let tag = tag(number, wire_type);
        if tag < 0x80 && value < 0x80 {
            self.buf.extend_from_slice(&[tag as u8, value as u8]);
        } else {
            self.varint(u64::from(tag));
            self.varint(value);
        }
    }

    #[inline]
    fn varint(&mut self, value: u64) {
        put_varint(&mut self.buf, value);
    }
}

#[inline]
fn tag(number: u32, wire_type: u32) -> u32 {
    debug_assert!((1..1 << 29).contains(&number), "field number {number} does not exist");
    number << 3 | wire_type
}

#[inline]
fn put_varint(buf: &mut Vec<u8>, value: u64) {
    if value < 0x80 { buf.push(value as u8) } else { put_long_varint(buf, value) }
}

fn put_long_varint(buf: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        buf.push(value as u8 | 0x80);
        value >>= 7;
    }
    buf.push(value as u8);
}

/// The length of a varint in bytes.
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "a number of 64 bits has at most 64 leading zeros")
)]
fn varint_len(value: u64) -> u64 {
    u64::from((70 - (value | 1).leading_zeros()) / 7)
}

/// A written message, in pieces that follow each other.
///
/// Iterate over it for a vectored write; the pieces are never empty.
#[derive(Clone, Default)]
pub struct Segments {
    segments: Vec<Bytes>,
    len: u64,
}

/// Numbers instead of the contents, which may be the weights of a model.
impl std::fmt::Debug for Segments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segments").field("segments", &self.segments.len()).field("len", &self.len).finish()
    }
}

impl Segments {
    fn push(&mut self, segment: Bytes) {
        if !segment.is_empty() {
            self.segments.push(segment);
        }
    }

    /// The length of all pieces together, in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the message is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pieces, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Bytes> {
        self.segments.iter()
    }

    /// The pieces, copied together.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.segments.concat()
    }

    /// The message in one piece, which copies only when there are several.
    #[must_use]
    pub fn into_bytes(mut self) -> Bytes {
        if self.segments.len() > 1 { self.to_vec().into() } else { self.segments.pop().unwrap_or_default() }
    }
}

impl IntoIterator for Segments {
    type Item = Bytes;
    type IntoIter = std::vec::IntoIter<Bytes>;

    fn into_iter(self) -> Self::IntoIter {
        self.segments.into_iter()
    }
}

impl<'a> IntoIterator for &'a Segments {
    type Item = &'a Bytes;
    type IntoIter = std::slice::Iter<'a, Bytes>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
