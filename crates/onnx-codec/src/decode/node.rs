//! `NodeProto`, the message that there are most of.

use onnx_ir::{Attribute, GraphId, LoadedNode, Metadata, NodeDeviceConfiguration, NodeId, Origin, ValueId};
use onnx_proto::wire::{Payload, Reader};
use onnx_types::Symbol;
use smallvec::SmallVec;

use super::{Cx, Form, Result, Step, extras, len};

/// The numbers that a node's fields have.
const KNOWN: std::ops::RangeInclusive<u32> = 1..=10;

impl<'a> Cx<'a> {
    #[inline]
    pub(super) fn node(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        graph: GraphId,
        index: usize,
    ) -> Result<()> {
        self.node_fields(reader.message(payload)?, payload.offset(), graph, index)?;
        Ok(())
    }

    /// Reads a node whose message begins at `offset`.
    pub(super) fn node_fields(
        &mut self,
        mut fields: Reader<'a>,
        offset: usize,
        graph: GraphId,
        index: usize,
    ) -> Result<NodeId> {
        let mut form = Form::default();
        let mut node = LoadedNode::default();
        let mut inputs: SmallVec<[Option<ValueId>; 8]> = SmallVec::new();
        let mut outputs: SmallVec<[Symbol; 4]> = SmallVec::new();
        let mut attributes: SmallVec<[Attribute; 0]> = SmallVec::new();
        let mut doc = Symbol::EMPTY;
        let mut metadata = Metadata::new();
        let mut devices: Vec<NodeDeviceConfiguration> = Vec::new();
        while let Some(field) = fields.next_field()? {
            let Some(content) = len(field.value) else {
                self.keep(&mut form.unknown, &field, KNOWN.contains(&field.number));
                continue;
            };
            match field.number {
                1 => {
                    let name = self.name(&fields, content)?;
                    inputs.push((!name.is_empty()).then(|| self.loader.used(&mut self.model, graph, name)));
                }
                2 => outputs.push(self.name(&fields, content)?),
                3 => node.name = self.noted(&fields, content, 3, &mut form)?,
                4 => node.op = self.noted(&fields, content, 4, &mut form)?,
                5 => {
                    attributes.push(self.node_attribute(&fields, content, &node, index, attributes.len())?)
                }
                6 => doc = self.noted(&fields, content, 6, &mut form)?,
                7 => node.domain = self.noted(&fields, content, 7, &mut form)?,
                8 => node.overload = self.noted(&fields, content, 8, &mut form)?,
                9 => metadata.push(self.metadata(&fields, content)?),
                10 => devices.push(self.node_devices(&fields, content)?),
                _ => self.keep(&mut form.unknown, &field, false),
            }
        }
        node.mask = std::mem::take(&mut form.mask);
        node.attributes = attributes.into_vec();
        if !doc.is_empty() || !metadata.is_empty() || !form.unknown.is_empty() || !devices.is_empty() {
            let mut rare = extras(doc, metadata, form).unwrap_or_default();
            rare.device_configurations = devices;
            node.extras = Some(rare);
        }
        let node = self.loader.node(&mut self.model, graph, node, &inputs, &outputs);
        if !self.options.no_offsets {
            self.model.set_node_origin(node, Origin::Byte(offset as u64));
        }
        Ok(node)
    }

    fn node_attribute(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        node: &LoadedNode,
        index: usize,
        position: usize,
    ) -> Result<Attribute> {
        self.steps.push(Step::Node { index, op: node.op, name: node.name });
        let attribute =
            self.attribute(reader, payload).map_err(|error| error.in_item("attribute", position))?;
        self.steps.pop();
        Ok(attribute)
    }
}
