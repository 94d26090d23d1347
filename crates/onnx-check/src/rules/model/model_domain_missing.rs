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
    fn models_have_domains() {
        for domain in ["", "example", "com example.x", "com..example"] {
            let set = |m: &mut Builder| {
                let domain = m.model.intern(domain);
                m.model.info_mut().domain = domain;
            };
            check(set, &[("ONNX2008", "field domain")]);
        }
        check(|_| (), &[]);
    }
}
