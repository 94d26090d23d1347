//! The rule `function-domain-missing`: a function has no domain.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::declared::FunctionCx;
use crate::run::FIRST_IR_WITH_FUNCTIONS;

pub(crate) static RULE: Rule = Rule {
    code: 2602,
    slug: "function-domain-missing",
    severity: Severity::Error,
    summary: "A function has no domain.",
    spec: "IR: Functions",
    reference: Reference::Enforced,
    explain: include_str!("function_domain_missing.md"),
};

/// The number of the field `domain`.
const DOMAIN: u32 = 10;

pub(crate) fn check(cx: &mut FunctionCx<'_, '_>) {
    // A file may say that the domain is the default one, by writing it as the empty string.
    if cx.function.written_domain().is_empty() && !cx.function.mask.contains(DOMAIN) {
        let (id, is_old) = (cx.id, cx.cx.model.info().ir_version < FIRST_IR_WITH_FUNCTIONS);
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, places.function(id), "the function has no domain")
                .help("give it a domain of your own, and import that in the model")
                .beyond_reference(is_old)
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model};

    fn model(m: &mut Builder, domain: &str) {
        m.function(domain, "f", Some(""), |_| ());
    }

    #[test]
    fn functions_have_domains() {
        check_model(|m| model(m, ""), &[("ONNX2602", r#"function "f""#)]);
        check_model(|m| model(m, "d"), &[]);
    }

    #[test]
    fn the_default_domain_can_be_meant() {
        check_model(
            |m| {
                model(m, "");
                m.last_function().mask.insert(super::DOMAIN);
            },
            &[],
        );
    }
}
