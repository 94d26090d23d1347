//! The rule `operator-set-domain-not-reverse-dns`: the domain of an operator set document is not a reverse-DNS name.

use onnx_diag::{Diagnostic, Locus, Quoted, Rule, Severity};

use crate::identifier::is_reverse_dns;
use crate::operator_set::OperatorSetCx;

pub(crate) static RULE: Rule = Rule::new(
    2043,
    "operator-set-domain-not-reverse-dns",
    Severity::Note,
    "The domain of an operator set document is not a reverse-DNS name.",
)
.with_spec("IR: Operator Sets")
.with_explain(include_str!("operator_set_domain_not_reverse_dns.md"));

pub(crate) fn check(cx: &mut OperatorSetCx<'_, '_>) {
    let domain = cx.document.domain;
    let text = cx.document.str(domain);
    if text.is_empty() || text == "ai.onnx" || is_reverse_dns(text) {
        return;
    }
    cx.report(&RULE, |places| {
        let message = format!("the domain {} is not a reverse DNS name", Quoted(places.str(domain)));
        Diagnostic::new(&RULE, Locus::model().field("domain"), message)
            .help("begin it with a name of your organization, such as `com.example`")
    });
}
