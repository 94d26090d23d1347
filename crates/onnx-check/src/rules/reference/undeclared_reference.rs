//! The rule `undeclared-reference`: an attribute refers to one that the function around it does not declare.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::AttrValue;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2671,
    "undeclared-reference",
    Severity::Error,
    "An attribute refers to one that the function around it does not declare.",
)
.with_spec("IR: Attributes")
.with_explain(include_str!("undeclared_reference.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let AttrValue::Ref(target) = *cx.attribute.value() else { return };
    let Some(id) = cx.function else { return };
    if cx.functions().declares(id, target) {
        return;
    }
    let function = cx.model.function(id);
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(&RULE, |places| {
        let declared = function.attributes.iter().copied();
        let declared = declared.chain(function.defaults.iter().map(onnx_ir::Attribute::name));
        let near = places.nearest(target, declared);
        let help = match near {
            Some(near) => format!("did you mean {}?", Quoted(near)),
            None => "declare it, or give the attribute a value".to_owned(),
        };
        let message = format!("the function has no attribute {} to refer to", Quoted(places.str(target)));
        Diagnostic::new(&RULE, places.attribute(node, name), message).help(help).beyond_reference(true)
    });
}
