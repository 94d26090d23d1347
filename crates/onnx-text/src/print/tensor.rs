//! Tensors: type, dimensions, data and what else they say.

use std::fmt::Write as _;

use onnx_ir::{Model, SparseTensor};
use onnx_types::tensor::{Payload, Splat, Tensor, TensorLayout, Varints};
use onnx_types::{ElemClass, ElemType};

use super::meta::Entries;
use super::{PrintOptions, Printer, Result};
use crate::elements::{Plain, code_at, int32_range, is_canonical, plain_form};
use crate::rules;

impl PrintOptions<'_> {
    /// Returns `true` if a text leaves elements of a model out.
    #[must_use]
    pub fn elides(&self, model: &Model) -> bool {
        let mut any = false;
        model.for_each_tensor(|_, tensor| any |= self.elides_tensor(tensor));
        any
    }

    fn elides_tensor(&self, tensor: &Tensor) -> bool {
        if matches!(tensor.payload(), Payload::Elided(_)) {
            return !self.compat;
        }
        if self.full
            || self.compat
            || matches!(tensor.payload(), Payload::External(_) | Payload::None | Payload::Splat(_))
        {
            return false;
        }
        let length = match tensor.payload() {
            Payload::Raw(bytes) => bytes.len() as u64 / 8,
            Payload::Floats(bytes) | Payload::Doubles(bytes) => bytes.len() as u64 / 8,
            Payload::Int32s(list) | Payload::Int64s(list) | Payload::Uint64s(list) => list.count() as u64,
            Payload::Strings(strings) => strings.len() as u64,
            _ => 0,
        };
        tensor.element_count().unwrap_or(u64::MAX) > self.elide_above || length > self.elide_above
    }
}

