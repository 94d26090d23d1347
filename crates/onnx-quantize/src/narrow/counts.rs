//! Positions and counts that are computed in `float`.
//!
//! A narrow type has whole numbers up to 2048 (`float16`) or 256 (`bfloat16`): beyond them, `count + 1` is `count`, and the angles of positions
//! have nothing to do with the positions. Small inputs do not show it.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{Callee, GraphId, Model, Node, NodeId, ValueId};
use onnx_schema::traits::newest;
use onnx_schema::{Registry, Traits, op};
use onnx_types::{ElemType, Type};

use super::control_flow::links;
use super::functions::Types;
use super::slots::Kept;
use super::want::WideReason;
use crate::types::inner_elem;

/// The number of nodes that are followed from a result to what it is made of.
const DEPTH: usize = 128;

/// Keeps the nodes that count, and those that make positions of whole numbers. Returns the values that loops count in.
pub(super) fn keep(model: &Model, types: &Types, roots: &[GraphId], kept: &mut Kept) -> Vec<ValueId> {
    let nodes: Vec<NodeId> = roots.iter().flat_map(|&root| model.nodes_in(root)).collect();
    let mut counters = Vec::new();
    for &node in &nodes {
        for (formal, result) in carried(model, node) {
            let is_one = types.get(&formal).is_some_and(is_list_of_floats);
            let counts = [formal];
            let mut walk = Walk::new(model, types, &counts, Follows::Sums);
            if !is_one || !walk.reaches(result, DEPTH) {
                continue;
            }
            let mut sums = Kept::default();
            walk.mark(result, &mut sums);
            // What is only handed on is not counted.
            if sums.keys().any(|&node| matches!(model.node(node).op(), op::ADD | op::SUB)) {
                sums.into_iter().for_each(|(node, reason)| _ = kept.entry(node).or_insert(reason));
                counters.push(formal);
            }
        }
    }
    let mut walk = Walk::new(model, types, &counters, Follows::Positions);
    for &node in &nodes {
        let record = model.node(node);
        // Sums of many numbers lose those that are small against the sum.
        if record.domain().is_empty() && record.is(op::CUM_SUM) {
            kept.entry(node).or_insert(WideReason::Count);
        }
        if !record.domain().is_empty() || !needs_exact(record, types) {
            continue;
        }
        let operands: Vec<ValueId> = record.inputs().flatten().collect();
        for value in operands {
            if walk.reaches(value, DEPTH) {
                // A `Cast` takes either type.
                if !record.is(op::CAST) {
                    kept.entry(node).or_insert(WideReason::Count);
                }
                walk.mark(value, kept);
            }
        }
    }
    counters
}

/// The values that a loop carries: the input of its body, and the output that is the next one.
fn carried(model: &Model, node: NodeId) -> Vec<(ValueId, ValueId)> {
    let record = model.node(node);
    if !record.is(op::LOOP) && !record.is(op::SCAN) {
        return Vec::new();
    }
    let Callee::Standard(schema) = model.callee(node, Registry::STANDARD) else { return Vec::new() };
    let of = |(graph, index): (GraphId, usize)| model.graph(graph).inputs().get(index).copied();
    let to = |(graph, index): (GraphId, usize)| {
        model.graph(graph).outputs().get(index).map(onnx_ir::GraphOutput::value)
    };
    let links = links(model, record, schema).unwrap_or_default();
    let pairs = links.into_iter().filter_map(|link| match (&link.formals[..], &link.results[..]) {
        (&[formal], &[result]) => of(formal).zip(to(result)),
        _ => None,
    });
    pairs.collect()
}

fn is_list_of_floats(ty: &Type) -> bool {
    inner_elem(ty) == Some(ElemType::Float) && ty.shape().is_some_and(|shape| shape.rank() <= 1)
}

/// What a walk goes through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// What makes the next number of a loop that counts or sums.
    Sums,
    /// What makes positions of positions.
    Positions,
}

