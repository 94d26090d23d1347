//! The rule `function-attribute-repeated`: a function declares an attribute twice.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use std::collections::BTreeSet;

use onnx_diag::Quoted;
use onnx_ir::Attribute;

use crate::declaration_cx::FunctionCx;

pub(crate) static RULE: Rule = Rule::new(
    2607,
    "function-attribute-repeated",
    Severity::Error,
    "A function declares an attribute twice.",
)
.with_spec("IR: Functions")
.with_reference(Reference::Partly)
.with_explain(include_str!("function_attribute_repeated.md"));

pub(crate) fn check(cx: &mut FunctionCx<'_, '_>) {
    let (id, function) = (cx.id, cx.function);
    let mut seen = BTreeSet::new();
    let required = function.attributes.iter().map(|&name| (name, true));
    let optional = function.defaults.iter().map(|default: &Attribute| (default.name(), false));
    for (name, is_required) in required.chain(optional) {
        if !seen.insert(name) {
            cx.report(&RULE, |places| {
                let message = format!("attribute {} is declared twice", Quoted(places.str(name)));
                Diagnostic::new(&RULE, places.function_attribute(id, name), message)
                    .help(
                        "declare it once: in `attribute_proto` if it has a default, otherwise in `attribute`",
                    )
                    // The reference does not check attributes with defaults.
                    .beyond_reference(!is_required)
            });
        }
    }
}
