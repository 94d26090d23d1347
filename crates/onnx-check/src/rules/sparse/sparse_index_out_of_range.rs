//! The rule `sparse-index-out-of-range`: an index of a sparse tensor is outside of its dimensions.

use crate::cx::SparseCx;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

pub(crate) static RULE: Rule = Rule::new(
    2555,
    "sparse-index-out-of-range",
    Severity::Error,
    "An index of a sparse tensor is outside of its dimensions.",
)
.with_spec("IR: Attributes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("sparse_index_out_of_range.md"));

pub(crate) fn check(cx: &mut SparseCx<'_, '_>) {
    let place = cx.place;
    let Some(outside) = cx.indices.outside.take() else { return };
    cx.report(&RULE, |places| {
        let what = match outside.axis {
            Some(axis) => format!("coordinate {axis} of the value"),
            None => "the position of the value".to_owned(),
        };
        let message = format!("{what} is {}, but must be in 0 to {}", outside.index, outside.largest);
        Diagnostic::new(&RULE, place.locate(places).field("indices").element(outside.entry), message)
            .help("correct the index or the dimensions; negative indices do not count from the end")
    });
}
