//! Errors in protobuf bytes, with their location.

use std::fmt;

/// The reason why bytes could not be read as protobuf, the offset, and the enclosing messages.
///
/// One word in size, so that results are cheap in the absence of errors.
#[derive(Debug)]
pub struct WireError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: WireErrorKind,
    offset: usize,
    /// Innermost first, because segments are added while the error propagates to the caller.
    path: Vec<PathSegment>,
}

/// One step of the path from the top-level message to an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathSegment {
    /// The name of the field, as in the `.proto` file.
    pub field: &'static str,
    /// The position among the values of a repeated field, counted from 0.
    pub index: Option<usize>,
}

impl fmt::Display for PathSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field)?;
        self.index.map_or(Ok(()), |index| write!(f, "[{index}]"))
    }
}

/// The kind of error at the offset of a [`WireError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireErrorKind {
    /// The enclosing message or the input ends before the value does.
    Truncated {
        /// Number of bytes that the value needs from the offset on.
        needed: u64,
        /// Number of remaining bytes of the enclosing message.
        left: u64,
    },
    /// A varint continues past its tenth byte.
    VarintTooLong,
    /// A tag continues past its fifth byte, or its field number is over 2^29-1.
    TagTooLarge,
    /// A tag has field number 0.
    FieldNumberZero,
    /// A tag has wire type 6 or 7, which mean nothing.
    WireType(u8),
    /// A group ends that did not begin.
    UnmatchedEndGroup {
        /// The field number of the end tag.
        number: u32,
    },
    /// The enclosing message ends inside a group.
    GroupNotClosed {
        /// The field number of the innermost group that is open.
        number: u32,
    },
    /// The length of a packed field is not a multiple of the width of its elements.
    PackedLength {
        /// The length in bytes.
        length: u64,
        /// The width of one element in bytes.
        width: u8,
    },
    /// A string is not UTF-8.
    Utf8,
    /// A message has a field that its type does not have, so it is of another type. Only readers of messages whose type their
    /// bytes do not tell are so strict.
    ForeignField {
        /// The field number.
        number: u32,
    },
    /// The bytes can be of messages of several types.
    Ambiguous,
    /// A bound is exceeded, of [`WireLimits`](super::WireLimits) or of the limits of the caller.
    Limit {
        /// The name of the field that holds the bound.
        name: &'static str,
        /// The bound.
        limit: u64,
        /// The value in the input; for nesting this is the first depth that was rejected.
        wanted: u64,
    },
    /// The system refuses the memory that what was read takes.
    Memory {
        /// About how many bytes.
        bytes: u64,
    },
    /// The reader of the messages was stopped here, for a reason that has nothing to do with the input.
    Stopped,
}

impl fmt::Display for WireErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { needed, left } => {
                write!(f, "{needed} bytes are needed and {left} are left: the data is cut off or damaged")
            }
            Self::VarintTooLong => f.write_str("a varint is longer than 10 bytes"),
            Self::TagTooLarge => f.write_str("a field number is over 536870911 or its tag over 5 bytes long"),
            Self::FieldNumberZero => f.write_str("a field has number 0"),
            Self::WireType(wire_type) => write!(f, "a field has wire type {wire_type}, which does not exist"),
            Self::UnmatchedEndGroup { number } => write!(f, "group {number} ends but was not open"),
            Self::GroupNotClosed { number } => write!(f, "group {number} is not closed"),
            Self::PackedLength { length, width } => {
                write!(f, "a packed field of {width}-byte elements has a length of {length} bytes")
            }
            Self::Utf8 => f.write_str("a string is not UTF-8"),
            Self::ForeignField { number } => {
                write!(f, "field {number} is not one of this message: it is a message of another type")
            }
            Self::Ambiguous => {
                f.write_str("the type of the message cannot be decided: it states no type of its elements")
            }
            Self::Memory { bytes } => {
                write!(f, "about {bytes} bytes of memory are needed, which the system refuses")
            }
            Self::Stopped => f.write_str("the reading was stopped"),
            Self::Limit { name, limit, wanted } => {
                write!(f, "{wanted} exceeds the limit of {limit}: raise the limit `{name}` to accept it")
            }
        }
    }
}

impl WireError {
    /// An error at byte `offset` of the input.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn new(kind: WireErrorKind, offset: usize) -> Self {
        Self(Box::new(Inner { kind, offset, path: Vec::new() }))
    }

    /// The kind of error.
    #[must_use]
    pub fn kind(&self) -> WireErrorKind {
        self.0.kind
    }

    /// The offset from the start of the input of the tag, length or value that is wrong, in bytes.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// The fields from the top-level message to the place of the error, outermost first.
    pub fn path(&self) -> impl Iterator<Item = PathSegment> + '_ {
        self.0.path.iter().rev().copied()
    }

    /// Adds to the path that the error is inside the singular field `field` of the enclosing message.
    #[cold]
    #[must_use]
    pub fn in_field(mut self, field: &'static str) -> Self {
        self.0.path.push(PathSegment { field, index: None });
        self
    }

    /// Adds to the path that the error is inside value number `index` of the repeated field `field` of the enclosing
    /// message.
    #[cold]
    #[must_use]
    pub fn in_item(mut self, field: &'static str, index: usize) -> Self {
        self.0.path.push(PathSegment { field, index: Some(index) });
        self
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}", self.0.offset)?;
        let mut before = " in `";
        for segment in self.path() {
            write!(f, "{before}{segment}")?;
            before = ".";
        }
        f.write_str(if self.0.path.is_empty() { ": " } else { "`: " })?;
        self.0.kind.fmt(f)
    }
}

impl std::error::Error for WireError {}