impl Follows {
    fn passes(self, record: &Node) -> bool {
        keeps_elements(record)
            || match self {
                Self::Sums => matches!(record.op(), op::ADD | op::SUB | op::WHERE),
                Self::Positions => {
                    matches!(record.op(), op::CONCAT | op::EINSUM | op::EXPAND | op::MAT_MUL | op::TILE)
                        || newest(record.op()).is_some_and(Traits::is_elementwise)
                }
            }
    }
}

fn keeps_elements(record: &Node) -> bool {
    newest(record.op()).is_some_and(Traits::keeps_elements)
}

/// Whether a node needs exact numbers: angles, comparisons, and what becomes an integer.
fn needs_exact(record: &Node, types: &Types) -> bool {
    let gives = |is_taken: fn(ElemType) -> bool| {
        let elem = record.output(0).and_then(|value| types.get(&value)).and_then(inner_elem);
        elem.is_some_and(is_taken)
    };
    match record.op() {
        op::COS | op::SIN => true,
        op::EQUAL | op::GREATER | op::GREATER_OR_EQUAL | op::LESS | op::LESS_OR_EQUAL => true,
        op::CAST => gives(is_whole),
        _ => false,
    }
}

/// Whether a type has whole numbers that a narrow type does not have.
const fn is_whole(elem: ElemType) -> bool {
    use ElemType::{Int16, Int32, Int64, Uint16, Uint32, Uint64};
    matches!(elem, Int16 | Int32 | Int64 | Uint16 | Uint32 | Uint64)
}

/// A walk from results to the counts that they are made of.
struct Walk<'a> {
    model: &'a Model,
    types: &'a Types,
    /// Values that are counts.
    counts: &'a [ValueId],
    follows: Follows,
    known: HashMap<ValueId, bool, RandomState>,
}

impl<'a> Walk<'a> {
    fn new(model: &'a Model, types: &'a Types, counts: &'a [ValueId], follows: Follows) -> Self {
        Self { model, types, counts, follows, known: HashMap::default() }
    }

    /// Whether a node makes a count of something else: of integers, of a range, as a sum of what is in front of each element.
    fn is_source(&self, record: &Node) -> bool {
        let is_integer = || {
            let elem = record.input(0).and_then(|value| self.types.get(&value)).and_then(inner_elem);
            elem.is_some_and(is_whole)
        };
        match record.op() {
            op::CUM_SUM | op::RANGE => self.follows == Follows::Positions,
            op::CAST => self.follows == Follows::Positions && is_integer(),
            _ => false,
        }
    }

    /// Whether a value is made of a count.
    fn reaches(&mut self, value: ValueId, depth: usize) -> bool {
        if self.counts.contains(&value) {
            return true;
        }
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        let model = self.model;
        let is_float = self.types.get(&value).and_then(inner_elem) == Some(ElemType::Float);
        let producer = model.value(value).producer().filter(|_| is_float && depth > 0);
        let Some(record) = producer.map(|node| model.node(node)) else { return false };
        let found = record.domain().is_empty()
            && (self.is_source(record)
                || (self.follows.passes(record)
                    && record.inputs().flatten().any(|value| self.reaches(value, depth - 1))));
        self.known.insert(value, found);
        found
    }

    /// Keeps the nodes between a value and the counts that it is made of.
    fn mark(&mut self, value: ValueId, kept: &mut Kept) {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            let Some(node) = self.model.value(value).producer() else { continue };
            if self.counts.contains(&value) || kept.contains_key(&node) {
                continue;
            }
            kept.insert(node, WideReason::Count);
            let record = self.model.node(node);
            if !self.is_source(record) {
                let operands: Vec<ValueId> = record.inputs().flatten().collect();
                open.extend(operands.into_iter().filter(|&value| self.reaches(value, DEPTH)));
            }
        }
    }
}
