//! The rule `attribute-default-without-value`: the default of a function attribute has no value.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::AttrValue;

use crate::declaration_cx::FunctionCx;

pub(crate) static RULE: Rule = Rule::new(
    2608,
    "attribute-default-without-value",
    Severity::Error,
    "The default of a function attribute has no value.",
)
.with_spec("IR: Functions")
.with_explain(include_str!("attribute_default_without_value.md"));

pub(crate) fn check(cx: &mut FunctionCx<'_, '_>) {
    let (id, function) = (cx.id, cx.function);
    for default in &function.defaults {
        let says = match default.value() {
            AttrValue::Ref(_) => "refers to another attribute",
            // An empty list of a declared kind is a value.
            AttrValue::None if default.declared_kind().is_none_or(|kind| kind == 0) => "has no value",
            _ => continue,
        };
        let name = default.name();
        cx.report(&RULE, |places| {
            let message = format!("the default of attribute {} {says}", Quoted(places.str(name)));
            Diagnostic::new(&RULE, places.function_attribute(id, name), message)
                .help("give a value, or declare the attribute in `attribute` so that calls have to")
                .beyond_reference(true)
        });
    }
}
