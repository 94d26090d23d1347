//! The rule `function-in-domain-of-onnx`: a node calls a function that the model puts into a domain of ONNX.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_ir::Callee;
use onnx_schema::domain;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2657,
    "function-in-domain-of-onnx",
    Severity::Error,
    "A node calls a function that the model puts into a domain of ONNX.",
)
.with_spec("IR: Operators")
.with_reference(Reference::Enforced)
.with_explain(include_str!("function_in_domain_of_onnx.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Callee::Function(function) = cx.callee else { return };
    let domain = cx.node.domain();
    if !matches!(domain, domain::ONNX | domain::ML | domain::TRAINING) {
        return;
    }
    let (id, op) = (cx.id, cx.node.op());
    cx.report(&RULE, |places| {
        let message = format!("{} is not an ONNX operator, but is called as one", Quoted(places.str(op)));
        Diagnostic::new(&RULE, places.node(id), message)
            .label(places.function(function), "the model defines it here")
            .help("move the function to your own domain, import that domain, and set it in the node")
    });
}
