//! The rule `missing-call-attribute`: a call leaves out an attribute that has no default.

use onnx_diag::{Diagnostic, Rule, Severity};
use std::collections::BTreeSet;

use onnx_diag::Quoted;
use onnx_ir::{Attribute, Callee};

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2655,
    "missing-call-attribute",
    Severity::Warning,
    "A call leaves out an attribute that has no default.",
)
.with_spec("IR: Functions")
.with_explain(include_str!("missing_call_attribute.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Callee::Function(id) = cx.callee else { return };
    let (node, function) = (cx.id, cx.model.function(id));
    let required = cx.functions().required(id);
    if required.is_empty() {
        return;
    }
    let given: BTreeSet<_> = cx.node.attributes().iter().map(Attribute::name).collect();
    // One finding for each call, so that not each of many calls is compared with each of many attributes.
    let Some(&name) = required.iter().find(|name| !given.contains(name)) else { return };
    cx.report(&RULE, |places| {
        let (op, text) = (Quoted(places.str(function.name())), Quoted(places.str(name)));
        Diagnostic::new(&RULE, places.node(node), format!("the call does not give attribute {text} of {op}"))
            .label(places.function(id), "the function is this")
            .help("give it, or declare a default for it in `attribute_proto` of the function")
            .beyond_reference(true)
    });
}