impl Printer<'_> {
    /// Writes element type and dimensions of a tensor.
    pub(super) fn tensor_head(&mut self, tensor: &Tensor) {
        self.elem(tensor.data_type());
        self.tensor_dims(tensor.dims());
    }

    fn tensor_dims(&mut self, dims: &[i64]) {
        for (axis, &dim) in dims.iter().enumerate() {
            self.out.push(if axis == 0 { '[' } else { ',' });
            self.int(dim);
        }
        if !dims.is_empty() {
            self.out.push(']');
        }
    }

    /// Returns `true` if the reference's syntax can express the type of a tensor; otherwise reports it.
    pub(super) fn has_plain_head(&mut self, tensor: &Tensor) -> bool {
        let plain = tensor.elem() != ElemType::Undefined;
        if !plain && self.compat() {
            self.lost("a tensor without a known element type");
        }
        plain || !self.compat()
    }

    /// Writes a tensor as the value of an attribute.
    pub(super) fn tensor(&mut self, tensor: &Tensor) {
        self.tensor_head(tensor);
        self.out.push(' ');
        if !tensor.name().is_empty() {
            if self.compat() && !crate::lexer::is_identifier(tensor.name().as_bytes()) {
                self.lost("the name of a tensor");
            } else {
                self.name(tensor.name());
                self.out.push(' ');
            }
        }
        self.value_start = Some(self.out.len());
        self.tensor_data(tensor);
        self.settle_value();
        self.tensor_meta(tensor);
    }

    /// Writes the data of a tensor, with the braces.
    pub(super) fn tensor_data(&mut self, tensor: &Tensor) {
        if self.options.elides_tensor(tensor) {
            self.elided(tensor);
            return;
        }
        match (tensor.payload(), plain_form(tensor)) {
            (Payload::None, _) => self.out.push_str("{}"),
            (Payload::Elided(_), _) => {
                self.lost("data of a tensor that were left out of the text it was read from");
                self.out.push_str("{}");
            }
            (payload, Plain::No)
                if !self.exact() && tensor.element_count() == Some(0) && is_empty(payload) =>
            {
                self.out.push_str("{}");
            }
            (Payload::External(external), _) if self.compat() && external.entries().is_empty() => {
                self.lost("external data without entries");
                self.out.push_str("{}");
            }
            (Payload::External(external), _) => self.tensor_metadata(external.entries()),
            (_, Plain::Entries) => self.entries(tensor),
            (Payload::Raw(bytes), Plain::Elements) if !self.compat() => {
                if self.exact() {
                    self.out.push_str("raw ");
                }
                // Without `raw`, numbers are entries of a typed field; an entry of a packed type holds several elements.
                if self.exact() { self.raw_elements(tensor, bytes) } else { self.raw_entries(tensor, bytes) }
            }
            (Payload::Raw(bytes), Plain::Elements) => {
                self.note_loss(&rules::STORED_OTHERWISE, "raw data are printed as typed data");
                self.raw_entries(tensor, bytes);
            }
            (Payload::Splat(splat), _) if !self.compat() => self.splat(tensor, splat),
            (_, Plain::No | Plain::Elements) if self.compat() => {
                self.lost("data of a tensor that do not fit its type and dimensions");
                self.out.push_str("{}");
            }
            (payload, _) => self.explicit(tensor, payload),
        }
    }

    /// Writes how much data there is.
    fn elided(&mut self, tensor: &Tensor) {
        self.out.push_str("{…");
        // Writing to a string cannot fail.
        let _ = match tensor.element_count() {
            Some(count) => write!(self.out, "{count} elements"),
            None => write!(self.out, "{} bytes", tensor.payload().resident_bytes()),
        };
        let digest = match tensor.payload() {
            Payload::Elided(elided) => elided.digest().map(str::to_owned),
            _ => self.options.digest.and_then(|digest| digest(tensor)),
        };
        if let Some(digest) = digest {
            self.out.push_str(", ");
            self.out.extend(digest.chars().filter(|&c| c != '}' && c != '\n'));
        }
        self.out.push('}');
    }

    /// Writes data whose field, or whose bytes, must be named to be read as they are.
    fn explicit(&mut self, tensor: &Tensor, payload: &Payload) {
        match payload {
            Payload::Raw(bytes) => {
                self.out.push_str("raw ");
                self.hex(bytes);
            }
            Payload::Floats(bytes) | Payload::Doubles(bytes) => {
                self.out.push_str(payload.field_name());
                self.out.push(' ');
                let width = if matches!(payload, Payload::Floats(_)) { 4 } else { 8 };
                if bytes.len().is_multiple_of(width) { self.entries(tensor) } else { self.hex(bytes) }
            }
            Payload::Int32s(list) | Payload::Int64s(list) | Payload::Uint64s(list) => {
                self.out.push_str(payload.field_name());
                self.out.push(' ');
                if is_canonical(payload) { self.entries(tensor) } else { self.hex(list.bytes()) }
            }
            Payload::Strings(_) => {
                self.out.push_str("string_data ");
                self.entries(tensor);
            }
            Payload::None | Payload::External(_) | Payload::Splat(_) | Payload::Elided(_) => {}
        }
    }

    fn splat(&mut self, tensor: &Tensor, splat: &Splat) {
        self.out.push_str("splat ");
        let whole =
            tensor.elem().bits().is_some_and(|bits| (splat.bytes().len() as u32).saturating_mul(8) == bits);
        if whole { self.raw_elements(tensor, splat.bytes()) } else { self.hex(splat.bytes()) }
    }

    /// Writes the entries of a typed field.
    fn entries(&mut self, tensor: &Tensor) {
        self.out.push('{');
        match tensor.payload() {
            Payload::Floats(bytes) => self.f32s(bytes),
            Payload::Doubles(bytes) => self.f64s(bytes),
            Payload::Int32s(list) => self.int32_entries(tensor.elem(), list),
            Payload::Int64s(list) => self.items(list.iter_i64(), |printer, value| printer.int(value)),
            Payload::Uint64s(list) => self.items(list.iter(), Self::uint),
            Payload::Strings(strings) => {
                self.items(strings.iter(), |printer, string| printer.byte_string(string));
            }
            Payload::None
            | Payload::Raw(_)
            | Payload::External(_)
            | Payload::Splat(_)
            | Payload::Elided(_) => {}
        }
        self.out.push('}');
    }

    fn int32_entries(&mut self, elem: ElemType, list: &Varints) {
        let range = int32_range(elem);
        // A list has values only or bit patterns only, and an entry out of range has no value.
        let by_value = elem.class() == ElemClass::Float
            && !is_packed_entry(elem)
            && !self.compat()
            && list.iter_i32().all(|entry| range.contains(&i64::from(entry)));
        self.items(list.iter_i32(), |printer, entry| {
            let code = u16::try_from(entry).ok().filter(|_| by_value);
            if !code.is_some_and(|code| printer.narrow(elem, code)) {
                printer.int(i64::from(entry));
            }
        });
    }

    /// Writes the elements of raw data, each by its value.
    #[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "the type has 1 to 7 bits"))]
    fn raw_elements(&mut self, tensor: &Tensor, bytes: &[u8]) {
        let elem = tensor.elem();
        let Some(bits) = elem.bits().filter(|&bits| bits < 8) else {
            self.raw_entries(tensor, bytes);
            return;
        };
        let count = tensor.element_count().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        self.out.push('{');
        self.items(0..count, |printer, index| {
            let code = code_at(bytes, bits, index).unwrap_or(0);
            if !printer.narrow(elem, u16::from(code)) {
                let signed = elem.class() == ElemClass::Int && code >> (bits - 1) != 0;
                printer.int(i64::from(code) - if signed { 1 << bits } else { 0 });
            }
        });
        self.out.push('}');
    }

    /// Writes raw data as the entries of the typed field that could hold them.
    fn raw_entries(&mut self, tensor: &Tensor, bytes: &[u8]) {
        let elem = tensor.elem();
        self.out.push('{');
        match elem {
            ElemType::Float | ElemType::Complex64 => self.f32s(bytes),
            ElemType::Double | ElemType::Complex128 => self.f64s(bytes),
            ElemType::Int64 => {
                let (entries, _) = bytes.as_chunks();
                self.items(entries.iter(), |printer, &bytes| printer.int(i64::from_le_bytes(bytes)));
            }
            ElemType::Int32 => {
                let (entries, _) = bytes.as_chunks();
                self.items(entries.iter(), |printer, &bytes| {
                    printer.int(i64::from(i32::from_le_bytes(bytes)))
                });
            }
            ElemType::Uint64 => {
                let (entries, _) = bytes.as_chunks();
                self.items(entries.iter(), |printer, &bytes| printer.uint(u64::from_le_bytes(bytes)));
            }
            ElemType::Uint32 => {
                let (entries, _) = bytes.as_chunks();
                self.items(entries.iter(), |printer, &bytes| {
                    printer.uint(u64::from(u32::from_le_bytes(bytes)))
                });
            }
            _ => self.narrow_entries(tensor, bytes),
        }
        self.out.push('}');
    }

    /// Writes raw data of a type of at most 16 bits as the entries of `int32_data` that could hold them.
    fn narrow_entries(&mut self, tensor: &Tensor, bytes: &[u8]) {
        let elem = tensor.elem();
        let by_value = elem.class() == ElemClass::Float && !is_packed_entry(elem) && !self.compat();
        let write = |printer: &mut Self, code: u16| {
            if !(by_value && printer.narrow(elem, code)) {
                printer.int(match elem {
                    ElemType::Int16 => i64::from(code.cast_signed()),
                    ElemType::Int8 => i64::from((code as u8).cast_signed()),
                    _ => i64::from(code),
                });
            }
        };
        match elem.bits() {
            Some(16) => {
                let (entries, _) = bytes.as_chunks();
                self.items(entries.iter(), |printer, &bytes| write(printer, u16::from_le_bytes(bytes)));
            }
            Some(6) => {
                let count = tensor.element_count().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
                self.items(0..count, |printer, index| {
                    write(printer, u16::from(code_at(bytes, 6, index).unwrap_or(0)));
                });
            }
            _ => self.items(bytes.iter(), |printer, &byte| write(printer, u16::from(byte))),
        }
    }

    pub(super) fn items<T>(&mut self, items: impl Iterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            write(self, item);
            if self.pass_on() {
                return;
            }
        }
    }

    /// Writes what else a tensor says.
    pub(super) fn tensor_meta(&mut self, tensor: &Tensor) {
        let mut entries = Entries::annotation();
        if self.compat() {
            self.tensor_losses(tensor);
            return;
        }
        if let Some(extra) = tensor.extra() {
            if !extra.doc.is_empty() && self.options.metadata {
                self.key(&mut entries, "doc_string");
                self.string(&extra.doc);
            }
            if !extra.metadata.is_empty() && self.options.metadata {
                self.key(&mut entries, "metadata_props");
                self.tensor_metadata(&extra.metadata);
            }
            if let Some(segment) = &extra.segment {
                self.key(&mut entries, "segment");
                let mut record = Entries::record();
                for (key, bound) in [("begin", segment.begin), ("end", segment.end)] {
                    if let Some(bound) = bound {
                        self.key(&mut record, key);
                        self.int(bound);
                    }
                }
                self.end_record(&record);
                self.source(segment.source.as_ref());
            }
            if !extra.unused_external.is_empty() && self.exact() {
                self.key(&mut entries, "external_data");
                self.tensor_metadata(&extra.unused_external);
            }
        }
        self.present(&mut entries, tensor.forms());
        if self.exact() {
            if tensor.layout().contains(TensorLayout::DIMS_PACKED) {
                self.key(&mut entries, "packed_dims");
                self.out.push('1');
            }
            if tensor.layout().contains(TensorLayout::DATA_UNPACKED) {
                self.key(&mut entries, "unpacked_data");
                self.out.push('1');
            }
        }
        self.unknown(&mut entries, tensor.extra().map_or(&[], |extra| &extra.unknown));
        self.end(&entries);
    }

    fn tensor_losses(&mut self, tensor: &Tensor) {
        let Some(extra) = tensor.extra() else { return };
        let parts = [
            (!extra.doc.is_empty(), "the documentation of a tensor"),
            (!extra.metadata.is_empty(), "the metadata of a tensor"),
            (extra.segment.is_some(), "the segment of a tensor"),
            (
                !extra.unused_external.is_empty(),
                "the external data of a tensor that has its data in the file",
            ),
            (!extra.unknown.is_empty(), "unknown or additional data fields of a tensor"),
        ];
        for (_, what) in parts.into_iter().filter(|(any, _)| *any) {
            self.lost(what);
        }
    }

    /// Writes a sparse tensor: `sparse_tensor[3,4] = {values: …, indices: …}`; its name goes before the equals sign.
    pub(super) fn sparse(&mut self, sparse: &SparseTensor, name: Option<&str>) -> Result {
        self.out.push_str("sparse_tensor");
        self.tensor_dims(&sparse.dims);
        self.out.push(' ');
        if let Some(name) = name {
            self.name(name);
            self.out.push(' ');
        }
        self.out.push_str("= ");
        let mut record = Entries::record();
        for (key, part) in [("values", &sparse.values), ("indices", &sparse.indices)] {
            if let Some(part) = part {
                self.key(&mut record, key);
                self.tensor(part);
            }
        }
        self.end_record(&record);
        let mut entries = Entries::annotation();
        self.present(&mut entries, sparse.forms);
        self.unknown(&mut entries, &sparse.unknown);
        self.end(&entries);
        Ok(())
    }
}

/// Whether a data field is there, but has nothing in it.
fn is_empty(payload: &Payload) -> bool {
    match payload {
        Payload::External(_) | Payload::Splat(_) | Payload::Elided(_) => false,
        Payload::Strings(strings) => strings.is_empty(),
        payload => payload.resident_bytes() == 0,
    }
}

/// Whether one entry of `int32_data` holds several elements.
fn is_packed_entry(elem: ElemType) -> bool {
    elem.bits().is_some_and(|bits| bits < 6)
}
