//! The `safetensors` format: a header in JSON, and the elements of tensors without gaps.
//!
//! A file is eight bytes with the length of the header, the header, and the elements. The header names each tensor with its type,
//! its dimensions and its range of bytes. [`parse`] accepts a file only if names are unique, every range has the length that type
//! and dimensions imply, and the ranges cover the elements exactly once; so a file has one meaning and hides nothing.
//! Elements are shared with the bytes that are parsed, and [`layout`] shares them with the tensors.
//!
//! The format has no strings, no `complex128`, and no integers of less than eight bits. Those integers are stored as bytes, and
//! the metadata of the header states their type and dimensions; the other types are refused.
//!
//! The format is implemented here, because it is small, and because the crate `safetensors` keeps all tensors of a file that it
//! writes in memory, opens files, and has neither limits nor shards.

mod dtype;
mod header;
mod index;
mod layout;

pub use index::{Index, parse_index};
pub use layout::{Layout, LayoutOptions, SafetensorsFile, layout};

use bytes::Bytes;
use onnx_types::ElemType;
use onnx_types::tensor::{Tensor, TensorFault};

use self::header::{Entry, Header};

/// Greatest length of a header in bytes, which all readers of the format have.
pub const MAX_HEADER_BYTES: u64 = 100_000_000;

/// The bytes before the header.
const LENGTH_BYTES: usize = 8;

/// The prefix of metadata with the type and the dimensions of a tensor that the format has no type for.
const TYPE_KEY: &str = "onnx.type.";

/// Why a file is not valid, or tensors cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SafetensorsError {
    /// The file ends within the length of the header or the header.
    #[error("the file has {found} bytes, but the header needs {needed}")]
    Truncated {
        /// The bytes that are needed.
        needed: u64,
        /// The bytes of the file.
        found: u64,
    },
    /// The header is longer than any reader accepts.
    #[error("the header has {0} bytes, more than {MAX_HEADER_BYTES}")]
    HeaderTooLarge(u64),
    /// The header is not the JSON of a header: the reason.
    #[error("the header is invalid: {0}")]
    Header(String),
    /// Two tensors have the same name.
    #[error("the name `{}` occurs twice", .0.escape_debug())]
    DuplicateName(String),
    /// A type is not known.
    #[error("tensor `{}` has the unknown type `{}`", name.escape_debug(), dtype.escape_debug())]
    UnknownType {
        /// The name of the tensor.
        name: String,
        /// The type.
        dtype: String,
    },
    /// A range does not have the length that type and dimensions imply.
    #[error("tensor `{}` has {found} bytes, but its type and dimensions imply {}", name.escape_debug(), show(*expected))]
    WrongLength {
        /// The name of the tensor.
        name: String,
        /// The bytes that are implied, if their number fits 64 bits.
        expected: Option<u64>,
        /// The bytes of its range.
        found: u64,
    },
    /// A range ends before it begins.
    #[error("the range of tensor `{}` ends before it begins", .0.escape_debug())]
    NegativeRange(String),
    /// The range of a tensor overlaps that of another one, or bytes between them belong to none.
    #[error("tensor `{}` begins at byte {found} of the elements, where {expected} is expected", name.escape_debug())]
    NotContiguous {
        /// The name of the tensor.
        name: String,
        /// The end of the tensor before it.
        expected: u64,
        /// Its beginning.
        found: u64,
    },
    /// The ranges do not end where the file does.
    #[error("the tensors have {tensors} bytes, and the file has {file}")]
    WrongFileLength {
        /// The bytes of all tensors.
        tensors: u64,
        /// The bytes of the file behind the header.
        file: u64,
    },
    /// A type cannot be stored.
    #[error("tensor `{}` is of type {elem}, which the format cannot store", name.escape_debug())]
    NotStorable {
        /// The name of the tensor.
        name: String,
        /// Its type.
        elem: ElemType,
    },
    /// A name cannot be stored, because the format reserves it.
    #[error("a tensor cannot have the name `{}` in this format", .0.escape_debug())]
    ReservedName(String),
    /// An index names a file that is not in its directory.
    #[error("`{}` is not the name of a file in the directory of the index", .0.escape_debug())]
    NotAFileName(String),
    /// A file does not have a tensor that an index places in it, or a file has a tensor that the index places
    /// elsewhere.
    #[error("the index and the file `{}` do not agree on tensor `{}`", file.escape_debug(), name.escape_debug())]
    NotAsIndexed {
        /// The name of the tensor.
        name: String,
        /// The file.
        file: String,
    },
    /// There are more tensors than a limit allows.
    #[error("there are more tensors than {0}: raise the limit `tensors` to allow it")]
    TooMany(u64),
}

