//! The rule `opset-domain-not-reverse-dns`: a domain of operators is not a reverse-DNS name.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};

use crate::identifier::is_reverse_dns;

use crate::declaration_cx::OpsetCx;

pub(crate) static RULE: Rule = Rule::new(
    2013,
    "opset-domain-not-reverse-dns",
    Severity::Note,
    "A domain of operators is not a reverse-DNS name.",
)
.with_spec("IR: Operator Set Identifiers")
.with_explain(include_str!("opset_domain_not_reverse_dns.md"));

pub(crate) fn check(cx: &mut OpsetCx<'_, '_>) {
    if !cx.options.recommendations {
        return;
    }
    for import in cx.imports {
        let domain = import.domain();
        if domain.is_empty()
            || is_reverse_dns(cx.model.str(domain))
            || !cx.first_time_for_symbol(&RULE, domain)
        {
            continue;
        }
        let place = cx.place(import);
        cx.report(&RULE, |places| {
            let message = format!("the domain {} is not a reverse DNS name", Quoted(places.str(domain)));
            Diagnostic::new(&RULE, place(places), message)
                .help("begin it with a name of your organization, such as `com.example`")
                .beyond_reference(true)
        });
    }
}
