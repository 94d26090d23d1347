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

#[cfg(test)]
mod tests {
    use crate::CheckOptions;
    use crate::testing::{Builder, check_with};

    fn check(build: impl FnOnce(&mut Builder), expected: &[(&str, &str)]) {
        let options = CheckOptions::default().with_recommendations(true);
        let named = |m: &mut Builder| {
            let [producer, domain] = ["writer", "com.example"].map(|name| m.model.intern(name));
            m.model.info_mut().producer_name = producer;
            m.model.info_mut().domain = domain;
            build(m);
        };
        check_with(&options, named, expected);
    }

    #[test]
    fn domains_are_reverse_dns_names() {
        check(|m| m.import("d", 1), &[("ONNX2013", r#"opset import "d""#)]);
        check(|m| m.import("com.example", 1), &[]);
    }
}
