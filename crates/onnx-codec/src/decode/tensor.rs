//! `TensorProto` and `SparseTensorProto`. Weights are slices of the input.

use bytes::{Bytes, BytesMut};
use onnx_ir::SparseTensor;
use onnx_proto::field::{sparse_tensor, tensor};
use onnx_proto::wire::{Field, Payload, Reader, Value, WireError, WireErrorKind};
use onnx_types::tensor::{
    ExternalData, Payload as Data, Tensor, TensorDims, TensorExtra, TensorLayout, TensorMetadata,
    TensorSegment, Varints,
};
use onnx_types::{Symbol, Text};
use smallvec::SmallVec;

use super::small_messages::{Packed, push_ints};
use super::{Cx, NumberSet, Occurrences, Result, WireForm, len, varint};
use crate::rules;

/// Returns `true` for the fields that hold the elements of a tensor.
const fn is_data(number: u32) -> bool {
    matches!(
        number,
        tensor::FLOAT_DATA
            | tensor::INT32_DATA
            | tensor::STRING_DATA
            | tensor::INT64_DATA
            | tensor::RAW_DATA
            | tensor::DOUBLE_DATA
            | tensor::UINT64_DATA
    )
}

/// Whether a field has the number of a data field and a form that its elements can have.
const fn has_data_form(field: &Field<'_>) -> bool {
    match field.value {
        Value::Len(_) => is_data(field.number),
        Value::Fixed32(_) => field.number == tensor::FLOAT_DATA,
        Value::Fixed64(_) => field.number == tensor::DOUBLE_DATA,
        Value::Varint(_) => {
            matches!(field.number, tensor::INT32_DATA | tensor::INT64_DATA | tensor::UINT64_DATA)
        }
        _ => false,
    }
}

/// A tensor that is being read.
#[derive(Default)]
pub(super) struct TensorParts<'a> {
    data_type: i32,
    dims: TensorDims,
    layout: TensorLayout,
    /// The data field that counts so far, and its content.
    number: u32,
    content: Content,
    strings: Vec<Bytes>,
    /// Whether there are fields with other numbers; they are read when the whole tensor has been scanned.
    mixed: bool,
    several: bool,
    external: Vec<TensorMetadata>,
    is_external: bool,
    name: Text,
    doc: Text,
    metadata: Vec<TensorMetadata>,
    segment: Option<TensorSegment>,
    segments: SmallVec<[Payload<'a>; 1]>,
    form: WireForm,
    /// The offset of the tensor.
    offset: usize,
    occurrences: Occurrences<'a>,
}

/// The bytes of a data field.
#[derive(Default)]
enum Content {
    #[default]
    Empty,
    /// One occurrence, shared with the input.
    Shared(Bytes),
    /// Several occurrences or single elements, joined.
    Joined(BytesMut),
}

impl Content {
    fn push(&mut self, occurrence: &[u8], shared: impl FnOnce() -> Bytes) {
        match self {
            Self::Empty => *self = Self::Shared(shared()),
            Self::Shared(first) => {
                let mut joined = BytesMut::from(&first[..]);
                joined.extend_from_slice(occurrence);
                *self = Self::Joined(joined);
            }
            Self::Joined(joined) => joined.extend_from_slice(occurrence),
        }
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::Empty => Bytes::new(),
            Self::Shared(bytes) => bytes,
            Self::Joined(bytes) => bytes.freeze(),
        }
    }
}

/// A sparse tensor that is being read.
#[derive(Default)]
pub(super) struct SparseParts<'a> {
    values: Option<TensorParts<'a>>,
    indices: Option<TensorParts<'a>>,
    dims: SmallVec<[i64; 4]>,
    form: WireForm,
}

impl<'a> Cx<'a> {
    /// A tensor whose name belongs to the value it initializes.
    pub(super) fn named_tensor(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
    ) -> Result<(Tensor, Symbol)> {
        if let Some((tensor, name)) = self.simple_tensor(reader, payload)? {
            let name = name.map_or(Ok(Symbol::EMPTY), |name| self.name(reader, name))?;
            return Ok((tensor, name));
        }
        let mut parts = TensorParts::default();
        self.tensor_into(reader, payload, &mut parts)?;
        let name = self.model.intern(&std::mem::take(&mut parts.name));
        Ok((self.finish_tensor(parts)?, name))
    }

