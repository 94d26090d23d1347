//! A model as a runtime sees it when it looks for patterns: functions and the branches of constant conditions are in their places, what
//! changes nothing is left out, and what moves elements may be elsewhere. Every decision about patterns is made on this view.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_eval::{EvalOptions, constant};
use onnx_ir::{Callee, Def, GraphId, Model, Node, NodeId, OpsetScope, User, ValueId};
use onnx_schema::traits::newest;
use onnx_schema::{Registry, Traits, op};
use onnx_types::tensor::NoData;
use onnx_types::{Symbol, Type};

use super::repeat::is_repeated_behind;
use crate::activations::constants::Varying;
use crate::types::inner_elem;
use crate::weights::dense_constant;

/// The calls of functions, which are what a view of a model needs. Edits that add or remove no call leave it as it is.
pub(crate) struct RuntimeView {
    /// By the body of the function.
    calls: HashMap<GraphId, Vec<NodeId>, RandomState>,
    /// Adding nodes does not change what varies.
    varying: RefCell<Varying>,
}

/// A node that uses a value as an operand.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) node: NodeId,
    pub(crate) index: usize,
    /// The call outside of functions with the index of the operand, if the node is in a function and gets the value by it.
    pub(super) entry: Option<(NodeId, usize)>,
}

/// The most values in functions that a search for users goes through.
const MOST_INSIDE: usize = 4096;

/// A value with the calls by which a search came into its function, the outer ones first, each with the index of the operand.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Reached {
    value: ValueId,
    calls: Vec<(NodeId, usize)>,
}

