//! The rule `function-domain-missing`: a function has no domain.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_types::field;

use crate::declaration_cx::FunctionCx;
use crate::run::FIRST_IR_WITH_FUNCTIONS;

pub(crate) static RULE: Rule =
    Rule::new(2602, "function-domain-missing", Severity::Error, "A function has no domain.")
        .with_spec("IR: Functions")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("function_domain_missing.md"));

pub(crate) fn check(cx: &mut FunctionCx<'_, '_>) {
    // A file may select the default domain with an explicitly encoded empty string.
    if cx.function.written_domain().is_empty() && !cx.function.forms.is_explicit(field::function::DOMAIN) {
        let (id, is_old) = (cx.id, cx.cx.model.info().ir_version < FIRST_IR_WITH_FUNCTIONS);
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, places.function(id), "the function has no domain")
                .help("set its domain to your own, and import that in the model")
                .beyond_reference(is_old)
        });
    }
}
