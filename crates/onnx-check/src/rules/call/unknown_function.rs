//! The rule `unknown-function`: a node calls a function that the model does not have.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::Callee;

use crate::cx::NodeCx;
use crate::options::Part;

pub(crate) static RULE: Rule = Rule::new(
    2654,
    "unknown-function",
    Severity::Warning,
    "A node calls a function that the model does not have.",
)
.with_spec("IR: Functions")
.with_explain(include_str!("unknown_function.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let (domain, op, overload) = (cx.node.domain(), cx.node.op(), cx.node.overload());
    // A standalone function may call functions of the model that it is intended for.
    if cx.part != Part::Model {
        return;
    }
    // A function with another overload is looked for by another rule.
    if !matches!(cx.callee, Callee::Undefined) || !overload.is_empty() || !cx.functions().have_domain(domain)
    {
        return;
    }
    let id = cx.id;
    cx.report(&RULE, |places| {
        let (name, domain) = (Quoted(places.str(op)), Quoted(places.str(domain)));
        Diagnostic::new(
            &RULE,
            places.node(id),
            format!("the model has no function {name} in domain {domain}"),
        )
        .help("add it, or correct the name; an operator of a runtime should use another domain")
        .note(format!("the model has other functions in domain {domain}"))
        .beyond_reference(true)
    });
}