    /// A sparse tensor whose name belongs to the value it initializes.
    pub(super) fn named_sparse(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
    ) -> Result<(SparseTensor, Symbol)> {
        let mut parts = SparseParts::default();
        self.sparse_into(reader, payload, &mut parts)?;
        let name = parts.values.as_mut().map(|values| std::mem::take(&mut values.name)).unwrap_or_default();
        let name = self.model.intern(&name);
        Ok((self.finish_sparse(parts)?, name))
    }

    /// The fast path: a tensor that consists of dimensions, type, an optional name, and raw data. Returns `None` for others. The
    /// name is returned separately, because the tensor does not contain it.
    pub(super) fn simple_tensor(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
    ) -> Result<Option<(Tensor, Option<Payload<'a>>)>> {
        let mut fields = reader.message(payload)?;
        let (mut dims, mut data_type, mut name) = (TensorDims::new(), 0, None);
        while let Ok(Some(field)) = fields.next_field() {
            match (field.number, field.value) {
                (tensor::DIMS, Value::Varint(dim)) if data_type == 0 => dims.push(dim.cast_signed()),
                (tensor::DATA_TYPE, Value::Varint(code)) if data_type == 0 => data_type = fields.int32(code),
                (tensor::NAME, Value::Len(text)) if name.is_none() && !text.is_empty() => name = Some(text),
                (tensor::RAW_DATA, Value::Len(raw)) if data_type != 0 && fields.remaining() == 0 => {
                    self.count_tensors(1, payload.offset())?;
                    let tensor = Tensor::from_parts(data_type, dims, Data::Raw(fields.share(raw)));
                    return Ok(Some((tensor, name)));
                }
                _ => break,
            }
        }
        Ok(None)
    }

    /// Merges an occurrence of a tensor.
    pub(super) fn tensor_into(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        parts: &mut TensorParts<'a>,
    ) -> Result<()> {
        let mut fields = reader.message(payload)?;
        parts.offset = payload.offset();
        parts.occurrences.push(fields.clone());
        while let Some(field) = fields.next_field()? {
            let taken = if is_data(field.number) {
                parts.data(&fields, &field)?
            } else {
                self.tensor_field(&fields, &field, parts)?
            };
            if !taken {
                self.keep(&mut parts.form.unknown, &field, tensor::is_known(field.number));
            }
        }
        Ok(())
    }