impl RuntimeView {
    pub(crate) fn of(model: &Model) -> Self {
        let mut calls: HashMap<GraphId, Vec<NodeId>, RandomState> = HashMap::default();
        if !model.functions().is_empty() {
            for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
                if let Some(body) = body(model, node) {
                    calls.entry(body).or_default().push(node);
                }
            }
        }
        Self { calls, varying: RefCell::default() }
    }

    /// The nodes that call a function, by its body.
    pub(crate) fn calls(&self, body: GraphId) -> &[NodeId] {
        self.calls.get(&body).map_or(&[], Vec::as_slice)
    }

    /// Whether a value depends on what a caller gives, or a loop carries.
    pub(super) fn varies(&self, model: &Model, value: ValueId) -> bool {
        self.varying.borrow_mut().has(model, value)
    }

    /// The nodes that use a value, or its copies by nodes that a predicate chooses. What enters a function leaves it at the same call.
    pub(crate) fn users(
        &self,
        model: &Model,
        value: ValueId,
        is_copy: impl Fn(&Model, NodeId, usize) -> bool,
    ) -> Vec<Place> {
        self.reach(model, value, is_copy).0
    }

    /// Whether a graph takes a value from outside, or its copies by nodes that a predicate chooses. A function is a part of the graph that calls it.
    pub(super) fn is_captured(
        &self,
        model: &Model,
        value: ValueId,
        is_copy: impl Fn(&Model, NodeId, usize) -> bool,
    ) -> bool {
        self.reach(model, value, is_copy).1
    }

    /// The nodes that use a value, or its copies, and whether a nested graph takes one of these from outside.
    fn reach(
        &self,
        model: &Model,
        value: ValueId,
        is_copy: impl Fn(&Model, NodeId, usize) -> bool,
    ) -> (Vec<Place>, bool) {
        let (mut open, mut found) = (vec![Reached { value, calls: Vec::new() }], Vec::new());
        let mut seen = HashSet::<Reached, RandomState>::default();
        let (mut inside, mut is_captured) = (0_usize, false);
        while let Some(reached) = open.pop() {
            // Functions that call others twice double the ways through them.
            inside += usize::from(!reached.calls.is_empty());
            is_captured |= inside > MOST_INSIDE;
            if inside > MOST_INSIDE || !seen.insert(reached.clone()) {
                continue;
            }
            let Reached { value, calls } = reached;
            let own = model.graph_of(value);
            for at in model.value(value).uses() {
                let index = at.index as usize;
                is_captured |= match at.user {
                    User::Node(node) => model.node(node).graph() != own,
                    User::Graph(graph) => graph != own,
                    User::Attribute(_) => false,
                };
                match at.user {
                    User::Node(node) => match body(model, node) {
                        Some(body) => {
                            let calls = calls.iter().copied().chain([(node, index)]).collect();
                            let input = model.graph(body).inputs().get(index);
                            open.extend(input.map(|&value| Reached { value, calls }));
                        }
                        None if is_copy(model, node, index) => {
                            let result = model.node(node).output(0);
                            open.extend(result.map(|value| Reached { value, calls: calls.clone() }));
                        }
                        None => {
                            let entry = calls.first().copied().filter(|&(call, _)| is_outside(model, call));
                            found.push(Place { node, index, entry });
                        }
                    },
                    User::Graph(graph) => open.extend(self.behind(model, (graph, index), &calls)),
                    User::Attribute(_) => {}
                }
            }
        }
        (found, is_captured)
    }

    /// The results that an output of a graph is where the graph takes the place of a node.
    fn behind(
        &self,
        model: &Model,
        (graph, index): (GraphId, usize),
        calls: &[(NodeId, usize)],
    ) -> Vec<Reached> {
        let owner = model.owner_node(graph).filter(|&owner| model.node(owner).is(op::IF));
        let reached = |node: NodeId, calls: &[(NodeId, usize)]| {
            let value = model.node(node).output(index)?;
            Some(Reached { value, calls: calls.to_vec() })
        };
        if let Some(owner) = owner {
            return reached(owner, calls).into_iter().collect();
        }
        match (self.calls.get(&graph), calls.split_last()) {
            (Some(_), Some((&(call, _), outer))) => reached(call, outer).into_iter().collect(),
            (Some(all), None) => all.iter().filter_map(|&call| reached(call, &[])).collect(),
            (None, _) => Vec::new(),
        }
    }

    /// The nodes that use a value, or its copies by nodes that a runtime leaves out.
    pub(super) fn copied_users(&self, model: &Model, value: ValueId) -> Vec<Place> {
        self.users(model, value, |model, node, index| self.is_same(model, node, index))
    }

    /// The sums behind a product, each with the index of the operand that is added.
    pub(crate) fn sums_behind(&self, model: &Model, product: NodeId) -> Vec<(Place, usize)> {
        let Some(result) = model.node(product).output(0) else { return Vec::new() };
        let users = self.users(model, result, |model, node, index| {
            index == 0 && is_copy(model.node(node)) || self.is_same(model, node, index)
        });
        let sums = users.into_iter().filter(|place| model.node(place.node).is(op::ADD));
        sums.filter_map(|place| Some((place, 1_usize.checked_sub(place.index)?))).collect()
    }

    /// Whether the numbers of the result of a node are those of an operand, so that a runtime may leave it out.
    pub(super) fn is_same(&self, model: &Model, node: NodeId, index: usize) -> bool {
        let record = model.node(node);
        let is_neutral = |other: usize, number: f64| {
            let other = record.input(other).filter(|&other| !self.varies(model, other));
            let tensor = other.and_then(|other| constant(model, other, &EvalOptions::default()).ok());
            let numbers: Option<Vec<f64>> =
                tensor.and_then(|tensor| Some(tensor.iter_f64(&NoData).ok()?.take(2).collect()));
            numbers.is_some_and(|numbers| numbers == [number])
        };
        let elem = |value: Option<ValueId>| value.and_then(|value| model.ty(value)).and_then(inner_elem);
        let is = |op| record.is(op);
        match index {
            // The types are those of the call in a function.
            0 if is(op::CAST) || is(op::CAST_LIKE) => {
                let types = elem(record.input(0)).zip(elem(record.output(0)));
                types.map_or(!is_outside(model, node), |(before, after)| before == after)
            }
            // In training, elements are dropped.
            0 if is(op::DROPOUT) => record.input(2).is_none() || is_neutral(2, 0.0),
            0 if is(op::SUB) => is_neutral(1, 0.0),
            0 if is(op::DIV) => is_neutral(1, 1.0),
            0 | 1 if is(op::ADD) => is_neutral(1 - index, 0.0),
            0 | 1 if is(op::MUL) => is_neutral(1 - index, 1.0),
            0 => is(op::IDENTITY) || is(op::EXPAND) || is(op::CONCAT) && record.inputs().count() == 1,
            _ => false,
        }
    }

    /// The number of axes of a value; of an input of a function, that of an operand.
    pub(super) fn rank(&self, model: &Model, value: ValueId) -> Option<usize> {
        let (mut open, mut seen) = (vec![value], HashSet::<ValueId, RandomState>::default());
        while let Some(value) = open.pop().filter(|&value| seen.insert(value)) {
            if let Some(rank) = rank(model, value) {
                return Some(rank);
            }
            if let Def::Input { graph, index } = model.value(value).def() {
                let calls = self.calls.get(&graph).into_iter().flatten();
                open.extend(calls.filter_map(|&call| model.node(call).input(index as usize)));
            }
        }
        None
    }
}

