//! The rule `operator-status-undefined`: an operator of a document has a status that does not exist.

use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::OperatorEntry;

use super::entry_place;
use crate::operator_set::OperatorSetCx;

pub(crate) static RULE: Rule = Rule::new(
    2047,
    "operator-status-undefined",
    Severity::Warning,
    "An operator of a document has a status that does not exist.",
)
.with_spec("IR: Operators")
.with_explain(include_str!("operator_status_undefined.md"));

pub(crate) fn check(cx: &mut OperatorSetCx<'_, '_>) {
    let document = cx.document;
    for (index, entry) in document.operators.iter().enumerate() {
        let status = entry.status;
        if matches!(status, OperatorEntry::EXPERIMENTAL | OperatorEntry::STABLE) {
            continue;
        }
        cx.report(&RULE, |_| {
            Diagnostic::new(&RULE, entry_place(index), format!("status {status} does not exist"))
                .help("write 0 for an operator that may still change, and 1 for one that is settled")
        });
    }
}
