//! The operators that a node of a pattern matches, and an index of patterns by operator.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_ir::{Model, NodeId};
use onnx_ops::Call;

use crate::ast::FlatNode;
use crate::pattern::Pattern;

/// Returns `true` if a node calls the operator of a node of a pattern.
pub(crate) fn is_operator(model: &Model, record: &onnx_ir::Node, wanted: &FlatNode) -> bool {
    model.str(record.op()) == wanted.op && model.str(record.domain()) == wanted.domain
}

/// Returns `true` if a version does not have an attribute, and the latest one has this default.
pub(crate) fn is_later_default(call: Option<&Call<'_>>, name: &str, value: &onnx_ir::AttrValue) -> bool {
    let Some(schema) = call.map(Call::schema) else { return false };
    let is_declared = schema.attributes().iter().any(|formal| formal.text() == name);
    let later = crate::effective::latest(schema.domain(), schema.op());
    let formal = later.and_then(|later| later.attributes().iter().find(|formal| formal.text() == name));
    let default = formal.and_then(|formal| formal.default);
    !is_declared && default.is_some_and(|default| value.is_default(default))
}

/// Returns `true` if the version in scope has the semantics of the latest one.
pub(crate) fn has_semantics(call: Option<&Call<'_>>) -> bool {
    call.is_none_or(|call| call.schema().means_as_newest())
}

/// Patterns by the operator of their root and by one that makes an operand of it: the number of patterns that are tried
/// at a node does not grow with the patterns of other operators.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    by_root: HashMap<String, Candidates, RandomState>,
    /// The numbers of the patterns, those with more nodes first.
    order: Vec<usize>,
}

/// Patterns whose root has one operator, as positions in the order.
#[derive(Clone, Debug, Default)]
struct Candidates {
    always: Vec<usize>,
    /// Patterns that need an operand which this operator makes.
    by_operand: HashMap<String, Vec<usize>, RandomState>,
}

impl Index {
    pub(crate) fn new(patterns: &[Arc<Pattern>]) -> Self {
        let mut index = Self { by_root: HashMap::default(), order: (0..patterns.len()).collect() };
        // Patterns with more nodes come first, and names are unique, so that the order of rules does not matter.
        let key = |&number: &usize| {
            patterns.get(number).map(|pattern| (std::cmp::Reverse(pattern.node_count()), pattern.rule.name()))
        };
        index.order.sort_by(|a, b| key(a).cmp(&key(b)));
        for (place, pattern) in index.order.iter().filter_map(|&number| patterns.get(number)).enumerate() {
            for root in pattern.roots() {
                let candidates = index.by_root.entry(root.op.clone()).or_default();
                let makers = pattern.rarest_operand(root);
                if makers.is_empty() {
                    push(&mut candidates.always, place);
                }
                for op in makers {
                    push(candidates.by_operand.entry(op.to_owned()).or_default(), place);
                }
            }
        }
        index
    }

    /// Returns `true` if the root of a pattern has this operator.
    pub(crate) fn has_root(&self, op: &str) -> bool {
        self.by_root.contains_key(op)
    }

    /// The numbers of the patterns that may match at a node, in order.
    pub(crate) fn at(&self, model: &Model, node: NodeId) -> Vec<usize> {
        let Some(record) = model.get_node(node) else { return Vec::new() };
        let Some(candidates) = self.by_root.get(model.str(record.op())) else { return Vec::new() };
        let mut places = candidates.always.clone();
        if !candidates.by_operand.is_empty() {
            for producer in record.inputs().flatten().filter_map(|value| model.value(value).producer()) {
                let op = model.str(model.node(producer).op());
                places.extend(candidates.by_operand.get(op).into_iter().flatten());
            }
        }
        places.sort_unstable();
        places.dedup();
        places.iter().filter_map(|&place| self.order.get(place).copied()).collect()
    }

    /// The numbers of all patterns whose root has the operator of a node, in order.
    pub(crate) fn all_at(&self, model: &Model, node: NodeId) -> Vec<usize> {
        let Some(record) = model.get_node(node) else { return Vec::new() };
        let Some(candidates) = self.by_root.get(model.str(record.op())) else { return Vec::new() };
        let mut places = candidates.always.clone();
        let mut others: Vec<_> = candidates.by_operand.iter().collect();
        others.sort_unstable_by_key(|(op, _)| *op);
        places.extend(others.into_iter().flat_map(|(_, list)| list));
        places.sort_unstable();
        places.dedup();
        places.iter().filter_map(|&place| self.order.get(place).copied()).collect()
    }
}

/// Adds the position of a pattern, unless it is the last one: a pattern can have several roots with one operator.
fn push(list: &mut Vec<usize>, place: usize) {
    if list.last() != Some(&place) {
        list.push(place);
    }
}