/// The number of axes of a value, if the model states it.
pub(super) fn rank(model: &Model, value: ValueId) -> Option<usize> {
    match dense_constant(model, value) {
        Some(constant) => Some(constant.rank()),
        None => model.ty(value).and_then(Type::shape).map(|shape| shape.rank()),
    }
}

/// The body of the function that a node calls.
pub(crate) fn body(model: &Model, node: NodeId) -> Option<GraphId> {
    match model.callee(node, Registry::STANDARD) {
        Callee::Function(function) => Some(model.function(function).body()),
        _ => None,
    }
}

/// Whether a node is not in a function: functions are not changed.
pub(crate) fn is_outside(model: &Model, node: NodeId) -> bool {
    matches!(model.scope(model.node(node).graph()), OpsetScope::Model)
}

/// The values that the result of a node can be when a runtime has optimized the model: those in front of operators that move elements, are
/// left out if they change nothing, or stand for a graph that takes their place. Empty for what computes.
pub(super) fn passed(model: &Model, value: ValueId) -> Vec<ValueId> {
    let Def::Output { node, index } = model.value(value).def() else { return Vec::new() };
    let record = model.node(node);
    let of_graph = |graph| model.graph(graph).outputs().get(index as usize).map(|output| output.value());
    if let Some(body) = body(model, node) {
        return of_graph(body).into_iter().chain(record.inputs().flatten()).collect();
    }
    if !record.domain().is_empty() {
        return Vec::new();
    }
    if record.is(op::IF) {
        return record.nested_graphs().filter_map(of_graph).collect();
    }
    if is_copy(record) || moves_elements(record) { record.input(0).into_iter().collect() } else { Vec::new() }
}

/// Whether a node only moves elements of its first operand, or chooses some of them: runtimes repeat pairs behind such.
pub(crate) fn moves_elements(record: &Node) -> bool {
    is_repeated_behind(record)
        || record.domain().is_empty() && newest(record.op()).is_some_and(Traits::keeps_elements)
}

/// Whether a runtime may leave a node out, because its result is its operand.
fn is_copy(record: &Node) -> bool {
    const COPIES: [Symbol; 6] = [op::CAST, op::CAST_LIKE, op::DROPOUT, op::EXPAND, op::IDENTITY, op::PAD];
    let is_one = || record.is(op::CONCAT) && record.inputs().count() == 1;
    record.domain().is_empty() && (COPIES.contains(&record.op()) || is_one())
}

/// Whether a `DequantizeLinear` makes a value, also in front of what is [`passed`]. It may make the inputs of a function.
pub(super) fn dequantized_before(model: &Model, value: ValueId) -> bool {
    let (mut open, mut seen) = (vec![value], HashSet::<ValueId, RandomState>::default());
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        match model.value(value).def() {
            Def::Input { graph, .. } if !matches!(model.scope(graph), OpsetScope::Model) => return true,
            Def::Output { node, .. } => {
                let record = model.node(node);
                if record.is(op::DEQUANTIZE_LINEAR) {
                    return true;
                }
                open.extend(passed(model, value));
            }
            _ => {}
        }
    }
    false
}