impl SafetensorsError {
    /// The limit that was exceeded, if that is the reason.
    #[must_use]
    pub const fn limit(&self) -> Option<&'static str> {
        match self {
            Self::TooMany(_) => Some("tensors"),
            _ => None,
        }
    }
}

fn show(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "more than 64 bits can count".to_owned(), |bytes| bytes.to_string())
}

/// A file that was parsed.
#[derive(Clone, Debug)]
pub struct Safetensors {
    header: Header,
    data: Bytes,
}

/// Parses a file. Elements are not read.
///
/// # Errors
///
/// Returns an error if the file is not valid, or has more than `max_tensors` tensors.
pub fn parse(file: &Bytes, max_tensors: u64) -> Result<Safetensors, SafetensorsError> {
    let found = file.len() as u64;
    let Some((length, rest)) = file.split_first_chunk::<LENGTH_BYTES>() else {
        return Err(SafetensorsError::Truncated { needed: LENGTH_BYTES as u64, found });
    };
    let length = u64::from_le_bytes(*length);
    if length > MAX_HEADER_BYTES {
        return Err(SafetensorsError::HeaderTooLarge(length));
    }
    let needed = length.saturating_add(LENGTH_BYTES as u64);
    let split = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
    let (text, data) = split.ok_or(SafetensorsError::Truncated { needed, found })?;
    let header = header::parse(text, max_tensors)?;
    header.check(data.len() as u64)?;
    Ok(Safetensors { header, data: file.slice_ref(data) })
}

impl Safetensors {
    /// Number of tensors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.header.entries.len()
    }

    /// Returns `true` if the file has no tensor.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.header.entries.is_empty()
    }

    /// The names of the tensors, in the order of their elements.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.header.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The metadata of the header, in order.
    #[must_use]
    pub fn metadata(&self) -> &[(String, String)] {
        &self.header.metadata
    }

    /// The tensors with their names, in the order of their elements, which they share with the file.
    ///
    /// # Errors
    ///
    /// Returns an error if ONNX does not have the type of a tensor.
    pub fn tensors(&self) -> Result<Vec<(String, Tensor)>, SafetensorsError> {
        self.header.entries.iter().map(|entry| Ok((entry.name.clone(), self.tensor(entry)?))).collect()
    }

    fn tensor(&self, entry: &Entry) -> Result<Tensor, SafetensorsError> {
        let unknown =
            || SafetensorsError::UnknownType { name: entry.name.clone(), dtype: entry.dtype.clone() };
        let bytes = usize::try_from(entry.begin).ok().zip(usize::try_from(entry.end).ok());
        let bytes = bytes.and_then(|(begin, end)| self.data.get(begin..end)).ok_or_else(unknown)?;
        let bytes = self.data.slice_ref(bytes);
        let made = match self.stated_type(entry) {
            Some(stated) => {
                let (elem, dims) = stated.ok_or_else(unknown)?;
                Tensor::from_raw(elem, dims, bytes)
            }
            None => {
                let elem = dtype::elem(&entry.dtype).ok_or_else(unknown)?;
                let dims: Option<Vec<i64>> = entry.dims.iter().map(|&dim| i64::try_from(dim).ok()).collect();
                dims.ok_or(TensorFault::TooManyElements).and_then(|dims| Tensor::from_raw(elem, dims, bytes))
            }
        };
        made.map_err(|_| {
            let found = entry.end.saturating_sub(entry.begin);
            SafetensorsError::WrongLength { name: entry.name.clone(), expected: None, found }
        })
    }

    /// The type and the dimensions that the metadata states of a tensor, if it does.
    fn stated_type(&self, entry: &Entry) -> Option<Option<(ElemType, Vec<i64>)>> {
        let (_, text) = self
            .header
            .metadata
            .iter()
            .find(|(key, _)| key.strip_prefix(TYPE_KEY) == Some(entry.name.as_str()))?;
        Some(dtype::parse_stated(text))
    }
}
