//! The rule `unknown-call-attribute`: a call gives an attribute that the function does not have.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::Callee;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2653,
    "unknown-call-attribute",
    Severity::Warning,
    "A call gives an attribute that the function does not have.",
)
.with_spec("IR: Functions")
.with_explain(include_str!("unknown_call_attribute.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Callee::Function(id) = cx.callee else { return };
    if cx.node.attributes().is_empty() {
        return;
    }
    let (node, function) = (cx.id, cx.model.function(id));
    for attribute in cx.node.attributes() {
        let name = attribute.name();
        // Names with two underscores are reserved for the data of tools.
        if cx.functions().declares(id, name) || cx.model.str(name).starts_with("__") {
            continue;
        }
        cx.report(&RULE, |places| {
            let (op, text) = (Quoted(places.str(function.name())), Quoted(places.str(name)));
            let message = format!("function {op} has no attribute {text}");
            Diagnostic::new(&RULE, places.attribute(node, name), message)
                .label(places.function(id), "the function is this")
                .help("remove the attribute, or declare it in the function")
                .beyond_reference(true)
        });
    }
}
