//! The data flow of one graph by indices of its nodes, for the detection of repeated blocks.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use onnx_ir::{AttrValue, Def, GraphId, Model, NodeId, User, ValueId};
use onnx_types::tensor::NoData;
use onnx_types::{Interrupt, Stopped, Watch};
use slotmap::SecondaryMap;

use crate::references::{differentiated, has_devices, referred};

/// Nodes between two checks of the interrupt.
pub(super) const WATCHED_NODES: u64 = 1 << 10;

/// The source of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// The operand is omitted.
    Omitted,
    /// An output of a node of the graph.
    Node {
        /// The index of the node.
        node: usize,
        /// The index of the output.
        output: usize,
        value: ValueId,
    },
    /// A value that no node of the graph makes.
    Outside(ValueId),
}

/// A use of an output of a node by another node of the graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Edge {
    pub(super) output: usize,
    pub(super) user: usize,
    pub(super) input: usize,
}

/// The data flow of a graph.
pub(super) struct Flow {
    pub(super) nodes: Vec<NodeId>,
    pub(super) operands: Vec<Vec<Source>>,
    /// The uses of the outputs of each node by operands of nodes of the graph.
    pub(super) uses: Vec<Vec<Edge>>,
    /// The nodes that depend directly on each node, also through a nested graph.
    pub(super) successors: Vec<Vec<usize>>,
    /// For each output of each node whether something other than an operand of a node of the graph uses it.
    pub(super) escapes: Vec<Vec<bool>>,
    /// A hash of the operator with its attributes; `None` for a node that cannot be part of a function.
    pub(super) labels: Vec<Option<u64>>,
}

impl Flow {
    pub(super) fn new(model: &Model, graph: GraphId, interrupt: &Interrupt) -> Result<Self, Stopped> {
        let mut watch = Watch::silent(interrupt, WATCHED_NODES);
        let nodes: Vec<NodeId> = model.nodes(graph).collect();
        let mut index: SecondaryMap<NodeId, usize> = SecondaryMap::new();
        for (number, &node) in nodes.iter().enumerate() {
            index.insert(node, number);
        }
        let referred = referred(model);
        let mut flow = Self {
            operands: Vec::with_capacity(nodes.len()),
            uses: vec![Vec::new(); nodes.len()],
            successors: vec![Vec::new(); nodes.len()],
            escapes: Vec::with_capacity(nodes.len()),
            labels: Vec::with_capacity(nodes.len()),
            nodes,
        };
        for number in 0..flow.nodes.len() {
            watch.work(1)?;
            flow.add(model, graph, number, &index, &referred);
        }
        // These nodes cannot be part of a function.
        for node in differentiated(model, graph).keys() {
            if let Some(label) = index.get(node).and_then(|&number| flow.labels.get_mut(number)) {
                *label = None;
            }
        }
        Ok(flow)
    }

    fn add(
        &mut self,
        model: &Model,
        graph: GraphId,
        number: usize,
        index: &SecondaryMap<NodeId, usize>,
        referred: &SecondaryMap<ValueId, ()>,
    ) {
        let node = self.nodes[number];
        let record = model.node(node);
        let operand = |value: Option<ValueId>| {
            let Some(value) = value else { return Source::Omitted };
            let Def::Output { node, index: output } = model.value(value).def() else {
                return Source::Outside(value);
            };
            let Some(&producer) = index.get(node) else { return Source::Outside(value) };
            Source::Node { node: producer, output: output as usize, value }
        };
        let operands: Vec<Source> = record.inputs().map(operand).collect();
        for (input, &source) in operands.iter().enumerate() {
            if let Source::Node { node, output, .. } = source {
                self.uses[node].push(Edge { output, user: number, input });
            }
        }
        self.operands.push(operands);
        model.for_each_use_within(node, |value| {
            if let Some(&producer) = model.value(value).producer().and_then(|producer| index.get(producer)) {
                self.successors[producer].push(number);
            }
        });
        let outputs = record.outputs();
        let is_used_elsewhere = |&value: &ValueId| {
            model.value(value).uses().iter().any(|at| match at.user {
                User::Node(user) => model.node(user).graph() != graph,
                User::Attribute(_) | User::Graph(_) => true,
            })
        };
        let escapes = outputs.iter().map(|output| output.as_ref().is_some_and(is_used_elsewhere));
        self.escapes.push(escapes.collect());
        let is_plain = record.nested_graphs().next().is_none()
            && !record.attributes().iter().any(|attribute| matches!(attribute.value(), AttrValue::Ref(_)))
            && !has_devices(model, node)
            && !outputs.iter().flatten().any(|&output| referred.contains_key(output))
            // A call needs a result that is used.
            && outputs.iter().flatten().any(|&output| model.value(output).is_used());
        self.labels.push(is_plain.then(|| label(model, node)));
    }
}

/// A hash that nodes share if they have the same operator and attributes and omit the same operands and results.
fn label(model: &Model, node: NodeId) -> u64 {
    let mut hasher = DefaultHasher::new();
    model.hash_operator(node, &NoData, &mut hasher);
    let record = model.node(node);
    record.inputs().for_each(|input| input.is_some().hash(&mut hasher));
    record.outputs().iter().for_each(|output| output.is_some().hash(&mut hasher));
    hasher.finish()
}
