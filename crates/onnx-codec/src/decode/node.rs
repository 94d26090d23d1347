//! `NodeProto`, the most frequent message.

use onnx_ir::raw::NodeFields;
use onnx_ir::{NodeId, Origin};
use onnx_proto::field::node;
use onnx_proto::wire::{Payload, Reader, Value, WireError};
use onnx_types::Symbol;
use smallvec::SmallVec;

use super::prescan::ScannedField;
use super::{Cx, Result, Step};

impl<'a> Cx<'a> {
    /// Decodes the nodes in field `number` of a message, the first of which has this index in its graph.
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "a message in memory has no more fields than bytes"
        )
    )]
    pub(super) fn nodes(&mut self, message: &Reader<'a>, number: u32, index: &mut usize) -> Result<()> {
        let mut fields = message.clone();
        let mut scanned = self.scan_memory.pop().unwrap_or_default();
        loop {
            let result = scanned.scan(&mut fields, number, self.model.names());
            let (first, text) = (*index, scanned.text);
            for (node, fields, error) in scanned.drain() {
                self.work(node)?;
                // Decoding the graphs of the previous node has set `self.text` to the text of an inner batch.
                self.text = text;
                let reader = message.message(node);
                let read = reader.and_then(|reader| self.node(&reader, fields, node.offset(), *index));
                // The pre-scan stopped in this node at `error`, or at none: what it located before the error is decoded
                // first, so that an error in there, which is earlier in the file, is the one that is reported.
                read.and_then(|_| error.map_or(Ok(()), Err))
                    .map_err(|error: WireError| error.in_item("node", *index))?;
                *index += 1;
            }
            // An error between nodes comes after all nodes of the batch, which are before it in the file.
            result?;
            if *index == first {
                self.scan_memory.push(scanned);
                return Ok(());
            }
        }
    }

    /// Builds a node whose message begins at `offset` from its fields.
    pub(super) fn node(
        &mut self,
        reader: &Reader<'a>,
        fields: &[ScannedField<'a>],
        offset: usize,
        index: usize,
    ) -> Result<NodeId> {
        let mut record = NodeFields::default();
        let mut inputs: SmallVec<[Symbol; 8]> = SmallVec::new();
        let mut outputs: SmallVec<[Symbol; 4]> = SmallVec::new();
        for &ScannedField { ref field, hash } in fields {
            let number = field.number;
            let (true, Value::Len(content)) = (node::is_known(number), field.value) else {
                let unknown = &mut record.extras.get_or_insert_default().unknown;
                self.keep(unknown, field, node::is_known(number));
                continue;
            };
            match number {
                node::INPUT if self.last_output.0 == content.as_slice() => inputs.push(self.last_output.1),
                node::INPUT => inputs.push(self.name(reader, content)?),
                node::OUTPUT => {
                    let name = self.hashed_name(reader, content, hash)?;
                    // A name that is not UTF-8 is reported at each occurrence.
                    if content.is_ascii() {
                        self.last_output = (content.as_slice(), name);
                    }
                    outputs.push(name);
                }
                node::NAME => record.name = self.hashed_name(reader, content, hash)?,
                node::OP_TYPE => record.op = self.cached_name(reader, content)?,
                node::DOMAIN => record.domain = self.cached_name(reader, content)?,
                node::OVERLOAD => record.overload = self.cached_name(reader, content)?,
                _ => self.node_message(reader, fields, number, content, &mut record, index)?,
            }
            if matches!(number, node::NAME | node::OP_TYPE | node::DOMAIN | node::OVERLOAD) {
                record.forms.set_explicit(number, content.is_empty());
            }
        }
        record.extras.take_if(|extras| extras.is_empty());
        self.check_operands(&inputs, &outputs, offset)?;
        let node = self.model.write_node(record, &inputs, &outputs);
        if self.options.offsets {
            self.model.set_node_origin(node, Origin::Byte(offset as u64));
        }
        Ok(node)
    }

    /// Decodes a field of a node that is a message, or the documentation.
    #[inline(never)]
    fn node_message(
        &mut self,
        reader: &Reader<'a>,
        fields: &[ScannedField<'a>],
        number: u32,
        content: Payload<'a>,
        record: &mut NodeFields,
        index: usize,
    ) -> Result<()> {
        if number == node::ATTRIBUTE {
            if record.attributes.is_empty() {
                // A growing list would allocate four elements at once.
                record.attributes.reserve_exact(count(fields, number));
            }
            self.steps.push(Step::Node { index, op: record.op, name: record.name });
            let attribute = self.attribute(reader, content);
            record
                .attributes
                .push(attribute.map_err(|error| error.in_item("attribute", record.attributes.len()))?);
            self.steps.pop();
            return Ok(());
        }
        let extras = record.extras.get_or_insert_default();
        match number {
            node::DOC_STRING => {
                extras.doc = self.name(reader, content)?;
                record.forms.set_explicit(number, content.is_empty());
            }
            node::METADATA_PROPS => {
                if extras.metadata.is_empty() {
                    extras.metadata.reserve_exact(count(fields, number));
                }
                extras.metadata.push(self.metadata(reader, content)?);
            }
            _ => extras.device_configurations.push(self.node_devices(reader, content)?),
        }
        Ok(())
    }
}

/// Number of fields of a node that have this number.
fn count(fields: &[ScannedField<'_>], number: u32) -> usize {
    fields.iter().filter(|scanned| scanned.field.number == number).count()
}