    /// Reads a field without elements; returns `true` if its wire type matches.
    fn tensor_field(
        &mut self,
        reader: &Reader<'a>,
        field: &Field<'a>,
        parts: &mut TensorParts<'a>,
    ) -> Result<bool> {
        match (field.number, len(field.value), varint(field.value)) {
            (tensor::DIMS, ..) => {
                let packed = push_ints(reader, field.value, |dim| parts.dims.push(dim))?;
                if packed == Some(Packed::Yes) {
                    parts.layout = parts.layout.with(TensorLayout::DIMS_PACKED);
                }
                return Ok(packed.is_some());
            }
            (tensor::DATA_TYPE, _, Some(code)) => {
                parts.data_type = reader.int32(code);
                parts.form.note(tensor::DATA_TYPE, parts.data_type == 0);
            }
            (tensor::SEGMENT, Some(segment), _) => self.segment(reader, segment, parts)?,
            (tensor::NAME, Some(text), _) => {
                parts.name = self.text(reader, text)?;
                parts.form.note(tensor::NAME, text.is_empty());
            }
            (tensor::DOC_STRING, Some(text), _) => {
                parts.doc = self.text(reader, text)?;
                parts.form.note(tensor::DOC_STRING, text.is_empty());
            }
            (tensor::EXTERNAL_DATA, Some(entry), _) => {
                parts.external.push(self.tensor_metadata(reader, entry)?)
            }
            (tensor::DATA_LOCATION, _, Some(code)) if matches!(reader.int32(code), 0 | 1) => {
                parts.is_external = reader.int32(code) == 1;
                parts.form.note(tensor::DATA_LOCATION, !parts.is_external);
            }
            (tensor::METADATA_PROPS, Some(entry), _) => {
                parts.metadata.push(self.tensor_metadata(reader, entry)?)
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Scans the elements again, of a tensor that has several data fields, or none that counts because they are in
    /// another file. The non-empty one with the lowest number counts, and the others are kept unchanged.
    #[cold]
    fn choose_data(&mut self, parts: &mut TensorParts<'a>) -> Result<()> {
        let occurrences = std::mem::take(&mut parts.occurrences);
        let (mut present, mut filled) = (NumberSet::default(), NumberSet::default());
        for occurrence in &occurrences {
            let mut fields = occurrence.clone();
            while let Some(field) = fields.next_field()? {
                if has_data_form(&field) {
                    present.insert(field.number);
                    if field.number == tensor::STRING_DATA
                        || !len(field.value).is_some_and(|payload| payload.is_empty())
                    {
                        filled.insert(field.number);
                    } else if field.number == tensor::RAW_DATA {
                        // A singular field: the last one counts.
                        filled.remove(tensor::RAW_DATA);
                    }
                }
            }
        }
        parts.several = !parts.is_external && filled.has_several();
        let chosen = if filled.is_empty() { present } else { filled };
        parts.number = if parts.is_external { 0 } else { chosen.lowest() };
        parts.content = Content::Empty;
        parts.strings.clear();
        let dims_packed = parts.layout.contains(TensorLayout::DIMS_PACKED);
        parts.layout = if dims_packed { TensorLayout::DIMS_PACKED } else { TensorLayout::CANONICAL };
        for occurrence in &occurrences {
            let mut fields = occurrence.clone();
            while let Some(field) = fields.next_field()? {
                if !has_data_form(&field) {
                    continue;
                }
                if field.number == parts.number {
                    parts.data(&fields, &field)?;
                } else {
                    self.keep(&mut parts.form.unknown, &field, false);
                }
            }
        }
        Ok(())
    }

    fn segment(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        parts: &mut TensorParts<'a>,
    ) -> Result<()> {
        let minimal = self.input.non_minimal();
        let segment = parts.segment.get_or_insert_default();
        let mut canonical = segment.begin.is_none() && segment.end.is_none();
        let mut fields = reader.message(payload)?;
        while let Some(field) = fields.next_field()? {
            match (field.number, varint(field.value)) {
                (tensor::segment::BEGIN, Some(value)) => {
                    canonical &= segment.begin.is_none() && segment.end.is_none();
                    segment.begin = Some(value.cast_signed());
                }
                (tensor::segment::END, Some(value)) => {
                    canonical &= segment.end.is_none();
                    segment.end = Some(value.cast_signed());
                }
                _ => canonical = false,
            }
        }
        parts.segments.push(payload);
        if !canonical || minimal != self.input.non_minimal() {
            segment.source = Some(reader.share(payload));
        }
        Ok(())
    }

    pub(super) fn finish_tensor(&mut self, mut parts: TensorParts<'a>) -> Result<Tensor> {
        self.count_tensors(1, parts.offset)?;
        if parts.mixed || (parts.is_external && parts.number != 0) {
            self.choose_data(&mut parts)?;
        }
        if parts.several {
            self.report(&rules::TENSOR_WITH_SEVERAL_DATA_FIELDS, parts.offset, || {
                "a tensor fills more than one data field: the one with the lowest number counts".to_owned()
            });
        }
        if let Some(segment) = parts.segment.as_mut().filter(|_| parts.segments.len() > 1) {
            // Occurrences merge into one message: their fields one after the other.
            let occurrences: Vec<&[u8]> =
                parts.segments.iter().map(|occurrence| occurrence.as_slice()).collect();
            segment.source = Some(occurrences.concat().into());
        }
        let TensorParts { data_type, dims, layout, number, content, strings, external, is_external, .. } =
            parts;
        let (payload, unused_external) = if is_external {
            (Data::External(ExternalData::from_entries(external)), Vec::new())
        } else {
            (data(number, content, strings), external)
        };
        let mut tensor = Tensor::from_parts(data_type, dims, payload);
        tensor.set_layout(layout);
        tensor.set_forms(parts.form.forms);
        tensor.set_extra(TensorExtra {
            name: parts.name,
            doc: parts.doc,
            metadata: parts.metadata,
            segment: parts.segment,
            unused_external,
            unknown: parts.form.unknown,
        });
        Ok(tensor)
    }

    /// Merges an occurrence of a sparse tensor.
    pub(super) fn sparse_into(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        parts: &mut SparseParts<'a>,
    ) -> Result<()> {
        let mut fields = reader.message(payload)?;
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (sparse_tensor::VALUES, Some(values)) => self
                    .tensor_into(&fields, values, parts.values.get_or_insert_default())
                    .map_err(|error| error.in_field("values"))?,
                (sparse_tensor::INDICES, Some(indices)) => self
                    .tensor_into(&fields, indices, parts.indices.get_or_insert_default())
                    .map_err(|error| error.in_field("indices"))?,
                (sparse_tensor::DIMS, _) => {
                    self.integers(&fields, &field, &mut parts.form, |dim| parts.dims.push(dim))?;
                }
                (number, _) => self.keep(&mut parts.form.unknown, &field, sparse_tensor::is_known(number)),
            }
        }
        Ok(())
    }

    pub(super) fn finish_sparse(&mut self, parts: SparseParts<'a>) -> Result<SparseTensor> {
        // The record has room for both of its tensors, which are counted for themselves.
        let missing =
            usize::from(parts.values.is_none()).saturating_add(usize::from(parts.indices.is_none()));
        self.count_tensors(missing, 0)?;
        let WireForm { forms, unknown } = parts.form;
        Ok(SparseTensor {
            values: parts.values.map(|values| self.finish_tensor(values)).transpose()?,
            indices: parts.indices.map(|indices| self.finish_tensor(indices)).transpose()?,
            dims: parts.dims,
            forms,
            unknown,
        })
    }
}

impl<'a> TensorParts<'a> {
    /// Reads a field with elements; returns `true` if its wire type matches.
    fn data(&mut self, reader: &Reader<'a>, field: &Field<'a>) -> Result<bool> {
        if !has_data_form(field) {
            return Ok(false);
        }
        let packed = match field.value {
            Value::Len(packed) if !matches!(field.number, tensor::STRING_DATA | tensor::RAW_DATA) => {
                check_packed(reader, field.number, packed)?;
                Some(packed)
            }
            _ => None,
        };
        if self.number == 0 {
            self.number = field.number;
        }
        if self.number != field.number {
            self.mixed = true;
            return Ok(true);
        }
        match (field.number, field.value) {
            (tensor::STRING_DATA, Value::Len(text)) => self.strings.push(reader.share(text)),
            // A singular field: the last one counts.
            (tensor::RAW_DATA, Value::Len(raw)) => self.content = Content::Shared(reader.share(raw)),
            (_, Value::Fixed32(bits)) => self.element(&bits.to_le_bytes()),
            (_, Value::Fixed64(bits)) => self.element(&bits.to_le_bytes()),
            (_, Value::Varint(value)) => self.element(Varints::from_u64s([value]).bytes()),
            _ => {}
        }
        if let Some(packed) = packed {
            self.content.push(&packed, || reader.share(packed));
        }
        Ok(true)
    }

