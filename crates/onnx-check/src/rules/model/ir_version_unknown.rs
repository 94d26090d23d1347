//! The rule `ir-version-unknown`: the model uses a version of the format that does not exist.

use onnx_diag::{Diagnostic, Locus, Reference, Rule, Severity};

use crate::cx::Cx;

pub(crate) static RULE: Rule = Rule::new(
    2002,
    "ir-version-unknown",
    Severity::Error,
    "The model uses a version of the format that does not exist.",
)
.with_spec("IR: Versioning")
.with_reference(Reference::Partly)
.with_explain(include_str!("ir_version_unknown.md"));

pub(crate) fn check(cx: &mut Cx<'_>) {
    let version = cx.model.info().ir_version;
    let latest = onnx_schema::LATEST_IR_VERSION;
    // That 0 is missing is another rule.
    if !(0..=latest).contains(&version) {
        cx.report(&RULE, |_| {
            let place = Locus::model().field("ir_version");
            Diagnostic::new(&RULE, place, format!("there is no IR version {version}"))
                .help(format!("use a version from 1 to {latest}"))
                // The reference compares with the newest version only.
                .beyond_reference(version < 0)
        });
    }
}
