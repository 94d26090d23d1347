//! Defects of tensors.

use super::external::{DataError, ExternalFault};
use crate::elem::ElemType;

/// One defect of a tensor.
///
/// The variants down to [`TensorFault::External`] are *structural*: [`Tensor::faults`] finds them without reading an
/// element. The others are about the *content* and found by [`Tensor::content_faults`], which reads all of it.
///
/// [`Tensor::faults`]: super::Tensor::faults
/// [`Tensor::content_faults`]: super::Tensor::content_faults
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorFault {
    /// `data_type` is absent or 0.
    #[error("tensor has no element type")]
    NoType,
    /// No element type has this number.
    #[error("{code} is not the number of an element type")]
    UnknownType {
        /// `data_type` as written.
        code: i32,
    },
    /// A dimension is negative.
    #[error("dimension {axis} is {dim}, but must not be negative")]
    NegativeDim {
        /// The position of the dimension, from 0.
        axis: usize,
        /// Its size.
        dim: i64,
    },
    /// The number of elements exceeds 2⁶³ - 1, or that of their bytes 2⁶⁴ - 1.
    #[error("dimensions multiply to more elements than 64 bits can count")]
    TooManyElements,
    /// The tensor has elements, but no field holds them.
    #[error("tensor has {elements} elements, but no data")]
    NoData {
        /// The number of elements that the dimensions imply.
        elements: u64,
    },
    /// The field cannot hold elements of this type.
    #[error("`{field}` cannot hold elements of type {elem}")]
    WrongField {
        /// The field that holds data.
        field: &'static str,
        /// The element type.
        elem: ElemType,
    },
    /// The data have another number of bytes than dimensions and type imply.
    #[error("`{field}` must have {expected} bytes, but has {found}")]
    WrongLength {
        /// The field that holds the data.
        field: &'static str,
        /// The number of bytes implied.
        expected: u64,
        /// The number of bytes found.
        found: u64,
    },
    /// A typed field has another number of entries than dimensions and type imply.
    #[error("`{field}` must have {expected} entries, but has {found}")]
    WrongCount {
        /// The field that holds the data.
        field: &'static str,
        /// The number of entries implied: twice the elements for complex numbers, half or a quarter of them, rounded up,
        /// for 4- and 2-bit types.
        expected: u64,
        /// The number of entries found.
        found: u64,
    },
    /// The entries of `external_data` are wrong.
    #[error(transparent)]
    External(#[from] ExternalFault),
    /// An entry of a typed field is too large or too small for the element type.
    #[error("entry {index} of `{field}` is {value}, which is not a valid {elem}")]
    OutOfRange {
        /// The field that holds the data.
        field: &'static str,
        /// The position of the entry in the field, from 0.
        index: u64,
        /// The entry.
        value: i128,
        /// The element type.
        elem: ElemType,
    },
    /// A byte of a Boolean tensor is neither 0 nor 1.
    #[error("element {index} is {value}, but a bool is 0 or 1")]
    NotBool {
        /// The position of the element, from 0.
        index: u64,
        /// The byte.
        value: u8,
    },
    /// The last byte of packed elements has bits set that belong to no element.
    #[error("the last byte of the packed elements is {byte:#04x}, but its padding bits must be zero")]
    Padding {
        /// The last byte.
        byte: u8,
    },
    /// A string is not UTF-8.
    #[error("string {index} is not UTF-8 from its byte {valid_up_to} on")]
    NotUtf8 {
        /// The position of the string, from 0.
        index: u64,
        /// The number of good bytes before the first bad one.
        valid_up_to: usize,
    },
}

/// Why elements cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The tensor is invalid.
    #[error(transparent)]
    Fault(#[from] TensorFault),
    /// External data cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The elements were left out of the text that the tensor was read from.
    #[error("the elements of the tensor were left out of the text that it was read from")]
    Elided,
    /// The elements have another type than they were asked for as.
    #[error("tensor holds {found} elements, not {wanted}")]
    WrongType {
        /// The requested type: the name of a type or of a class of types.
        wanted: &'static str,
        /// The element type.
        found: ElemType,
    },
    /// The elements would take more memory than the reader allows.
    #[error("tensor has {size} {unit}, more than the {limit} allowed here")]
    TooLarge {
        /// The size of the elements.
        size: u64,
        /// The most that is allowed.
        limit: u64,
        /// The counted unit: `bytes` or `elements`.
        unit: &'static str,
    },
    /// The system has no memory for elements.
    #[error("the system has no memory for {bytes} bytes")]
    Memory {
        /// The bytes that were requested.
        bytes: u64,
    },
    /// An unsigned 64-bit element is too large to be read as a signed one.
    #[error("element {index} is {value}, which does not fit into a signed 64-bit integer")]
    NotI64 {
        /// The position of the element, from 0.
        index: u64,
        /// The element.
        value: u64,
    },
}

impl TensorError {
    /// The limit that was exceeded, if that is the reason, as [`Limits`](crate::Limits) names it;
    /// [`MEMORY`](crate::Limits::MEMORY) if the system has no memory.
    #[must_use]
    pub const fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Data(error) => error.limit(),
            Self::Memory { .. } => Some(crate::Limits::MEMORY),
            _ => None,
        }
    }
}
