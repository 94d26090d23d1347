//! The rule `node-without-values`: a node has neither inputs nor outputs.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::cx::NodeCx;

pub(crate) static RULE: Rule =
    Rule::new(2307, "node-without-values", Severity::Error, "A node has neither inputs nor outputs.")
        .with_spec("IR: Graphs")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("node_without_values.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    if cx.node.input_count() == 0 && cx.node.outputs().is_empty() {
        let id = cx.id;
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, places.node(id), "the node has neither inputs nor outputs")
                .help("name its outputs, or remove the node")
        });
    }
}
