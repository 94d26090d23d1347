//! The storage of a tensor's elements.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::external::ExternalData;
use super::varints::Varints;
use crate::elem::Storage;
use crate::text::Text;

/// The field of a `TensorProto` that holds the elements, with its contents as the file has them.
///
/// Nothing is decoded: the variants hold slices of the file. `Raw` to `Uint64s` with empty contents mean "the field was
/// written and is empty", which is not the same file as [`Payload::None`].
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Payload {
    /// No data field is present.
    #[default]
    None,
    /// `raw_data`: little-endian elements, those narrower than a byte packed.
    Raw(Bytes),
    /// `float_data`: the packed little-endian binary32 numbers, in wire form.
    Floats(Bytes),
    /// `double_data`: the packed little-endian binary64 numbers, in wire form.
    Doubles(Bytes),
    /// `int32_data`: the packed varints, in wire form.
    Int32s(Varints),
    /// `int64_data`: the packed varints, in wire form.
    Int64s(Varints),
    /// `uint64_data`: the packed varints, in wire form.
    Uint64s(Varints),
    /// `string_data`: one byte string for each element, UTF-8 in a valid tensor.
    Strings(Arc<[Bytes]>),
    /// `external_data` with `data_location` `EXTERNAL`: the elements are in another file, laid out as in `raw_data`.
    External(ExternalData),
    /// The elements are unknown, because they were left out of the text that the tensor was read from. Reading them is
    /// [`TensorError::Elided`], and no encoder writes such a tensor.
    ///
    /// [`TensorError::Elided`]: super::TensorError::Elided
    Elided(Elided),
    /// One element that fills the whole tensor. Passes make it, files never hold it; it is written as `raw_data`, whose
    /// bytes are generated piece by piece.
    Splat(Splat),
}

impl Payload {
    /// A `string_data` payload.
    #[must_use]
    pub fn strings(strings: Vec<Bytes>) -> Self {
        Self::Strings(Arc::from(strings))
    }

    /// The name of the variant's field in `TensorProto`; `no data` for [`Payload::None`], `splat` for [`Payload::Splat`] and
    /// `elided data` for [`Payload::Elided`].
    #[must_use]
    pub fn field_name(&self) -> &'static str {
        match self {
            Self::None => "no data",
            Self::Raw(_) => "raw_data",
            Self::Floats(_) => "float_data",
            Self::Doubles(_) => "double_data",
            Self::Int32s(_) => "int32_data",
            Self::Int64s(_) => "int64_data",
            Self::Uint64s(_) => "uint64_data",
            Self::Strings(_) => "string_data",
            Self::External(_) => "external_data",
            Self::Splat(_) => "splat",
            Self::Elided(_) => "elided data",
        }
    }

    /// The bytes of weights this payload keeps in memory (shared bytes count in full); external data and splats keep none
    /// worth counting.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        let bytes = match self {
            Self::None | Self::External(_) | Self::Splat(_) | Self::Elided(_) => 0,
            Self::Raw(bytes) | Self::Floats(bytes) | Self::Doubles(bytes) => bytes.len(),
            Self::Int32s(varints) | Self::Int64s(varints) | Self::Uint64s(varints) => varints.bytes().len(),
            Self::Strings(strings) => return strings.iter().map(|text| text.len() as u64).sum(),
        };
        bytes as u64
    }

    /// The typed field this payload is; `None` for raw, external and absent data and for splats.
    #[must_use]
    pub fn storage(&self) -> Option<Storage> {
        Some(match self {
            Self::Floats(_) => Storage::Float,
            Self::Doubles(_) => Storage::Double,
            Self::Int32s(_) => Storage::Int32,
            Self::Int64s(_) => Storage::Int64,
            Self::Uint64s(_) => Storage::Uint64,
            Self::Strings(_) => Storage::String,
            Self::None | Self::Raw(_) | Self::External(_) | Self::Splat(_) | Self::Elided(_) => return None,
        })
    }
}

/// Prints what the payload is and how long it is, never the weights.
impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field_name();
        match self {
            Self::None => f.write_str(field),
            Self::Raw(bytes) | Self::Floats(bytes) | Self::Doubles(bytes) => {
                write!(f, "{field}({} bytes)", bytes.len())
            }
            Self::Int32s(varints) | Self::Int64s(varints) | Self::Uint64s(varints) => {
                write!(f, "{field}({} entries)", varints.count())
            }
            Self::Strings(strings) => write!(f, "{field}({} entries)", strings.len()),
            Self::External(external) => fmt::Debug::fmt(external, f),
            Self::Splat(splat) => fmt::Debug::fmt(splat, f),
            Self::Elided(elided) => fmt::Debug::fmt(elided, f),
        }
    }
}

/// Elements that are unknown: those of a [`Payload::Elided`]. Two of them are equal if they have the same digest, or both none;
/// that does not mean that the elements are equal.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Elided {
    digest: Option<Text>,
}

impl Elided {
    /// Unknown elements, with the digest that the text has of them.
    #[must_use]
    pub const fn new(digest: Option<Text>) -> Self {
        Self { digest }
    }

    /// The digest of the elements, such as `sha256:0f…`, if the text has one.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }
}

/// The one element of a [`Payload::Splat`]: its little-endian bytes, or its code in the low bits of one byte if it is
/// narrower than a byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Splat {
    len: u8,
    bytes: [u8; 16],
}

impl Splat {
    /// The element with these bytes; `None` unless there are 1 to 16 of them.
    #[must_use]
    pub fn new(element: &[u8]) -> Option<Self> {
        let mut bytes = [0; 16];
        if element.is_empty() {
            return None;
        }
        bytes.get_mut(..element.len())?.copy_from_slice(element);
        Some(Self { len: u8::try_from(element.len()).ok()?, bytes })
    }

    /// The bytes of the element.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl fmt::Debug for Splat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "splat({:02x?})", self.bytes())
    }
}
