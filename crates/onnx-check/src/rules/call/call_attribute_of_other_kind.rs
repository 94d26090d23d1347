//! The rule `call-attribute-of-other-kind`: a call gives an attribute of another kind than the body of the function uses.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::{AttrKind, Callee};

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2658,
    "call-attribute-of-other-kind",
    Severity::Error,
    "A call gives an attribute of another kind than the body of the function uses.",
)
.with_spec("IR: Functions")
.with_explain(include_str!("call_attribute_of_other_kind.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Callee::Function(function) = cx.callee else { return };
    let (model, id) = (cx.model, cx.id);
    for attribute in cx.node.attributes() {
        let (name, given) = (attribute.name(), attribute.kind());
        if given == AttrKind::Undefined {
            continue;
        }
        let uses = cx.functions().uses(model, function, name);
        let Some(&found) = uses.iter().find(|place| place.kind != given) else { continue };
        cx.report(&RULE, |places| {
            let op = Quoted(places.str(model.function(function).name()));
            let (text, given, used) = (Quoted(places.str(name)), given.text_name(), found.kind.text_name());
            let message = format!("attribute {text} is of kind {given}, and function {op} uses it as {used}");
            Diagnostic::new(&RULE, places.attribute(id, name), message)
                .label(places.attribute(found.node, found.name), "it is used here")
                .help(format!("give a value of kind {used}"))
                .beyond_reference(true)
        });
    }
}
