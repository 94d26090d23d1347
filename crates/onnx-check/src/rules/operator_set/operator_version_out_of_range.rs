//! The rule `operator-version-out-of-range`: an operator of a document is older than any operator set, or newer than its own.

use onnx_diag::{Diagnostic, Rule, Severity};

use super::entry_place;
use crate::operator_set::OperatorSetCx;

pub(crate) static RULE: Rule = Rule::new(
    2046,
    "operator-version-out-of-range",
    Severity::Error,
    "An operator of a document is older than any operator set, or newer than its own.",
)
.with_spec("IR: Operators")
.with_explain(include_str!("operator_version_out_of_range.md"));

pub(crate) fn check(cx: &mut OperatorSetCx<'_, '_>) {
    let (document, newest) = (cx.document, cx.document.opset_version);
    for (index, entry) in document.operators.iter().enumerate() {
        let since = entry.since_version;
        // That the version of the set itself cannot exist is another rule.
        if since >= 1 && (since <= newest || newest < 1) {
            continue;
        }
        cx.report(&RULE, |_| {
            let message = match since {
                ..1 => format!("the operator exists since version {since}, and versions begin with 1"),
                _ => format!("the operator exists since version {since}, and the set is version {newest}"),
            };
            Diagnostic::new(&RULE, entry_place(index), message)
                .help("write the version of the set in which the operator took this form")
        });
    }
}
