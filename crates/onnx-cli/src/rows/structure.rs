//! Reads the structure of a model without its weights.
//!
//! The result has the size of the source, with holes that are the elements of large tensors. The decoder reads it like the model
//! itself, so that what it reports is the same, and nothing that happens to the source meanwhile ends the process, as it would
//! if a file were mapped and became shorter.

use bytes::Bytes;
use onnx_codec::file::SparseFile;
use onnx_types::{Interrupt, Stopped};

use super::ranges::{ReadError, ReadRanges};

/// The most bytes that are read of a source. Other tools read at most twice as many, weights included.
const MAX_STRUCTURE: u64 = 1 << 30;
/// Elements of fewer bytes are read, because inference follows those of small tensors: 256 elements of at most 16 bytes.
pub(super) const SMALL_ELEMENTS: u64 = 4096;
/// A file with more fields has few weights for its size, and is read as it is.
const MAX_FIELDS: u32 = 100_000_000;
/// How much of a message is read behind a defect in it.
const AFTER_DEFECT: u64 = 1 << 16;
/// The most bytes of the key and the length of a field.
const HEAD: usize = 20;

/// How a source is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// Up to this size, everything is read at once.
    pub(super) whole: u64,
    /// With how much reading begins at the start and behind weights, where often other weights follow.
    pub(super) first: u64,
    /// The most that is read at once.
    pub(super) most: u64,
}

impl Blocks {
    /// Those of a file.
    pub(super) const FILE: Self = Self { whole: 1 << 20, first: 1 << 14, most: 1 << 18 };
    /// Those of an object of a store, a request to which takes as long as the transfer of about a megabyte.
    pub(super) const OBJECT: Self = Self { whole: 4 << 20, first: 1 << 16, most: 4 << 20 };
}

/// Why the structure is missing.
pub(super) enum Missing {
    Read(ReadError),
    /// More of the source than this is not weights.
    Limit(u64),
    Stopped,
}

impl From<ReadError> for Missing {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<Stopped> for Missing {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// Reads everything but the elements of tensors of more than `small` bytes. Returns how many bytes were read as well. See
/// [`SparseFile::into_bytes`] for `beyond_limit`.
pub(super) fn read(
    source: &mut dyn ReadRanges,
    (blocks, small): (Blocks, u64),
    (interrupt, beyond_limit): (&Interrupt, bool),
) -> Result<(Bytes, u64), Missing> {
    let size = source.size();
    let blocks = if size <= blocks.whole { Blocks { first: size, most: size, ..blocks } } else { blocks };
    let mut copy = Copy {
        size,
        out: if size <= blocks.whole { Out::Memory(Bytes::new()) } else { Out::Sparse(sparse(size)?) },
        blocks,
        block: blocks.first,
        window: Bytes::new(),
        start: 0,
        end: 0,
        source,
        interrupt,
        bytes_read: 0,
    };
    copy.fill(small)?;
    let Copy { out, source, bytes_read, .. } = copy;
    source.finish()?;
    let bytes = match out {
        Out::Memory(bytes) => bytes,
        Out::Sparse(file) => file.into_bytes(beyond_limit).map_err(ReadError::from)?,
    };
    Ok((bytes, bytes_read))
}

fn sparse(size: u64) -> Result<SparseFile, ReadError> {
    SparseFile::new(size, &std::env::temp_dir()).map_err(ReadError::from)
}

/// Where bytes go.
enum Out {
    /// All bytes are read at once.
    Memory(Bytes),
    Sparse(SparseFile),
}

/// Reads blocks of a source in ascending order, and keeps the last one.
struct Copy<'a> {
    source: &'a mut dyn ReadRanges,
    interrupt: &'a Interrupt,
    size: u64,
    out: Out,
    blocks: Blocks,
    /// The size of the next block. Reading continues in blocks that become larger.
    block: u64,
    /// Bytes of the source, and the range that they are of.
    window: Bytes,
    start: u64,
    end: u64,
    bytes_read: u64,
}

impl Copy<'_> {
    fn fill(&mut self, small: u64) -> Result<(), Missing> {
        self.move_to(0)?;
        if self.size <= self.blocks.whole || is_text(self.window.get(..4096).unwrap_or(&self.window)) {
            return self.up_to(self.size);
        }
        if self.walk(small)? { Ok(()) } else { self.up_to(self.size) }
    }

