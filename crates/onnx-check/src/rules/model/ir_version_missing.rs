//! The rule `ir-version-missing`: the model does not say which version of the format it uses.

use onnx_diag::{Diagnostic, Locus, Reference, Rule, Severity};

use crate::cx::Cx;

pub(crate) static RULE: Rule = Rule::new(
    2001,
    "ir-version-missing",
    Severity::Error,
    "The model does not say which version of the format it uses.",
)
.with_spec("IR: Versioning")
.with_reference(Reference::Enforced)
.with_explain(include_str!("ir_version_missing.md"));

pub(crate) fn check(cx: &mut Cx<'_>) {
    if cx.model.info().ir_version == 0 {
        cx.report(&RULE, |_| {
            Diagnostic::new(&RULE, Locus::model().field("ir_version"), "the model has no IR version")
                .help("set `ir_version` to that of the tool that wrote the model")
        });
    }
}
