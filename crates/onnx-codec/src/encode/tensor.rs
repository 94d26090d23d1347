//! `TensorProto` and `SparseTensorProto`.

use onnx_ir::SparseTensor;
use onnx_proto::wire::Writer;
use onnx_types::raw_text::to_bytes;
use onnx_types::tensor::{NoData, Payload, Tensor, TensorLayout, TensorMetadata, Varints};

use super::{Cx, Result, Window, ints, merged, text_bytes};
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
        let mask = tensor.mask();
        if window.has(1) {
            ints(writer, 1, tensor.dims(), tensor.layout().contains(TensorLayout::DIMS_PACKED));
        }
        if window.has(2) && (tensor.data_type() != 0 || mask.contains(2)) {
            writer.int32(2, tensor.data_type());
        }
        let extra = tensor.extra();
        if let Some(segment) = extra.and_then(|extra| extra.segment.as_ref()).filter(|_| window.has(3)) {
            match &segment.source {
                Some(source) => writer.bytes(3, source),
                None => writer.message(3, |writer| {
                    for (number, bound) in [(1, segment.begin), (2, segment.end)] {
                        if let Some(bound) = bound {
                            writer.int64(number, bound);
                        }
                    }
                }),
            }
        }
        self.payload(writer, tensor, window, 4..=7)?;
        let name = name.unwrap_or_else(|| tensor.name());
        if window.has(8) && (!name.is_empty() || mask.contains(8)) {
            writer.slice(8, &to_bytes(name));
        }
        self.payload(writer, tensor, window, 9..=11)?;
        if window.has(12) && (!tensor.doc().is_empty() || mask.contains(12)) {
            writer.slice(12, &to_bytes(tensor.doc()));
        }
        let external = match tensor.payload() {
            Payload::External(external) => external.entries(),
            _ => extra.map_or(&[][..], |extra| &extra.unused_external),
        };
        if window.has(13) {
            metadata(writer, 13, external);
        }
        if window.has(14) && (tensor.is_external() || mask.contains(14)) {
            writer.int32(14, i32::from(tensor.is_external()));
        }
        if window.has(16) {
            metadata(writer, 16, tensor.metadata());
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
            Payload::Floats(_) => 4,
            Payload::Int32s(_) => 5,
            Payload::Strings(_) => 6,
            Payload::Int64s(_) => 7,
            Payload::Raw(_) | Payload::Splat(_) => 9,
            Payload::Doubles(_) => 10,
            Payload::Uint64s(_) => 11,
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
        writer.message(9, |writer| chunks.for_each(|chunk| writer.raw(&chunk)));
        Ok(())
    }

    /// Writes the fields of a sparse tensor; that of an initializer has its name at the values.
    pub(super) fn sparse(&self, writer: &mut Writer, sparse: &SparseTensor, name: Option<&str>) -> Result {
        merged(writer, &sparse.unknown, |writer, window| {
            if let Some(values) = sparse.values.as_ref().filter(|_| window.has(1)) {
                writer.message(1, |writer| self.tensor(writer, values, name))?;
            }
            if let Some(indices) = sparse.indices.as_ref().filter(|_| window.has(2)) {
                writer.message(2, |writer| self.tensor(writer, indices, None))?;
            }
            if window.has(3) {
                ints(writer, 3, &sparse.dims, sparse.mask.contains(3));
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
                writer.slice(1, &text_bytes(&entry.key));
                writer.slice(2, &text_bytes(&entry.value));
            }),
        }
    }
}