    fn read(&mut self, start: u64) -> Result<Bytes, Missing> {
        self.interrupt.check()?;
        if self.bytes_read >= MAX_STRUCTURE {
            return Err(Missing::Limit(MAX_STRUCTURE));
        }
        let end = start.saturating_add(self.block).min(self.size);
        self.block = self.block.saturating_mul(2).min(self.blocks.most);
        let data = self.source.read(start, end)?;
        if data.len() as u64 != end - start {
            return Err(ReadError::changed(self.size, (start, end), data.len()).into());
        }
        self.bytes_read += data.len() as u64;
        match &mut self.out {
            Out::Memory(all) => *all = data.clone(),
            Out::Sparse(file) => file.write(start, &data).map_err(ReadError::from)?,
        }
        Ok(data)
    }

    /// Makes the window begin at `at`, and contain the key and the length of a field unless the source ends before.
    fn move_to(&mut self, at: u64) -> Result<(), Missing> {
        if at <= self.end {
            self.window = self.window.slice(self.offset(at)..);
        } else {
            (self.window, self.end, self.block) = (Bytes::new(), at, self.blocks.first);
        }
        self.start = at;
        while self.window.len() < HEAD && self.end < self.size {
            let next = self.read(self.end)?;
            self.window = match self.window.len() {
                0 => next,
                _ => [self.window.as_ref(), next.as_ref()].concat().into(),
            };
            self.end = at + self.window.len() as u64;
        }
        Ok(())
    }

    /// Reads everything between the end of the window and `end`.
    fn up_to(&mut self, end: u64) -> Result<(), Missing> {
        while self.end < end {
            let next = self.read(self.end)?;
            self.start = self.end;
            self.end += next.len() as u64;
            self.window = next;
        }
        Ok(())
    }

    /// The index of a byte of the source in the window.
    fn offset(&self, at: u64) -> usize {
        usize::try_from(at.saturating_sub(self.start)).unwrap_or(usize::MAX).min(self.window.len())
    }

    /// Reads a binary model without the elements of its tensors of more than `small` bytes. Returns `false` if it has more
    /// fields than are read one by one, and the rest is read as it is.
    fn walk(&mut self, small: u64) -> Result<bool, Missing> {
        let mut place =
            Place { at: 0, end: self.size, message: Message::Model, groups: 0, outer: Vec::new() };
        for _ in 0..MAX_FIELDS {
            while place.at == place.end && place.groups == 0 {
                if !place.leave() {
                    return Ok(true);
                }
            }
            let at = place.at;
            if at.saturating_add(HEAD as u64) > self.end && (self.end < self.size || at >= self.end) {
                self.move_to(at)?;
            }
            let head = self.window.get(self.offset(at)..).unwrap_or_default();
            match Field::of(head).and_then(|field| place.pass(&field, small)) {
                Some(Passed::Read) if place.at > self.end => self.up_to(place.at)?,
                Some(_) => {}
                // What is behind a defect of the outermost message is not decoded. Another one may be found first: the messages
                // around it are.
                None => {
                    self.up_to(place.end.min(at.saturating_add(AFTER_DEFECT)).min(self.size))?;
                    if place.outer.is_empty() {
                        return Ok(true);
                    }
                    (place.at, place.groups) = (place.end, 0);
                }
            }
        }
        Ok(false)
    }
}

/// Where a walk is.
struct Place {
    at: u64,
    /// The end of the innermost message.
    end: u64,
    message: Message,
    /// The groups that are open in it, which no model has.
    groups: u32,
    /// The ends and kinds of the messages around it.
    outer: Vec<(u64, Message)>,
}

