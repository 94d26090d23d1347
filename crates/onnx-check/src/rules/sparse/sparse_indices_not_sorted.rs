//! The rule `sparse-indices-not-sorted`: the indices of a sparse tensor do not ascend.

use crate::cx::SparseCx;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

pub(crate) static RULE: Rule = Rule::new(
    2556,
    "sparse-indices-not-sorted",
    Severity::Error,
    "The indices of a sparse tensor do not ascend.",
)
.with_spec("IR: Attributes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("sparse_indices_not_sorted.md"));

pub(crate) fn check(cx: &mut SparseCx<'_, '_>) {
    let place = cx.place;
    let Some((entry, is_equal)) = cx.indices.unsorted else { return };
    cx.report(&RULE, |places| {
        let before = entry.saturating_sub(1);
        let how = if is_equal { "equal to" } else { "before" };
        let message = format!("the indices are not sorted: entry {entry} is {how} entry {before}");
        Diagnostic::new(&RULE, place.locate(places).field("indices").element(entry), message)
            .help("sort the values by place, coordinate by coordinate, with each place once")
    });
}
