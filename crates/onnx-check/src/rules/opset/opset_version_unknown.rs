//! The rule `opset-version-unknown`: a model imports a version of an operator set of ONNX that is not known.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::declared::OpsetCx;

pub(crate) static RULE: Rule = Rule {
    code: 2011,
    slug: "opset-version-unknown",
    severity: Severity::Warning,
    summary: "A model imports a version of an operator set of ONNX that is not known.",
    spec: "IR: Models",
    reference: Reference::NotEnforced,
    explain: include_str!("opset_version_unknown.md"),
};

pub(crate) fn check(cx: &mut OpsetCx<'_, '_>) {
    for import in cx.imports {
        let (domain, version) = (import.domain(), import.version());
        let Some(known) = onnx_schema::opset_versions(domain) else { continue };
        // What cannot exist at all is another rule.
        if version < 1 || i32::try_from(version).is_err() || known.contains(&version) {
            continue;
        }
        let place = cx.place(import);
        cx.report(&RULE, |places| {
            let set = match places.str(domain) {
                "" => "the ONNX operators".to_owned(),
                domain => format!("domain {}", Quoted(domain)),
            };
            let message = format!("version {version} of {set} is not known");
            Diagnostic::new(&RULE, place(places), message)
                .help(format!("import a version from {} to {}", known.start(), known.end()))
                .note("nodes are checked against the newest version that is known")
                .beyond_reference(true)
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_model;

    #[test]
    fn versions_are_known() {
        check_model(|m| m.import("ai.onnx.ml", 999), &[("ONNX2011", r#"opset import "ai.onnx.ml""#)]);
        check_model(|m| m.import("ai.onnx.ml", 3), &[]);
        check_model(|m| m.import("com.example", 999), &[]);
    }
}
