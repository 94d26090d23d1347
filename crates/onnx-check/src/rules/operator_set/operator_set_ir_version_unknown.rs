//! The rule `operator-set-ir-version-unknown`: an operator set document is for a version of the format that does not exist.

use onnx_diag::{Diagnostic, Locus, Rule, Severity};

use crate::operator_set::OperatorSetCx;

pub(crate) static RULE: Rule = Rule::new(
    2041,
    "operator-set-ir-version-unknown",
    Severity::Error,
    "An operator set document is for a version of the format that does not exist.",
)
.with_spec("IR: Operator Sets")
.with_explain(include_str!("operator_set_ir_version_unknown.md"));

pub(crate) fn check(cx: &mut OperatorSetCx<'_, '_>) {
    let version = cx.document.ir_version;
    let latest = onnx_schema::LATEST_IR_VERSION;
    if (1..=latest).contains(&version) {
        return;
    }
    cx.report(&RULE, |_| {
        let message = match version {
            0 => "the document does not say its IR version".to_owned(),
            _ => format!("IR version {version} does not exist"),
        };
        Diagnostic::new(&RULE, Locus::model().field("ir_version"), message)
            .help(format!("write the IR version of the functions, {latest} at most"))
    });
}