/// What became of a field.
enum Passed {
    /// It is read.
    Read,
    /// It is a message that is entered, or has weights, which are not read.
    Skipped,
}

impl Place {
    /// Leaves the innermost message; `false` if it is the outermost one.
    fn leave(&mut self) -> bool {
        match self.outer.pop() {
            Some(outer) => (self.end, self.message) = outer,
            None => return false,
        }
        true
    }

    /// Moves behind a field, or to the contents of a message; `None` if that is not possible in the innermost message.
    fn pass(&mut self, field: &Field, small: u64) -> Option<Passed> {
        let start = self.at.checked_add(field.skipped)?;
        let mut passed = Passed::Read;
        let mut end = start;
        match field.wire {
            0 => {}
            1 => end = start.checked_add(8)?,
            5 => end = start.checked_add(4)?,
            2 => {
                end = start.checked_add(field.length).filter(|end| *end <= self.end)?;
                let inside =
                    (field.length > small && self.groups == 0).then(|| self.message.field(field.number));
                match inside.flatten() {
                    Some(Inside::Message(message)) => {
                        self.outer.push((self.end, self.message));
                        (self.at, self.end, self.message) = (start, end, message);
                        return Some(Passed::Skipped);
                    }
                    Some(Inside::Weights) => passed = Passed::Skipped,
                    None => {}
                }
            }
            3 => self.groups = self.groups.checked_add(1)?,
            4 => self.groups = self.groups.checked_sub(1)?,
            _ => return None,
        }
        if end > self.end {
            return None;
        }
        self.at = end;
        Some(passed)
    }
}

/// The beginning of a field.
struct Field {
    number: u64,
    wire: u64,
    /// Of a field that has one.
    length: u64,
    /// The bytes of the key, and of the length or the integer behind it.
    skipped: u64,
}

impl Field {
    fn of(head: &[u8]) -> Option<Self> {
        let (key, mut skipped) = varint(head)?;
        // No field has the number 0.
        if key >> 3 == 0 {
            return None;
        }
        let mut length = 0;
        if matches!(key & 7, 0 | 2) {
            let (value, after) = varint(head.get(skipped..)?)?;
            (length, skipped) = (value, skipped + after);
        }
        Some(Self { number: key >> 3, wire: key & 7, length, skipped: skipped as u64 })
    }
}

/// An integer of variable length, and its number of bytes.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 127).checked_shl(u32::try_from(7 * index).ok()?)?;
        if byte < 128 {
            return Some((value, index + 1));
        }
    }
    None
}

/// The messages that contain weights.
#[derive(Clone, Copy)]
enum Message {
    Model,
    Training,
    Function,
    Graph,
    Node,
    Attribute,
    Tensor,
}

/// What a field of a message contains.
enum Inside {
    Message(Message),
    Weights,
}

impl Message {
    /// What a field with weights contains. Sparse tensors are not among them, because the checker reads their indices.
    const fn field(self, number: u64) -> Option<Inside> {
        Some(Inside::Message(match (self, number) {
            (Self::Model, 7) | (Self::Training, 1 | 2) | (Self::Attribute, 6 | 11) => Self::Graph,
            (Self::Model, 20) => Self::Training,
            (Self::Model, 25) => Self::Function,
            (Self::Function, 7) | (Self::Graph, 1) => Self::Node,
            (Self::Function, 11) | (Self::Node, 5) => Self::Attribute,
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) => Self::Tensor,
            // `float_data`, `raw_data` and `double_data`. The number of elements of the other fields depends on their bytes.
            (Self::Tensor, 4 | 9 | 10) => return Some(Inside::Weights),
            _ => return None,
        }))
    }
}

/// Whether a file may be text: no control characters at its beginning. A binary model has some.
fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().any(|byte| *byte < 32 && !b"\t\n\r".contains(byte))
}
