//! The rule `operator-listed-twice`: a document lists an operator twice.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};

use super::entry_place;
use crate::operator_set::OperatorSetCx;

pub(crate) static RULE: Rule =
    Rule::new(2045, "operator-listed-twice", Severity::Error, "A document lists an operator twice.")
        .with_spec("IR: Operators")
        .with_explain(include_str!("operator_listed_twice.md"));

pub(crate) fn check(cx: &mut OperatorSetCx<'_, '_>) {
    cx.seen.begin();
    let document = cx.document;
    for (index, entry) in document.operators.iter().enumerate() {
        let position = u32::try_from(index).unwrap_or(u32::MAX);
        let Some(first) = cx.seen.earlier(entry.name, position).filter(|_| !entry.name.is_empty()) else {
            continue;
        };
        let name = entry.name;
        cx.report(&RULE, |places| {
            let message = format!("operator {} is listed already", Quoted(places.str(name)));
            let first = usize::try_from(first).unwrap_or(usize::MAX);
            Diagnostic::new(&RULE, entry_place(index), message)
                .label(entry_place(first), "first listed here")
                .help("keep the entry of the version that the set has")
        });
    }
}
