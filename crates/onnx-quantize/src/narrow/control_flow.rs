//! The values that nodes of control flow carry into their graphs and out of them.

use onnx_ir::{GraphId, GraphOutput, Model, Node, ValueId};
use onnx_schema::{Schema, TypeSet, attr, op};

/// An operand or result of a node, with everything in its graphs that has its elements.
#[derive(Default)]
pub(crate) struct Link {
    pub(crate) input: Option<usize>,
    pub(crate) output: Option<usize>,
    /// Inputs of graphs.
    pub(crate) formals: Vec<(GraphId, usize)>,
    /// Outputs of graphs.
    pub(crate) results: Vec<(GraphId, usize)>,
}

impl Link {
    /// All values that it connects.
    pub(crate) fn values(&self, model: &Model, node: &Node) -> Vec<ValueId> {
        let of_node = [
            self.input.and_then(|index| node.input(index)),
            self.output.and_then(|index| node.output(index)),
        ];
        let formals =
            self.formals.iter().filter_map(|&(graph, index)| model.graph(graph).inputs().get(index).copied());
        let results = self
            .results
            .iter()
            .filter_map(|&(graph, index)| model.graph(graph).outputs().get(index).map(GraphOutput::value));
        of_node.into_iter().flatten().chain(formals).chain(results).collect()
    }

    /// The types that the operator allows for it.
    pub(crate) fn types(&self, schema: &'static Schema) -> Vec<TypeSet> {
        let input = self.input.and_then(|index| schema.input_for(index));
        let output = self.output.and_then(|index| schema.output_for(index));
        [input, output].into_iter().flatten().map(|formal| schema.types_of(formal)).collect()
    }
}

/// The links of a node; `None` if it is not one of control flow, or has a form that is not known.
pub(crate) fn links(model: &Model, node: &Node, schema: &'static Schema) -> Option<Vec<Link>> {
    let graphs: Vec<GraphId> = node.nested_graphs().collect();
    let outputs = node.outputs().len();
    if schema.op() == op::IF {
        let link = |index| Link {
            output: Some(index),
            results: graphs.iter().map(|&graph| (graph, index)).collect(),
            ..Link::default()
        };
        return Some((0..outputs).map(link).collect());
    }
    let &[body] = graphs.as_slice() else { return None };
    let formals = model.graph(body).inputs().len();
    if schema.op() == op::LOOP {
        let carried = formals.checked_sub(2)?;
        let link = |index: usize| Link {
            input: (index < carried).then_some(index + 2),
            output: Some(index),
            formals: if index < carried { vec![(body, index + 2)] } else { Vec::new() },
            results: vec![(body, index + 1)],
        };
        return Some((0..outputs.max(carried)).map(link).collect());
    }
    if schema.op() == op::SCAN {
        // The first version has the lengths of sequences as its first operand.
        let offset = usize::from(schema.since_version() == 8);
        let scanned = usize::try_from(node.int(attr::NUM_SCAN_INPUTS)?).ok()?;
        let states = formals.checked_sub(scanned)?;
        let state = |index: usize| Link {
            input: Some(index + offset),
            output: Some(index),
            formals: vec![(body, index)],
            results: vec![(body, index)],
        };
        let input = |index: usize| Link {
            input: Some(index + offset),
            formals: vec![(body, index)],
            ..Link::default()
        };
        let output =
            |index: usize| Link { output: Some(index), results: vec![(body, index)], ..Link::default() };
        let all = (0..states).map(state).chain((states..formals).map(input));
        return Some(all.chain((states..outputs).map(output)).collect());
    }
    if schema.op() == op::SEQUENCE_MAP {
        let input =
            |index: usize| Link { input: Some(index), formals: vec![(body, index)], ..Link::default() };
        let output =
            |index: usize| Link { output: Some(index), results: vec![(body, index)], ..Link::default() };
        return Some((0..formals).map(input).chain((0..outputs).map(output)).collect());
    }
    None
}
