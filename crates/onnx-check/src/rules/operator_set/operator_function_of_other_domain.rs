//! The rule `operator-function-of-other-domain`: a function of an operator set document is of another domain.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};

use crate::operator_set::OperatorSetCx;

pub(crate) static RULE: Rule = Rule::new(
    2048,
    "operator-function-of-other-domain",
    Severity::Error,
    "A function of an operator set document is of another domain.",
)
.with_spec("IR: Operator Sets")
.with_explain(include_str!("operator_function_of_other_domain.md"));

pub(crate) fn check(cx: &mut OperatorSetCx<'_, '_>) {
    let (document, model) = (cx.document, cx.model);
    let domain = onnx_schema::normalize_domain(document.domain);
    for &id in model.functions() {
        let found = model.function(id).domain();
        if found == domain {
            continue;
        }
        cx.report(&RULE, |places| {
            let [found, domain] = [found, domain].map(|name| Quoted(places.str(name)));
            let message = format!("the function is of domain {found}, and the set of {domain}");
            Diagnostic::new(&RULE, places.function(id), message)
                .help("give it the domain of the set, or move it to a document of its domain")
        });
    }
}
