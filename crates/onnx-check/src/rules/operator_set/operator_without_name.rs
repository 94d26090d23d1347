//! The rule `operator-without-name`: an operator of a document has no name.

use onnx_diag::{Diagnostic, Rule, Severity};

use super::entry_place;
use crate::operator_set::OperatorSetCx;

pub(crate) static RULE: Rule =
    Rule::new(2044, "operator-without-name", Severity::Error, "An operator of a document has no name.")
        .with_spec("IR: Operators")
        .with_explain(include_str!("operator_without_name.md"));

pub(crate) fn check(cx: &mut OperatorSetCx<'_, '_>) {
    let unnamed = cx.document.operators.iter().enumerate().filter(|(_, entry)| entry.name.is_empty());
    for (index, _) in unnamed {
        cx.report(&RULE, |_| {
            Diagnostic::new(&RULE, entry_place(index), "the operator has no name").help("set `op_type`")
        });
    }
}
