//! The rule `function-defined-twice`: two functions have the same domain, name and overload.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::declaration_cx::FunctionCx;

pub(crate) static RULE: Rule = Rule::new(
    2603,
    "function-defined-twice",
    Severity::Error,
    "Two functions have the same domain, name and overload.",
)
.with_spec("IR: Functions")
.with_reference(Reference::Enforced)
.with_explain(include_str!("function_defined_twice.md"));

pub(crate) fn check(cx: &mut FunctionCx<'_, '_>) {
    let (id, function) = (cx.id, cx.function);
    let first = cx.model.find_function(function.domain(), function.name(), function.overload());
    if let Some(first) = first.filter(|&first| first != id) {
        cx.report(&RULE, |places| {
            Diagnostic::new(
                &RULE,
                places.function(id),
                "an earlier function has the same domain, name and overload",
            )
            .label(places.function(first), "defined here first")
            .help("remove one of them, or tell them apart by `overload`")
        });
    }
}
