//! The pass `unique-subexpressions`: nodes of the same meaning are one.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use foldhash::fast::RandomState;
use onnx_ir::{Cursor, GraphId, Model, NodeId, ValueId};
use onnx_ops::{Call, is_commutative};
use onnx_schema::op;
use onnx_types::Symbol;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::determinism::is_deterministic;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "unique-subexpressions";

pub(super) fn pass() -> Pass {
    Pass::new(
        NAME,
        "Merges nodes that compute the same from the same operands.",
        Exactness::Exact,
        unique_subexpressions,
    )
    .with_page(include_str!("unique_subexpressions.md"))
    .after("sorted")
}

/// Replaces nodes by earlier nodes of the same meaning, however far apart they are, and with operands that commute in any order.
pub fn unique_subexpressions(cx: &mut PassCx<'_>) -> Report {
    let mut report = Report::default();
    let mut known: Known<u64> = Known::default();
    let mut swapped = Swapped::default();
    let (data, registry) = (cx.options().data, cx.options().registry);
    let mut cursor = Cursor::all(cx.model());
    while let Some(node) = cx.next(&mut cursor) {
        let model = cx.model();
        if model.node(node).outputs().is_empty() {
            continue;
        }
        let mut state = Fold(0);
        model.hash_meaning(node, data, &mut state);
        let is_twin = |earlier: NodeId| model.same_meaning(earlier, node, data);
        let found = known.find(model, node, state.finish(), is_twin);
        let Some(earlier) = found.or_else(|| swapped.find(model, node)) else { continue };
        // Equal nodes are both random or neither is: few nodes are equal, and what a call runs may be much.
        if !is_deterministic(model, node, registry) {
            continue;
        }
        let pairs: Vec<(ValueId, ValueId)> = outputs(model, node).zip(outputs(model, earlier)).collect();
        // An `Identity` in place of the node would save nothing. In place of another `Identity` it would be equal to the next one
        // again, so that equal outputs would become a chain.
        let is_cheap = model.node(node).is(op::CONSTANT) || model.node(node).is(op::IDENTITY);
        if is_cheap && !pairs.iter().all(|&(old, new)| model.can_replace(old, new)) {
            continue;
        }
        let mut operands: Vec<ValueId> = Vec::new();
        model.for_each_use_within(node, |value| operands.push(value));
        let mut patch = cx.patch(NAME, Exactness::Exact);
        patch.source(node);
        patch.source(earlier);
        for operand in operands {
            patch.tap(operand);
        }
        for (old, new) in pairs {
            patch.replace(old, new);
        }
        report.commit(patch);
    }
    report
}

/// Nodes by a key and by their graphs: of the many nodes with one key in branches, none of another branch is visited.
#[derive(Default)]
struct Known<K>(HashMap<(K, GraphId), Vec<NodeId>, RandomState>);

impl<K: Copy + Eq + Hash> Known<K> {
    /// An earlier node with the key of a node whose results the node can use; otherwise, the node is remembered for later ones.
    fn find(
        &mut self,
        model: &Model,
        node: NodeId,
        key: K,
        is_twin: impl Fn(NodeId) -> bool,
    ) -> Option<NodeId> {
        let home = model.node(node).graph();
        let around = |graph: &GraphId| model.owner_node(*graph).map(|owner| model.node(owner).graph());
        let graphs: Vec<GraphId> = std::iter::successors(Some(home), around).collect();
        let is_wanted = |&earlier: &NodeId| {
            model.get_node(earlier).is_some() && is_visible(model, earlier, node) && is_twin(earlier)
        };
        let found = graphs.iter().rev().find_map(|&graph| {
            let candidates = self.0.get(&(key, graph))?;
            candidates.iter().copied().find(is_wanted)
        });
        if found.is_none() {
            self.0.entry((key, home)).or_default().push(node);
        }
        found
    }
}

/// Nodes of two operands that commute, by operator and operands in the order of their keys.
#[derive(Default)]
struct Swapped(Known<(Symbol, ValueId, ValueId)>);

impl Swapped {
    /// An earlier node with the operands of a node in the other order; the node is remembered for later ones.
    fn find(&mut self, model: &Model, node: NodeId) -> Option<NodeId> {
        let record = model.node(node);
        let (Some(a), Some(b), 2) = (record.input(0), record.input(1), record.input_count()) else {
            return None;
        };
        // Attributes of another node need not be the same.
        let commutes = Call::of(model, node).is_ok_and(|call| is_commutative(&call));
        if a == b || !commutes || !record.attributes().is_empty() {
            return None;
        }
        let is_twin = |earlier: NodeId| {
            let other = model.node(earlier);
            let is_swapped = other.input(0) == Some(b) && other.input(1) == Some(a);
            is_swapped && other.outputs().len() == record.outputs().len()
        };
        self.0.find(model, node, (record.op(), a.min(b), a.max(b)), is_twin)
    }
}

fn outputs(model: &Model, node: NodeId) -> impl Iterator<Item = ValueId> + '_ {
    model.node(node).outputs().iter().copied().flatten()
}

/// Returns `true` if the results of a node are defined before a later node of the walk, and visible there.
fn is_visible(model: &Model, earlier: NodeId, node: NodeId) -> bool {
    let home = model.node(earlier).graph();
    model.ancestor_in(node, home).is_some_and(|ancestor| model.is_before(earlier, ancestor))
}

/// A hash for the table, which is never iterated.
struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
}
