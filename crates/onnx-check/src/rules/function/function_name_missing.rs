//! The rule `function-name-missing`: a function has no name.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::declaration_cx::FunctionCx;

pub(crate) static RULE: Rule =
    Rule::new(2601, "function-name-missing", Severity::Error, "A function has no name.")
        .with_spec("IR: Functions")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("function_name_missing.md"));

pub(crate) fn check(cx: &mut FunctionCx<'_, '_>) {
    if cx.function.name().is_empty() {
        let id = cx.id;
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, places.function(id), "the function has no name")
                .help("give it the name that nodes write as `op_type`")
        });
    }
}
