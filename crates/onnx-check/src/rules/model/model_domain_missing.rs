//! The rule `model-domain-missing`: the model has no domain in reverse-DNS style.

use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_diag::{Locus, Quoted};

use crate::identifier::is_reverse_dns;

use crate::cx::Cx;

pub(crate) static RULE: Rule =
    Rule::new(2008, "model-domain-missing", Severity::Note, "The model has no domain in reverse-DNS style.")
        .with_spec("IR: Models")
        .with_explain(include_str!("model_domain_missing.md"));

pub(crate) fn check(cx: &mut Cx<'_>) {
    let domain = cx.model.info().domain;
    if !cx.options.recommendations || is_reverse_dns(cx.model.str(domain)) {
        return;
    }
    cx.report(&RULE, |places| {
        let message = match places.str(domain) {
            "" => "the model has no domain".to_owned(),
            domain => format!("the domain {} of the model is not a reverse DNS name", Quoted(domain)),
        };
        Diagnostic::new(&RULE, Locus::model().field("domain"), message)
            .help("set `domain` to a name of your organization, such as `com.example`")
            .beyond_reference(true)
    });
}
