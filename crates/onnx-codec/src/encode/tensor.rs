//! `TensorProto` and `SparseTensorProto`.

use onnx_ir::SparseTensor;
use onnx_proto::field::{sparse_tensor, string_string_entry, tensor};
use onnx_proto::wire::Writer;
use onnx_types::raw_text::to_bytes;
use onnx_types::tensor::{NoData, Payload, Tensor, TensorLayout, TensorMetadata, Varints};

use super::{Cx, Result, Window, ints, ints_packed_if, merged, text_bytes};
use crate::error::EncodeError;

impl Cx<'_> {
    /// Writes the fields of a tensor; that of an initializer has the name of its value.
    pub(super) fn tensor(&self, writer: &mut Writer, tensor: &Tensor, name: Option<&str>) -> Result {
        let unknown = tensor.extra().map_or(&[][..], |extra| &extra.unknown);
        merged(writer, unknown, |writer, window| self.tensor_fields(writer, tensor, name, window))
    }

    fn tensor_fields(
        &self,
        writer: &mut Writer,
        tensor: &Tensor,
        name: Option<&str>,
        window: Window,
    ) -> Result {
        let forms = tensor.forms();
        if window.has(tensor::DIMS) {
            let packed = tensor.layout().contains(TensorLayout::DIMS_PACKED);
            ints_packed_if(packed, writer, tensor::DIMS, tensor.dims());
        }
        if window.has(tensor::DATA_TYPE) && (tensor.data_type() != 0 || forms.is_explicit(tensor::DATA_TYPE))
        {
            writer.int32(tensor::DATA_TYPE, tensor.data_type());
        }
        let extra = tensor.extra();
        if let Some(segment) =
            extra.and_then(|extra| extra.segment.as_ref()).filter(|_| window.has(tensor::SEGMENT))
        {
            match &segment.source {
                Some(source) => writer.bytes(tensor::SEGMENT, source),
                None => writer.message(tensor::SEGMENT, |writer| {
                    for (number, bound) in
                        [(tensor::segment::BEGIN, segment.begin), (tensor::segment::END, segment.end)]
                    {
                        if let Some(bound) = bound {
                            writer.int64(number, bound);
                        }
                    }
                }),
            }
        }
        self.payload(writer, tensor, window, tensor::FLOAT_DATA..=tensor::INT64_DATA)?;
        let name = name.unwrap_or_else(|| tensor.name());
        if window.has(tensor::NAME) && (!name.is_empty() || forms.is_explicit(tensor::NAME)) {
            writer.slice(tensor::NAME, &to_bytes(name));
        }
        self.payload(writer, tensor, window, tensor::RAW_DATA..=tensor::UINT64_DATA)?;
        if window.has(tensor::DOC_STRING)
            && (!tensor.doc().is_empty() || forms.is_explicit(tensor::DOC_STRING))
        {
            writer.slice(tensor::DOC_STRING, &to_bytes(tensor.doc()));
        }
        let external = match tensor.payload() {
            Payload::External(external) => external.entries(),
            _ => extra.map_or(&[][..], |extra| &extra.unused_external),
        };
        if window.has(tensor::EXTERNAL_DATA) {
            metadata(writer, tensor::EXTERNAL_DATA, external);
        }
        if window.has(tensor::DATA_LOCATION)
            && (tensor.is_external() || forms.is_explicit(tensor::DATA_LOCATION))
        {
            writer.int32(tensor::DATA_LOCATION, i32::from(tensor.is_external()));
        }
        if window.has(tensor::METADATA_PROPS) {
            metadata(writer, tensor::METADATA_PROPS, tensor.metadata());
        }
        Ok(())
    }

    /// Writes the data field if its number is in the given range.
    fn payload(
        &self,
        writer: &mut Writer,
        tensor: &Tensor,
        window: Window,
        range: std::ops::RangeInclusive<u32>,
    ) -> Result {
        let number = match tensor.payload() {
            Payload::None | Payload::External(_) => return Ok(()),
            Payload::Elided(_) => return Err(EncodeError::Elided),
            Payload::Floats(_) => tensor::FLOAT_DATA,
            Payload::Int32s(_) => tensor::INT32_DATA,
            Payload::Strings(_) => tensor::STRING_DATA,
            Payload::Int64s(_) => tensor::INT64_DATA,
            Payload::Raw(_) | Payload::Splat(_) => tensor::RAW_DATA,
            Payload::Doubles(_) => tensor::DOUBLE_DATA,
            Payload::Uint64s(_) => tensor::UINT64_DATA,
        };
        if !range.contains(&number) || !window.has(number) {
            return Ok(());
        }
        let unpacked = tensor.layout().contains(TensorLayout::DATA_UNPACKED);
        match tensor.payload() {
            Payload::None | Payload::External(_) | Payload::Elided(_) => {}
            Payload::Raw(bytes) => writer.bytes(number, bytes),
            Payload::Floats(bytes) if unpacked => {
                let (elements, _) = bytes.as_chunks();
                elements.iter().for_each(|&element| writer.float(number, f32::from_le_bytes(element)));
            }
            Payload::Doubles(bytes) if unpacked => {
                let (elements, _) = bytes.as_chunks();
                elements.iter().for_each(|&element| writer.double(number, f64::from_le_bytes(element)));
            }
            Payload::Floats(bytes) | Payload::Doubles(bytes) => writer.bytes(number, bytes),
            Payload::Int32s(list) | Payload::Int64s(list) | Payload::Uint64s(list) => {
                varints(writer, number, list, unpacked);
            }
            Payload::Strings(strings) => strings.iter().for_each(|text| writer.bytes(number, text)),
            Payload::Splat(_) => self.splat(writer, tensor)?,
        }
        Ok(())
    }

    /// Writes one element over and over as raw data.
    fn splat(&self, writer: &mut Writer, tensor: &Tensor) -> Result {
        let limit = self.options.splat_bytes;
        let too_large = EncodeError::SplatTooLarge { limit };
        if tensor.byte_len().is_none_or(|length| length > limit) {
            return Err(too_large);
        }
        let Ok(chunks) = tensor.chunks(&NoData) else { return Err(too_large) };
        writer.message(tensor::RAW_DATA, |writer| chunks.for_each(|chunk| writer.raw(&chunk)));
        Ok(())
    }

    /// Writes the fields of a sparse tensor; that of an initializer has its name at the values.
    pub(super) fn sparse(&self, writer: &mut Writer, sparse: &SparseTensor, name: Option<&str>) -> Result {
        merged(writer, &sparse.unknown, |writer, window| {
            if let Some(values) = sparse.values.as_ref().filter(|_| window.has(sparse_tensor::VALUES)) {
                writer.message(sparse_tensor::VALUES, |writer| self.tensor(writer, values, name))?;
            }
            if let Some(indices) = sparse.indices.as_ref().filter(|_| window.has(sparse_tensor::INDICES)) {
                writer.message(sparse_tensor::INDICES, |writer| self.tensor(writer, indices, None))?;
            }
            if window.has(sparse_tensor::DIMS) {
                ints(writer, sparse_tensor::DIMS, &sparse.dims, sparse.forms);
            }
            Ok(())
        })
    }
}

fn varints(writer: &mut Writer, number: u32, list: &Varints, unpacked: bool) {
    if unpacked {
        list.iter().for_each(|value| writer.uint64(number, value));
    } else {
        writer.bytes(number, list.bytes());
    }
}

fn metadata(writer: &mut Writer, number: u32, entries: &[TensorMetadata]) {
    for entry in entries {
        match &entry.source {
            Some(source) => writer.bytes(number, source),
            None => writer.message(number, |writer| {
                writer.slice(string_string_entry::KEY, &text_bytes(&entry.key));
                writer.slice(string_string_entry::VALUE, &text_bytes(&entry.value));
            }),
        }
    }
}
