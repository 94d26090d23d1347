//! `GraphProto`: three walks over the fields.

use onnx_ir::{Constant, GraphId};
use onnx_proto::field::{graph, model};
use onnx_proto::wire::{Input, Payload, Reader};
use onnx_types::Symbol;

use super::{Cx, Occurrences, Result, Step, WireForm, len};

/// The nodes that a graph begins with. Files give them first, so they are most of what there is.
#[derive(Clone, Copy)]
pub(super) struct Head {
    /// The offset of the graph's content.
    pub(super) start: usize,
    /// Number of nodes.
    nodes: usize,
    /// The offset behind them.
    pub(super) rest: usize,
}

/// Nodes of which a model is large: the memory of smaller ones is below what allocators keep.
const LARGE: usize = 1 << 12;

/// Bytes that a node takes with its results, their names and its entries in tables; measured with models of nodes that have one
/// operand and one initializer each. What they share with the file is not in it.
const BYTES_OF_NODE: usize = 640;

impl Head {
    /// About how many bytes a model takes with these nodes; 0 for few of them. A node that the file describes in two bytes takes
    /// less, so that the size of the file bounds what a hostile one asks for.
    pub(super) fn memory(self) -> usize {
        if self.nodes < LARGE {
            return 0;
        }
        let by_file = self.rest.saturating_sub(self.start).saturating_mul(32);
        self.nodes.saturating_mul(BYTES_OF_NODE).min(by_file)
    }

    /// How many names to make room for. An empty node takes two bytes and names nothing, so without the bound a hostile
    /// file could ask for much more than it uses.
    pub(super) fn names(self) -> usize {
        self.nodes.saturating_mul(2).min(self.rest.saturating_sub(self.start) / 8)
    }
}

/// Scans the beginning of the main graph; malformed input is reported later, by the decoder.
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "a message in memory has no more fields than bytes")
)]
pub(super) fn head(input: &Input) -> Option<Head> {
    let mut model = input.reader();
    let graph = loop {
        let field = model.next_field().ok()??;
        if let (model::GRAPH, Some(graph)) = (field.number, len(field.value)) {
            break graph;
        }
    };
    let mut fields = model.message(graph).ok()?;
    let mut head = Head { start: graph.offset(), nodes: 0, rest: graph.offset() };
    while let Ok(Some(field)) = fields.next_field()
        && let (graph::NODE, Some(_)) = (field.number, len(field.value))
    {
        head.nodes += 1;
        head.rest = field.end;
    }
    Some(head)
}

impl<'a> Cx<'a> {
    /// Reads a graph that sees the names of the graphs that are open, unless it is `isolated`; calls `inside` before the
    /// names of the graph are forgotten.
    pub(super) fn graph(
        &mut self,
        occurrences: &Occurrences<'a>,
        graph: GraphId,
        isolated: bool,
        inside: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let outer = self.model.enter(graph, isolated);
        self.steps.push(Step::Graph(Symbol::EMPTY));
        let references = self.definitions(occurrences, graph)?;
        let mut index = 0;
        for occurrence in occurrences {
            self.nodes(occurrence, graph::NODE, &mut index)?;
        }
        self.references(&references, graph)?;
        inside(self)?;
        self.steps.pop();
        self.model.leave(outer);
        self.check_size(occurrences.first().map_or(0, Reader::offset))
    }

