//! `ValueInfoProto`: graph inputs, graph outputs and `value_info`.

use onnx_ir::raw::ValueInfoFields;
use onnx_ir::{Metadata, Origin, ValueId};
use onnx_proto::field::value_info;
use onnx_proto::wire::{Payload, Reader};
use onnx_types::Symbol;
use smallvec::SmallVec;

use super::{Cx, Result, WireForm, extras, len};

impl<'a> Cx<'a> {
    fn info(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<ValueInfoFields> {
        self.work(payload)?;
        let mut fields = reader.message(payload)?;
        let mut canonical = fields.clone();
        if let (Some((value_info::NAME, name)), Some((value_info::TYPE, ty)), 0) =
            (canonical.next_short_len(), canonical.next_short_len(), canonical.remaining())
            && !name.is_empty()
        {
            let name = self.name(&canonical, name)?;
            return Ok(ValueInfoFields { name, ty: Some(self.shared_ty(&canonical, &[ty])?), extras: None });
        }
        let mut form = WireForm::default();
        let (mut name, mut doc) = (Symbol::EMPTY, Symbol::EMPTY);
        let mut metadata = Metadata::new();
        let mut occurrences: SmallVec<[Payload<'a>; 1]> = SmallVec::new();
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (value_info::NAME, Some(text)) => {
                    name = self.noted(&fields, text, field.number, &mut form)?;
                }
                (value_info::TYPE, Some(occurrence)) => occurrences.push(occurrence),
                (value_info::DOC_STRING, Some(text)) => {
                    doc = self.noted(&fields, text, field.number, &mut form)?;
                }
                (value_info::METADATA_PROPS, Some(entry)) => metadata.push(self.metadata(&fields, entry)?),
                (number, _) => self.keep(&mut form.unknown, &field, value_info::is_known(number)),
            }
        }
        let ty = if occurrences.is_empty() { None } else { Some(self.shared_ty(&fields, &occurrences)?) };
        Ok(ValueInfoFields { name, ty, extras: extras(doc, metadata, form) })
    }

    /// An input of a graph.
    pub(super) fn graph_input(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<()> {
        let info = self.info(reader, payload)?;
        let value = self.model.write_input(info);
        self.offset(value, payload.offset());
        Ok(())
    }

    /// An output of a graph.
    pub(super) fn graph_output(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<()> {
        let info = self.info(reader, payload)?;
        self.model.write_output(info);
        Ok(())
    }

    /// An entry of `value_info`.
    pub(super) fn value_info(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<()> {
        let info = self.info(reader, payload)?;
        self.model.write_value_info(info);
        Ok(())
    }

    /// Records the place of a value's message.
    pub(super) fn offset(&mut self, value: ValueId, offset: usize) {
        if self.options.offsets {
            self.model.set_value_origin(value, Origin::Byte(offset as u64));
        }
    }
}
