//! The rule `operator-missing`: a node does not say which operator it calls.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_ir::Callee;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule =
    Rule::new(2306, "operator-missing", Severity::Error, "A node does not say which operator it calls.")
        .with_spec("IR: Nodes")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("operator_missing.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    if matches!(cx.callee, Callee::Unnamed) {
        let id = cx.id;
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, places.node(id), "the node names no operator").help("set `op_type`")
        });
    }
}
