//! `NodeProto`, the message that there are most of.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_ir::{
    Attribute, Def, GraphId, LoadedNode, LoadedOutput, Metadata, NodeDeviceConfiguration, NodeId, Origin,
    ValueId,
};
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
                    inputs.push((!name.is_empty()).then(|| self.used(graph, name)));
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
        let mut outputs: SmallVec<[LoadedOutput; 4]> =
            outputs.into_iter().map(|name| self.output(name)).collect();
        if outputs.iter().filter(|output| matches!(output, LoadedOutput::Unresolved(_))).count() > 1 {
            self.define_once(&mut outputs);
        }
        let node = self.model.load_node(graph, node, &inputs, &outputs);
        self.bind_outputs(node, &outputs);
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

    /// What an output of the given name is: left out, a value that was used before, or a new one.
    fn output(&self, name: Symbol) -> LoadedOutput {
        if name.is_empty() {
            return LoadedOutput::Absent;
        }
        match self.bound_here(name) {
            Some(value) if matches!(self.model.value(value).def(), Def::Unresolved(_)) => {
                LoadedOutput::Unresolved(value)
            }
            _ => LoadedOutput::New(name),
        }
    }

    /// A value that was used before is defined by the first output of its name only; another one is a new value.
    fn define_once(&self, outputs: &mut [LoadedOutput]) {
        let mut defined: HashSet<ValueId, RandomState> = HashSet::default();
        for output in outputs {
            if let LoadedOutput::Unresolved(value) = *output
                && !defined.insert(value)
            {
                *output = LoadedOutput::New(self.model.value(value).name());
            }
        }
    }

    /// Makes the names of a node's new outputs known.
    fn bind_outputs(&mut self, node: NodeId, outputs: &[LoadedOutput]) {
        for (index, output) in outputs.iter().enumerate() {
            if let LoadedOutput::New(name) = *output
                && let Some(value) = self.model.node(node).output(index)
            {
                if self.scope.get(name).is_some() {
                    self.model.set_name_as_read(value);
                }
                self.scope.bind(name, value);
            }
        }
    }
}
