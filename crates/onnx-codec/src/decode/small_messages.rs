//! Small messages: string pairs, opset imports, quantization annotations and bindings. Those whose encoding is not canonical
//! keep their bytes.

use bytes::Bytes;
use onnx_ir::{Binding, MetadataEntry, OpsetImport, QuantAnnotation, QuantParameter, ValueRef};
use onnx_proto::field::{operator_set_id, string_string_entry, tensor_annotation};
use onnx_proto::wire::{Field, Payload, Reader, Value};
use onnx_types::raw_text::from_bytes;
use onnx_types::tensor::TensorMetadata;
use onnx_types::{Symbol, Text};

use super::{Cx, Result, WireForm, len, varint};

/// Two string fields, as in `StringStringEntryProto`.
struct Pair<'a> {
    key: Option<Payload<'a>>,
    value: Option<Payload<'a>>,
    /// Whether the encoding is canonical: both fields once, in order, minimal, and nothing else.
    canonical: bool,
}

impl<'a> Cx<'a> {
    fn pair(&self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<Pair<'a>> {
        let minimal = self.input.non_minimal();
        let mut fields = reader.message(payload)?;
        // The canonical encoding, which nearly all pairs have.
        let mut canonical = fields.clone();
        if let (Some((string_string_entry::KEY, key)), Some((string_string_entry::VALUE, value))) =
            (canonical.next_short_len(), canonical.next_short_len())
            && canonical.remaining() == 0
        {
            return Ok(Pair { key: Some(key), value: Some(value), canonical: true });
        }
        let (mut key, mut value, mut canonical) = (None, None, true);
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (string_string_entry::KEY, Some(text)) => {
                    canonical &= key.is_none() && value.is_none();
                    key = Some(text);
                }
                (string_string_entry::VALUE, Some(text)) => {
                    canonical &= value.is_none();
                    value = Some(text);
                }
                _ => canonical = false,
            }
        }
        canonical &= key.is_some() && value.is_some() && minimal == self.input.non_minimal();
        Ok(Pair { key, value, canonical })
    }

    fn optional_name(&mut self, reader: &Reader<'a>, payload: Option<Payload<'a>>) -> Result<Symbol> {
        payload.map_or(Ok(Symbol::EMPTY), |payload| self.name(reader, payload))
    }

    /// An entry of a metadata list.
    pub(super) fn metadata(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<MetadataEntry> {
        let pair = self.pair(reader, payload)?;
        let key = pair.key.map_or(Ok(Symbol::EMPTY), |key| self.cached_name(reader, key))?;
        let value = self.optional_text(reader, pair.value)?;
        let source = (!pair.canonical).then(|| Box::new(reader.share(payload)));
        Ok(MetadataEntry::with_source(key, value, source))
    }

    /// An entry of a tensor's metadata or external data.
    pub(super) fn tensor_metadata(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
    ) -> Result<TensorMetadata> {
        let pair = self.pair(reader, payload)?;
        let key = self.optional_text(reader, pair.key)?;
        let value = self.optional_text(reader, pair.value)?;
        let source = (!pair.canonical).then(|| reader.share(payload));
        Ok(TensorMetadata { key, value, source })
    }

    fn optional_text(&mut self, reader: &Reader<'a>, payload: Option<Payload<'a>>) -> Result<Text> {
        payload.map_or(Ok(Text::new()), |payload| self.text(reader, payload))
    }

    /// A string field as separate text, outside the interner.
    pub(super) fn text(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<Text> {
        if payload.len() as u64 <= self.options.execution.limits.string_bytes
            && let Some(text) = Text::from_verbatim(reader.share(payload))
        {
            return Ok(text);
        }
        match reader.string(payload) {
            Ok(text) => Ok(Text::from(&*from_bytes(text.as_bytes()))),
            Err(error) => self.raw_text(payload, error).map(Text::from),
        }
    }

    /// An imported operator set.
    pub(super) fn opset(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<OpsetImport> {
        let minimal = self.input.non_minimal();
        let mut fields = reader.message(payload)?;
        let (mut domain, mut version, mut canonical) = (None, None, true);
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value), varint(field.value)) {
                (operator_set_id::DOMAIN, Some(text), _) => {
                    canonical &= domain.is_none() && version.is_none();
                    domain = Some(text);
                }
                (operator_set_id::VERSION, _, Some(number)) => {
                    canonical &= version.is_none();
                    version = Some(number.cast_signed());
                }
                _ => canonical = false,
            }
        }
        canonical &= domain.is_some() && version.is_some() && minimal == self.input.non_minimal();
        let domain = self.optional_name(reader, domain)?;
        let source = (!canonical).then(|| Box::new(reader.share(payload)));
        Ok(OpsetImport::with_source(domain, version.unwrap_or(0), source))
    }

    /// The value that a string field names, for references outside the data flow.
    pub(super) fn value_ref(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<ValueRef> {
        let name = self.name(reader, payload)?;
        Ok(self.model.reference(name))
    }

    /// A quantization annotation.
    pub(super) fn annotation(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
    ) -> Result<QuantAnnotation> {
        let mut fields = reader.message(payload)?;
        let mut form = WireForm::default();
        let mut tensor = ValueRef::Name(Symbol::EMPTY);
        let mut parameters = Vec::new();
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (tensor_annotation::TENSOR_NAME, Some(text)) => {
                    tensor = self.value_ref(&fields, text)?;
                    form.note(tensor_annotation::TENSOR_NAME, text.is_empty());
                }
                (tensor_annotation::QUANT_PARAMETER_TENSOR_NAMES, Some(entry)) => {
                    parameters.push(self.parameter(&fields, entry)?)
                }
                (number, _) => self.keep(&mut form.unknown, &field, tensor_annotation::is_known(number)),
            }
        }
        Ok(QuantAnnotation::new(tensor, parameters).with_encoding(form.forms, form.unknown))
    }

    fn parameter(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<QuantParameter> {
        let (key, value, WireForm { forms, unknown }) = self.names(reader, payload)?;
        Ok(QuantParameter::new(key, self.model.reference(value)).with_encoding(forms, unknown))
    }

    /// A binding of a training step.
    pub(super) fn binding(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        mut resolve: impl FnMut(&Self, Symbol) -> ValueRef,
    ) -> Result<Binding> {
        let (key, value, WireForm { forms, unknown }) = self.names(reader, payload)?;
        let key = self.model.reference(key);
        let value = if value.is_empty() { ValueRef::Name(value) } else { resolve(self, value) };
        Ok(Binding::new(key, value).with_encoding(forms, unknown))
    }

    /// The key and the value of a string pair as names.
    fn names(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<(Symbol, Symbol, WireForm)> {
        let mut fields = reader.message(payload)?;
        let mut form = WireForm::default();
        let (mut key, mut value) = (Symbol::EMPTY, Symbol::EMPTY);
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (string_string_entry::KEY, Some(text)) => {
                    key = self.noted(&fields, text, field.number, &mut form)?;
                }
                (string_string_entry::VALUE, Some(text)) => {
                    value = self.noted(&fields, text, field.number, &mut form)?;
                }
                (number, _) => self.keep(&mut form.unknown, &field, string_string_entry::is_known(number)),
            }
        }
        Ok((key, value, form))
    }

    /// Appends the elements of a repeated integer field, recording whether they are packed.
    pub(super) fn integers(
        &mut self,
        reader: &Reader<'a>,
        field: &Field<'a>,
        form: &mut WireForm,
        push: impl FnMut(i64),
    ) -> Result<()> {
        match push_ints(reader, field.value, push)? {
            Some(Packed::Yes) => form.forms.set_packed(field.number, true),
            Some(Packed::No) => {}
            None => self.keep(&mut form.unknown, field, true),
        }
        Ok(())
    }
}

/// Appends the elements of a repeated integer field; returns its encoding, or `None` if the wire type does not match.
pub(super) fn push_ints<'a>(
    reader: &Reader<'a>,
    value: Value<'a>,
    mut push: impl FnMut(i64),
) -> Result<Option<Packed>> {
    match value {
        Value::Varint(value) => {
            push(value.cast_signed());
            Ok(Some(Packed::No))
        }
        Value::Len(payload) => {
            for value in reader.packed_varints(payload).int64() {
                push(value?);
            }
            Ok(Some(Packed::Yes))
        }
        _ => Ok(None),
    }
}

/// Whether a repeated field was packed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Packed {
    Yes,
    No,
}

/// Owned bytes of a payload, for byte strings.
pub(super) fn bytes(reader: &Reader<'_>, payload: Payload<'_>) -> Bytes {
    reader.input().share(payload)
}
