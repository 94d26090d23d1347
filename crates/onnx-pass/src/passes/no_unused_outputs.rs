//! The pass `no-unused-outputs`: optional outputs that nothing uses are left out.

use onnx_ir::{Cursor, Model, NodeId, ValueId};
use onnx_schema::{Formal, op};

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::references::References;

/// The name of the pass.
const NAME: &str = "no-unused-outputs";

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Leaves out optional outputs that nothing uses.", Exactness::Exact, no_unused_outputs)
        .with_page(include_str!("no_unused_outputs.md"))
}

/// Leaves out the optional outputs of nodes that nothing uses, but never the only output of a node.
pub fn no_unused_outputs(cx: &mut PassCx<'_>) -> Report {
    let registry = cx.options().registry;
    let references = cx.references();
    cx.restructure(NAME, |model| {
        let mut removed = 0;
        let mut cursor = Cursor::all(model);
        while let Some(node) = cursor.next(model) {
            let Some(schema) = model.callee(node, registry).standard() else { continue };
            // The number of outputs decides whether it computes the statistics of the batch, or must match the attribute that
            // does.
            if model.node(node).is(op::BATCH_NORMALIZATION) {
                continue;
            }
            for (index, output) in schema.outputs().iter().enumerate() {
                if Formal::is_optional(output) && is_removable(model, node, index, &references) {
                    removed += usize::from(model.clear_output(node, index).is_ok());
                }
            }
        }
        removed
    })
}

fn is_removable(model: &Model, node: NodeId, index: usize, references: &References) -> bool {
    let outputs = model.node(node).outputs();
    let is_unused = |value: ValueId| !model.value(value).is_used() && references.allow(value);
    outputs.get(index).copied().flatten().is_some_and(is_unused) && outputs.iter().flatten().count() > 1
}
