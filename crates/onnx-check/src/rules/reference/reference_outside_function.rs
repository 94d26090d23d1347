//! The rule `reference-outside-function`: an attribute refers to one of the function around it, and there is none.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::AttrValue;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2670,
    "reference-outside-function",
    Severity::Error,
    "An attribute refers to an attribute of a function, but its node is not in a function.",
)
.with_spec("IR: Attributes")
.with_explain(include_str!("reference_outside_function.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let AttrValue::Ref(target) = *cx.attribute.value() else { return };
    if cx.function.is_some() {
        return;
    }
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(&RULE, |places| {
        let (name_text, target) = (Quoted(places.str(name)), Quoted(places.str(target)));
        let message = format!("attribute {name_text} refers to {target} of a function, outside of functions");
        Diagnostic::new(&RULE, places.attribute(node, name), message)
            .help("give the attribute a value")
            .beyond_reference(true)
    });
}
