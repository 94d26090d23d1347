//! The pass `unique-subexpressions`: nodes of the same meaning are one.

use std::collections::HashMap;
use std::hash::Hasher;

use foldhash::fast::RandomState;
use onnx_ir::{Cursor, Model, NodeId, ValueId};

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
        merge_subexpressions,
    )
    .with_page(include_str!("unique_subexpressions.md"))
    .after("sorted")
}

/// Replaces nodes by earlier nodes of the same meaning, however far apart they are.
pub fn merge_subexpressions(cx: &mut PassCx<'_>) -> Report {
    let mut report = Report::default();
    let mut known: HashMap<u64, Vec<NodeId>, RandomState> = HashMap::default();
    let (data, registry) = (cx.options().data, cx.options().registry);
    let mut cursor = Cursor::nested(cx.model(), cx.model().main_graph());
    while let Some(node) = cursor.next(cx.model()) {
        let model = cx.model();
        if model.node(node).outputs().is_empty() || !is_deterministic(model, node, registry) {
            continue;
        }
        let mut state = Fold(0);
        model.hash_meaning(node, data, &mut state);
        let candidates = known.entry(state.finish()).or_default();
        let is_twin = |&&earlier: &&NodeId| {
            model.get_node(earlier).is_some()
                && is_visible(model, earlier, node)
                && model.same_meaning(earlier, node, data)
        };
        let Some(&earlier) = candidates.iter().find(is_twin) else {
            candidates.push(node);
            continue;
        };
        let pairs: Vec<(ValueId, ValueId)> = outputs(model, node).zip(outputs(model, earlier)).collect();
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
