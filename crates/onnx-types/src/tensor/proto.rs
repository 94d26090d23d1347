//! The tensor itself: a `TensorProto`'s content.

use std::fmt;

use bytes::Bytes;
use smallvec::SmallVec;

use super::external::TensorMetadata;
use super::payload::Payload;
use crate::elem::ElemType;
use crate::text::Text;
use crate::unknown::{FieldForms, UnknownFields};

/// The sizes of a tensor's dimensions; stored in place up to four.
pub type TensorDims = SmallVec<[i64; 4]>;

/// A tensor: element type, dimensions and elements, with everything else a `TensorProto` can say.
///
/// It belongs to no model and shares its weights: cloning copies none of them. A tensor may be invalid (a file may say
/// anything); [`Tensor::faults`] returns the defects, and reading reports the same defects instead of guessing.
#[derive(Clone, PartialEq, Eq)]
pub struct Tensor {
    data_type: i32,
    forms: FieldForms,
    layout: TensorLayout,
    dims: TensorDims,
    payload: Payload,
    extra: Option<Box<TensorExtra>>,
}

/// The parts of a `TensorProto` that most tensors do not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorExtra {
    /// `name`. A model keeps the name of an initializer at its value, and this one empty.
    pub name: Text,
    /// `doc_string`.
    pub doc: Text,
    /// `metadata_props`.
    pub metadata: Vec<TensorMetadata>,
    /// `segment`.
    pub segment: Option<TensorSegment>,
    /// The `external_data` entries of a tensor whose `data_location` is not `EXTERNAL`: they mean nothing, but were
    /// written.
    pub unused_external: Vec<TensorMetadata>,
    /// Unknown fields, and data fields in addition to the one that became the payload.
    pub unknown: UnknownFields,
}

/// `TensorProto.Segment`: the place of a piece in a tensor that is stored in pieces. ONNX defines no use of it; it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorSegment {
    /// `begin`.
    pub begin: Option<i64>,
    /// `end`.
    pub end: Option<i64>,
    /// The bytes the segment was decoded from (contents, without tag and length), kept only if an encoder would write
    /// other bytes.
    pub source: Option<Bytes>,
}

/// How a file laid out repeated numbers, where protobuf leaves a choice. The default is the choice of ONNX: unpacked
/// dimensions, packed data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TensorLayout(u8);

impl TensorLayout {
    /// The layout that the ONNX schema prescribes.
    pub const CANONICAL: Self = Self(0);
    /// `dims` was written packed.
    pub const DIMS_PACKED: Self = Self(1);
    /// The typed data field was written unpacked, one record for each entry.
    pub const DATA_UNPACKED: Self = Self(2);

    /// Whether all choices of `other` were made here.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These choices and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Default for Tensor {
    fn default() -> Self {
        Self::from_parts(0, TensorDims::new(), Payload::None)
    }
}

impl Tensor {
    /// A tensor of unchecked parts; for decoders.
    #[must_use]
    pub const fn from_parts(data_type: i32, dims: TensorDims, payload: Payload) -> Self {
        Self {
            data_type,
            forms: FieldForms::CANONICAL,
            layout: TensorLayout::CANONICAL,
            dims,
            payload,
            extra: None,
        }
    }

    /// `data_type` as written, also if no element type has that number.
    #[must_use]
    pub const fn data_type(&self) -> i32 {
        self.data_type
    }

    /// Sets `data_type`.
    pub const fn set_data_type(&mut self, data_type: i32) {
        self.data_type = data_type;
    }

    /// The element type; [`ElemType::Undefined`] if none has the number that was written.
    #[must_use]
    pub fn elem(&self) -> ElemType {
        ElemType::from_code(self.data_type).unwrap_or_default()
    }

    /// The sizes of the dimensions; negative ones only in invalid tensors.
    #[must_use]
    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    /// Sets the sizes of the dimensions and nothing else.
    pub fn set_dims(&mut self, dims: impl IntoIterator<Item = i64>) {
        self.dims = dims.into_iter().collect();
    }

    /// The number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Where the elements are stored.
    #[must_use]
    pub const fn payload(&self) -> &Payload {
        &self.payload
    }

    /// The payload, to be changed in place.
    pub const fn payload_mut(&mut self) -> &mut Payload {
        &mut self.payload
    }

    /// Replaces the payload. The layout of the data goes back to the canonical one.
    pub fn set_payload(&mut self, payload: Payload) {
        self.payload = payload;
        self.layout = TensorLayout(self.layout.0 & !TensorLayout::DATA_UNPACKED.0);
    }

    /// The fields that were written although they hold their default: `data_type` 0, an empty `name` or `doc_string`, a
    /// `data_location` of `DEFAULT`, packed `dims` without an entry. Data fields need no mark: the payload tells an empty
    /// field from an absent one.
    #[must_use]
    pub const fn forms(&self) -> FieldForms {
        self.forms
    }

    /// Sets the fields that an encoder writes although they hold their default.
    pub const fn set_forms(&mut self, forms: FieldForms) {
        self.forms = forms;
    }

    /// The layout of repeated numbers in the file.
    #[must_use]
    pub const fn layout(&self) -> TensorLayout {
        self.layout
    }

    /// Sets how an encoder lays out repeated numbers.
    pub const fn set_layout(&mut self, layout: TensorLayout) {
        self.layout = layout;
    }

    /// The rare parts, if there are any.
    #[must_use]
    pub fn extra(&self) -> Option<&TensorExtra> {
        self.extra.as_deref()
    }

    /// The rare parts, made if there are none.
    pub fn extra_mut(&mut self) -> &mut TensorExtra {
        self.extra.get_or_insert_default()
    }

    /// Replaces the rare parts; those that say nothing take no memory.
    pub fn set_extra(&mut self, extra: TensorExtra) {
        self.extra = (extra != TensorExtra::default()).then(|| Box::new(extra));
    }

    /// `name`; empty if absent.
    #[must_use]
    pub fn name(&self) -> &str {
        self.extra().map_or("", |extra| extra.name.as_str())
    }

    /// Sets `name`.
    pub fn set_name(&mut self, name: impl Into<Text>) {
        let name = name.into();
        if self.extra.is_some() || !name.is_empty() {
            self.extra_mut().name = name;
        }
    }

    /// `doc_string`; empty if absent.
    #[must_use]
    pub fn doc(&self) -> &str {
        self.extra().map_or("", |extra| extra.doc.as_str())
    }

    /// Sets `doc_string`.
    pub fn set_doc(&mut self, doc: impl Into<Text>) {
        let doc = doc.into();
        if self.extra.is_some() || !doc.is_empty() {
            self.extra_mut().doc = doc;
        }
    }

    /// `metadata_props`.
    #[must_use]
    pub fn metadata(&self) -> &[TensorMetadata] {
        self.extra().map_or(&[], |extra| extra.metadata.as_slice())
    }

    /// Returns `true` if the elements are stored in another file.
    #[must_use]
    pub const fn is_external(&self) -> bool {
        matches!(self.payload, Payload::External(_))
    }
}

/// Prints type, dimensions, payload kind and rare parts, never the weights.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ElemType::from_code(self.data_type) {
            Some(elem) => write!(f, "{elem}")?,
            None => write!(f, "data_type={}", self.data_type)?,
        }
        write!(f, "{:?} {:?}", self.dims.as_slice(), self.payload)?;
        match self.extra() {
            Some(extra) => write!(f, " {extra:?}"),
            None => Ok(()),
        }
    }
}
