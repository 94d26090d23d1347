//! The rule `operator-set-version-out-of-range`: an operator set document has a version that cannot exist.

use onnx_diag::{Diagnostic, Locus, Rule, Severity};

use crate::operator_set::OperatorSetCx;

pub(crate) static RULE: Rule = Rule::new(
    2042,
    "operator-set-version-out-of-range",
    Severity::Error,
    "An operator set document has a version that cannot exist.",
)
.with_spec("IR: Operator Sets")
.with_explain(include_str!("operator_set_version_out_of_range.md"));

pub(crate) fn check(cx: &mut OperatorSetCx<'_, '_>) {
    let version = cx.document.opset_version;
    if version >= 1 && i32::try_from(version).is_ok() {
        return;
    }
    cx.report(&RULE, |_| {
        let message = format!("version {version} of an operator set cannot exist");
        Diagnostic::new(&RULE, Locus::model().field("opset_version"), message)
            .help("versions begin with 1 and grow with each change")
    });
}
