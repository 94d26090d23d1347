//! The pass `no-known-branches`: `If` nodes whose condition is known become the branch that runs.

use onnx_ir::{CopyMap, Cursor, Position, ValueId};
use onnx_ops::{Operator, ops};

use super::{Report, until_idle};
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::patch::Patch;

/// The name of the pass.
const NAME: &str = "no-known-branches";

pub(super) fn pass() -> Pass {
    Pass::new(
        NAME,
        "Replaces `If` nodes with a known condition by the branch that runs.",
        Exactness::Exact,
        no_known_branches,
    )
    .with_page(include_str!("no_known_branches.md"))
}

/// Replaces `If` nodes whose condition is known by the nodes of the branch that runs.
pub fn no_known_branches(cx: &mut PassCx<'_>) -> Report {
    // A branch that becomes part of another graph brings its own `If` nodes.
    until_idle(cx, splice_once)
}

fn splice_once(cx: &mut PassCx<'_>) -> Report {
    let mut report = Report::default();
    let mut cursor = Cursor::all(cx.model());
    while let Some(node) = cx.next(&mut cursor) {
        let Some(conditional) = ops::If::of(cx.model(), node) else { continue };
        let Some(cond) = conditional.cond() else { continue };
        let branches = (conditional.then_branch().known(), conditional.else_branch().known());
        let (Some(then_branch), Some(else_branch)) = branches else { continue };
        let olds: Vec<Option<ValueId>> = cx.model().node(node).outputs().to_vec();
        let mut patch = cx.patch(NAME, Exactness::Exact);
        patch.source(node);
        let Some(condition) = known_condition(&mut patch, cond) else { continue };
        let branch = if condition { then_branch } else { else_branch };
        let captures: Vec<ValueId> =
            [then_branch, else_branch].into_iter().flat_map(|graph| patch.model().captures(graph)).collect();
        for capture in captures {
            patch.tap(capture);
        }
        let results: Vec<ValueId> =
            patch.model().graph(branch).outputs().iter().map(onnx_ir::GraphOutput::value).collect();
        let mut map = CopyMap::new();
        if patch.copy_nodes(branch, Position::Before(node), &mut map).is_err() {
            continue;
        }
        for (old, result) in olds.into_iter().zip(results) {
            if let Some(old) = old {
                patch.replace(old, map.get(result));
            }
        }
        report.commit(patch);
    }
    report
}

/// The value of a condition, if it is the same in every run.
fn known_condition(patch: &mut Patch<'_, '_>, cond: ValueId) -> Option<bool> {
    patch.scalar(cond).map(|cond| cond != 0.0)
}
