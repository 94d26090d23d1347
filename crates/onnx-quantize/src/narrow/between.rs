//! Operators between pairs whose scales stay `float`.
//!
//! `QuantizeLinear` and `DequantizeLinear` take scales of a narrow type from version 19 on. Before it, an operator between them would need a
//! cast at each operand and at its result, which narrows nothing that lasts, and hides the pairs from a runtime that computes such an
//! operator with quantized numbers.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_ir::{Model, NodeId, User, ValueId};
use onnx_schema::{Registry, op};
use onnx_types::ElemType;

use super::Half;
use super::functions::Types;
use super::slots::{Kept, is_weight};
use super::want::WideReason;
use crate::types::inner_elem;

type Nodes = HashSet<NodeId, RandomState>;

/// Keeps the parts between pairs that stay wide, if they need as many casts as they have nodes. A longer part, such as a normalization that
/// is made of several operators, computes in the narrow type between two casts.
pub(super) fn keep(model: &Model, types: &Types, half: Half, registry: &Registry, kept: &mut Kept) {
    let pairs = Pairs { model, types, half, registry, kept };
    let nodes = pairs.between();
    let mut seen = Nodes::default();
    let mut stay = Vec::new();
    for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
        if !nodes.contains(&node) || seen.contains(&node) {
            continue;
        }
        let part = pairs.part(node, &nodes, &mut seen);
        if pairs.casts(&part) >= part.len() {
            stay.extend(part);
        }
    }
    kept.extend(stay.into_iter().map(|node| (node, WideReason::Pairs)));
}

struct Pairs<'a> {
    model: &'a Model,
    types: &'a Types,
    half: Half,
    registry: &'a Registry,
    kept: &'a Kept,
}

impl Pairs<'_> {
    fn is_float(&self, value: ValueId) -> bool {
        self.types.get(&value).and_then(inner_elem) == Some(ElemType::Float)
    }

    /// Whether a quantizer or dequantizer keeps `float`.
    fn is_wide(&self, node: NodeId, quantizes: bool) -> bool {
        let record = self.model.node(node);
        if !record.is(if quantizes { op::QUANTIZE_LINEAR } else { op::DEQUANTIZE_LINEAR }) {
            return false;
        }
        let Some(schema) = self.model.callee(node, self.registry).standard() else { return false };
        let formal = if quantizes { schema.input_for(0) } else { schema.output_for(0) };
        let takes = formal.is_some_and(|formal| schema.types_of(formal).contains_tensor(self.half.elem()));
        !takes || self.kept.contains_key(&node)
    }

    /// The operands of a node that would be cast.
    fn operands(&self, node: NodeId) -> impl Iterator<Item = ValueId> + '_ {
        let inputs = self.model.node(node).inputs().flatten();
        inputs.filter(|&value| self.is_float(value) && !self.is_constant(value))
    }

    fn is_constant(&self, value: ValueId) -> bool {
        let producer = self.model.value(value).producer();
        is_weight(self.model, value) || producer.is_some_and(|node| self.model.node(node).is(op::CONSTANT))
    }

    fn results(&self, node: NodeId) -> impl Iterator<Item = ValueId> + '_ {
        self.model.node(node).outputs().iter().copied().flatten()
    }

    /// The nodes between pairs.
    fn between(&self) -> Nodes {
        let model = self.model;
        let all = model.all_graphs().flat_map(|graph| model.nodes(graph));
        let mut nodes: Nodes = all.filter(|&node| self.may_be_between(node)).collect();
        let mut open: Vec<NodeId> = nodes.iter().copied().collect();
        while let Some(node) = open.pop() {
            if nodes.contains(&node) && !self.is_between(node, &nodes) {
                nodes.remove(&node);
                open.extend(self.neighbours(node).filter(|other| nodes.contains(other)));
            }
        }
        nodes
    }

    /// Whether a node could be quantized: it takes floats that are computed, and no weights of `float`, which would be half as large.
    fn may_be_between(&self, node: NodeId) -> bool {
        let record = self.model.node(node);
        let is_small = |value: ValueId| {
            let tensor = self.model.constant_tensor(value);
            tensor.is_some_and(|tensor| tensor.dims().iter().filter(|&&size| size > 1).count() <= 1)
        };
        let mut constants = record.inputs().flatten().filter(|&value| self.is_constant(value));
        record.nested_graphs().next().is_none()
            && !self.kept.contains_key(&node)
            && self.operands(node).next().is_some()
            && !record.is(op::QUANTIZE_LINEAR)
            && !record.is(op::DEQUANTIZE_LINEAR)
            && constants.all(|value| !self.is_float(value) || is_small(value))
    }

    /// Whether pairs, and other nodes between pairs, are all around a node.
    fn is_between(&self, node: NodeId, nodes: &Nodes) -> bool {
        let model = self.model;
        let is_made = |value: ValueId| {
            let producer = model.value(value).producer();
            producer.is_some_and(|node| nodes.contains(&node) || self.is_wide(node, false))
        };
        let is_taken = |value: ValueId| {
            model.value(value).uses().iter().all(|at| match at.user {
                User::Node(node) => {
                    nodes.contains(&node) || self.is_wide(node, true) || model.node(node).is(op::SHAPE)
                }
                User::Attribute(_) | User::Graph(_) => false,
            })
        };
        self.operands(node).all(is_made) && self.results(node).all(is_taken)
    }

    fn neighbours(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let before = self.operands(node).filter_map(|value| self.model.value(value).producer());
        before.chain(self.results(node).flat_map(|value| self.model.consumers(value)))
    }

    /// The nodes that are connected with one without a pair between them.
    fn part(&self, node: NodeId, nodes: &Nodes, seen: &mut Nodes) -> Vec<NodeId> {
        let (mut part, mut next) = (vec![node], 0);
        seen.insert(node);
        while let Some(&node) = part.get(next) {
            next += 1;
            part.extend(self.neighbours(node).filter(|&other| nodes.contains(&other) && seen.insert(other)));
        }
        part
    }

    /// The number of casts that a narrow part would need.
    fn casts(&self, part: &[NodeId]) -> usize {
        let is_wide = |value: ValueId, quantizes: bool| match quantizes {
            true => self.model.consumers(value).any(|node| self.is_wide(node, true)),
            false => self.model.value(value).producer().is_some_and(|node| self.is_wide(node, false)),
        };
        let operands =
            part.iter().flat_map(|&node| self.operands(node)).filter(|&value| is_wide(value, false));
        let results = part.iter().flat_map(|&node| self.results(node)).filter(|&value| is_wide(value, true));
        operands.chain(results).collect::<HashSet<ValueId, RandomState>>().len()
    }
}
