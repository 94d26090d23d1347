//! `NodeProto`, the most frequent message.

use onnx_ir::{Attribute, Extras, GraphId, LoadedNode, NodeId, Origin};
use onnx_proto::field::node;
use onnx_proto::wire::{Field, Payload, Reader, Value, WireError};
use onnx_types::Symbol;
use smallvec::SmallVec;

use super::prescan::{Fields, NodeScanner, ScannedNode, ScannedNodes, is_name};
use super::{Cx, Occurrences, Result, Step};

/// A node that is being read, and its graph.
#[derive(Clone, Copy)]
struct OpenNode {
    graph: GraphId,
    node: NodeId,
}

/// State of decoding the nodes of a graph.
pub(super) struct Run<'a> {
    /// A reader of the graph, for readers of its nodes.
    reader: Reader<'a>,
    graph: GraphId,
    /// The index of the next node.
    index: usize,
}

/// A node that is being read: everything but its operands, which go straight into the record.
#[derive(Default)]
struct Parts {
    node: LoadedNode,
    outputs: SmallVec<[Symbol; 4]>,
}

impl Parts {
    /// The fields that few nodes have.
    fn rare(&mut self) -> &mut Extras {
        self.node.extras.get_or_insert_default()
    }
}

impl<'a> Cx<'a> {
    /// Reads the nodes in field `number` of a message, of which there are `count`.
    pub(super) fn nodes<'p>(
        &mut self,
        occurrences: impl Iterator<Item = &'p Reader<'a>>,
        number: u32,
        count: usize,
        graph: GraphId,
    ) -> Result<()>
    where
        'a: 'p,
    {
        let occurrences: Occurrences<'a> = occurrences.cloned().collect();
        let Some(reader) = occurrences.first().cloned() else { return Ok(()) };
        let mut scanner = NodeScanner::new(occurrences, number, count, &self.options.execution.limits);
        let mut run = Run { reader, graph, index: 0 };
        self.scan_nodes(&mut scanner, &mut run)?;
        self.check("values", self.model.value_count(), self.options.execution.limits.values, 0)
    }

    /// Scans and builds nodes in batches.
    fn scan_nodes(&mut self, scanner: &mut NodeScanner<'a>, run: &mut Run<'a>) -> Result<()> {
        let mut scanned = self.scan_memory.pop().unwrap_or_default();
        while scanner.next(&mut scanned, self.model.names_mut(), &mut self.name_cache) {
            self.build_nodes(&mut scanned, run)?;
        }
        self.scan_memory.push(scanned);
        Ok(())
    }

    /// Builds the nodes of a batch.
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "a message in memory has no more fields than bytes"
        )
    )]
    pub(super) fn build_nodes(&mut self, scanned: &mut ScannedNodes<'a>, run: &mut Run<'a>) -> Result<()> {
        let Run { reader, graph, index } = run;
        for (node, fields) in scanned.nodes() {
            self.work(node.message)?;
            let read = match fields {
                Some(fields) => self.simple_node(reader, node, &fields, *graph, *index),
                None => reader.message(node.message).and_then(|fields| {
                    self.node_fields(fields, node.message.offset(), *graph, *index).map(drop)
                }),
            };
            read.map_err(|error: WireError| error.in_item("node", *index))?;
            *index += 1;
        }
        // An error that ended the scan follows the errors within the nodes.
        scanned.take_error().map_or(Ok(()), Err)
    }

    /// The fast path: builds a node whose fields are all located.
    fn simple_node(
        &mut self,
        reader: &Reader<'a>,
        scanned: &ScannedNode<'a>,
        fields: &Fields<'_, 'a>,
        graph: GraphId,
        index: usize,
    ) -> Result<()> {
        let message = scanned.message;
        let reader = reader.message(message)?;
        let open = OpenNode { graph, node: self.loader.begin_node(&mut self.model, graph) };
        let mut parts = Parts::default();
        if scanned.attributes > 0 {
            // A growing list allocates four elements at once.
            parts.node.attributes.reserve_exact(scanned.attributes as usize);
        }
        if scanned.metadata > 0 {
            parts.rare().metadata.reserve_exact(scanned.metadata as usize);
        }
        for (number, name) in fields.names() {
            self.node_name(number, name, &mut parts, open);
        }
        for (number, content) in fields.messages() {
            self.node_message(&reader, number, content, &mut parts, index)?;
        }
        self.finish_node(parts, message.offset(), open.node);
        Ok(())
    }

    /// The general path: decodes a node whose message begins at `offset` field by field.
    pub(super) fn node_fields(
        &mut self,
        mut fields: Reader<'a>,
        offset: usize,
        graph: GraphId,
        index: usize,
    ) -> Result<NodeId> {
        let open = OpenNode { graph, node: self.loader.begin_node(&mut self.model, graph) };
        let mut parts = Parts::default();
        while let Some(field) = fields.next_field()? {
            let known = node::is_known(field.number);
            match field {
                Field { number, value: Value::Len(content), .. } if is_name(number) => {
                    let name = self.name(&fields, content)?;
                    self.node_name(number, name, &mut parts, open);
                }
                Field { number, value: Value::Len(content), .. } if known => {
                    self.node_message(&fields, number, content, &mut parts, index)?;
                }
                _ => self.keep(&mut parts.rare().unknown, &field, known),
            }
        }
        self.finish_node(parts, offset, open.node);
        Ok(open.node)
    }

    /// Stores a string field of a node.
    #[inline(always)]
    fn node_name(
        &mut self,
        number: u32,
        name: Symbol,
        parts: &mut Parts,
        OpenNode { graph, node }: OpenNode,
    ) {
        match number {
            node::INPUT => self.loader.operand(&mut self.model, graph, node, name),
            node::OUTPUT => parts.outputs.push(name),
            node::NAME => parts.node.name = name,
            node::OP_TYPE => parts.node.op = name,
            node::DOC_STRING => parts.rare().doc = name,
            node::DOMAIN => parts.node.domain = name,
            _ => parts.node.overload = name,
        }
        if !matches!(number, node::INPUT | node::OUTPUT) {
            parts.node.forms.set_explicit(number, name.is_empty());
        }
    }

    /// Decodes a message field of a node.
    #[inline(never)]
    fn node_message(
        &mut self,
        reader: &Reader<'a>,
        number: u32,
        content: Payload<'a>,
        parts: &mut Parts,
        index: usize,
    ) -> Result<()> {
        match number {
            node::ATTRIBUTE => {
                let attribute = self.node_attribute(reader, content, &parts.node, index)?;
                parts.node.attributes.push(attribute);
            }
            node::METADATA_PROPS => parts.rare().metadata.push(self.metadata(reader, content)?),
            _ => parts.rare().device_configurations.push(self.node_devices(reader, content)?),
        }
        Ok(())
    }

    #[inline]
    fn finish_node(&mut self, parts: Parts, offset: usize, node: NodeId) {
        let Parts { node: mut loaded, outputs } = parts;
        loaded.extras.take_if(|extras| extras.is_empty());
        self.loader.finish_node(&mut self.model, node, loaded, &outputs);
        if self.options.offsets {
            self.model.set_node_origin(node, Origin::Byte(offset as u64));
        }
    }

    fn node_attribute(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        node: &LoadedNode,
        index: usize,
    ) -> Result<Attribute> {
        self.steps.push(Step::Node { index, op: node.op, name: node.name });
        let attribute = self
            .attribute(reader, payload)
            .map_err(|error| error.in_item("attribute", node.attributes.len()))?;
        self.steps.pop();
        Ok(attribute)
    }
}