    /// The first walk: everything but nodes and what refers to values. Returns the fields from the first one on that refers
    /// to a value, which nearly always follow all nodes.
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "a message in memory has no more fields than bytes"
        )
    )]
    fn definitions(&mut self, occurrences: &Occurrences<'a>, graph: GraphId) -> Result<Occurrences<'a>> {
        let mut form = WireForm::default();
        let (mut nodes, mut infos, mut references) = (0_usize, 0_usize, Occurrences::new());
        for occurrence in occurrences {
            let mut fields = occurrence.clone();
            if let Some(head) = self.head.filter(|head| head.start == occurrence.offset()) {
                nodes += head.nodes;
                fields = occurrence.starting_at(head.rest);
            }
            let mut first = None;
            while let Some(field) = fields.next_field()? {
                match (field.number, len(field.value)) {
                    (graph::NODE, Some(_)) => nodes += 1,
                    (graph::OUTPUT | graph::VALUE_INFO | graph::QUANTIZATION_ANNOTATION, Some(_)) => {
                        infos += usize::from(field.number == graph::VALUE_INFO);
                        first = first.or(Some(field.start));
                    }
                    (graph::NAME, Some(text)) => {
                        let name = self.noted(&fields, text, field.number, &mut form)?;
                        self.model.set_graph_name(graph, name);
                        if let Some(step) = self.steps.last_mut() {
                            *step = Step::Graph(name);
                        }
                    }
                    (graph::INITIALIZER, Some(tensor)) => {
                        let index = self.model.graph(graph).initializer_slots();
                        self.initializer(&fields, tensor)
                            .map_err(|error| error.in_item("initializer", index))?;
                    }
                    (graph::DOC_STRING, Some(text)) => {
                        let doc = self.noted(&fields, text, field.number, &mut form)?;
                        self.model.graph_mut(graph).doc = doc;
                    }
                    (graph::INPUT, Some(info)) => {
                        let index = self.model.graph(graph).inputs().len();
                        self.graph_input(&fields, info).map_err(|error| error.in_item("input", index))?;
                    }
                    (graph::SPARSE_INITIALIZER, Some(sparse)) => {
                        self.sparse_initializer(&fields, sparse)
                            .map_err(|error| error.in_field("sparse_initializer"))?;
                    }
                    (graph::METADATA_PROPS, Some(entry)) => {
                        let entry = self.metadata(&fields, entry)?;
                        self.model.graph_mut(graph).metadata.push(entry);
                    }
                    (number, _) => {
                        let known = graph::is_known(number);
                        self.keep(&mut form.unknown, &field, known);
                    }
                }
            }
            references.extend(first.map(|offset| occurrence.starting_at(offset)));
        }
        self.make_room(nodes, infos, occurrences.first().map_or(0, Reader::offset))?;
        let mut record = self.model.graph_mut(graph);
        record.forms = form.forms;
        record.unknown = form.unknown;
        Ok(references)
    }

    /// Reserves capacity for nodes and entries of `value_info`, or returns an error if the model would exceed a limit.
    fn make_room(&mut self, nodes: usize, infos: usize, offset: usize) -> Result<()> {
        let nodes_then = self.model.node_count().saturating_add(nodes);
        self.check("nodes", nodes_then, self.options.execution.limits.nodes, offset)?;
        self.check_size(offset)?;
        self.model.reserve_graph(nodes, infos);
        Ok(())
    }

    /// The third walk: outputs, `value_info` and annotations.
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "a message in memory has no more fields than bytes"
        )
    )]
    fn references(&mut self, occurrences: &Occurrences<'a>, graph: GraphId) -> Result<()> {
        let (mut outputs, mut infos, mut annotations) = (0, 0, 0);
        for occurrence in occurrences {
            let mut fields = occurrence.clone();
            while let Some(field) = fields.next_field()? {
                match (field.number, len(field.value)) {
                    (graph::OUTPUT, Some(info)) => {
                        self.graph_output(&fields, info).map_err(|error| error.in_item("output", outputs))?;
                        outputs += 1;
                    }
                    (graph::VALUE_INFO, Some(info)) => {
                        self.value_info(&fields, info).map_err(|error| error.in_item("value_info", infos))?;
                        infos += 1;
                    }
                    (graph::QUANTIZATION_ANNOTATION, Some(annotation)) => {
                        let annotation = self
                            .annotation(&fields, annotation)
                            .map_err(|error| error.in_item("quantization_annotation", annotations))?;
                        self.model.graph_mut(graph).quantization.push(annotation);
                        annotations += 1;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn initializer(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<()> {
        self.work(payload)?;
        let (tensor, name) = self.named_tensor(reader, payload)?;
        self.load_initializer(name, Constant::Dense(tensor), payload.offset());
        Ok(())
    }

    fn sparse_initializer(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<()> {
        self.work(payload)?;
        let (sparse, name) = self.named_sparse(reader, payload)?;
        self.load_initializer(name, Constant::Sparse(sparse), payload.offset());
        Ok(())
    }

    fn load_initializer(&mut self, name: Symbol, constant: Constant, offset: usize) {
        let value = self.model.write_initializer(name, constant);
        self.offset(value, offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_the_file_bounds_the_memory_that_is_asked_for() {
        let memory = |nodes, bytes: usize| Head { start: 10, nodes, rest: 10 + bytes }.memory();
        assert_eq!(memory(100, 10_000), 0);
        assert_eq!(memory(200_000, 8_000_000), 128_000_000);
        assert_eq!(memory(1_000_000, 2_000_000), 64_000_000);
    }
}
