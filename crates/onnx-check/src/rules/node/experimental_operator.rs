//! The rule `experimental-operator`: a node calls an operator that ONNX tried out once and dropped.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::Callee;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2305,
    "experimental-operator",
    Severity::Warning,
    "A node calls an operator that ONNX tried out once and dropped.",
)
.with_spec("Versioning: Operator deprecation")
.with_explain(include_str!("experimental_operator.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    if matches!(cx.callee, Callee::Experimental) {
        let (id, op) = (cx.id, cx.node.op());
        cx.report(&RULE, |places| {
            let message = format!("operator {} was only ever experimental", Quoted(places.str(op)));
            Diagnostic::new(&RULE, places.node(id), message)
                .help("replace it by current operators, or export the model again with a newer tool")
                .note("readers accept the name and check nothing of the node")
        });
    }
}