    /// Adds one element of a field that is written unpacked.
    fn element(&mut self, bytes: &[u8]) {
        if matches!(self.content, Content::Empty) {
            self.layout = self.layout.with(TensorLayout::DATA_UNPACKED);
            self.content = Content::Joined(BytesMut::new());
        }
        self.content.push(bytes, || Bytes::copy_from_slice(bytes));
    }
}

/// The payload that a data field's content is.
fn data(number: u32, content: Content, strings: Vec<Bytes>) -> Data {
    let varints = |content: Content| {
        // `check_packed` has checked every occurrence.
        Varints::new(content.into_bytes()).unwrap_or_default()
    };
    match number {
        tensor::FLOAT_DATA => Data::Floats(content.into_bytes()),
        tensor::INT32_DATA => Data::Int32s(varints(content)),
        tensor::STRING_DATA => Data::strings(strings),
        tensor::INT64_DATA => Data::Int64s(varints(content)),
        tensor::RAW_DATA => Data::Raw(content.into_bytes()),
        tensor::DOUBLE_DATA => Data::Doubles(content.into_bytes()),
        tensor::UINT64_DATA => Data::Uint64s(varints(content)),
        _ => Data::None,
    }
}

/// Makes sure that a packed field consists of whole elements.
fn check_packed<'a>(reader: &Reader<'a>, number: u32, packed: Payload<'a>) -> Result<()> {
    match number {
        tensor::FLOAT_DATA => reader.packed_fixed32(packed).map(drop),
        tensor::DOUBLE_DATA => reader.packed_fixed64(packed).map(drop),
        _ => match Varints::new(reader.share(packed)) {
            Ok(_) => Ok(()),
            Err(error) => {
                let offset = packed.offset().saturating_add(error.offset);
                Err(WireError::new(WireErrorKind::VarintTooLong, offset))
            }
        },
    }
}
