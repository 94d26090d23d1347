//! The rule `unused-external-data`: a tensor names a file for its elements, but its `data_location` is not `EXTERNAL`.

use crate::cx::TensorCx;
use onnx_diag::{Diagnostic, Rule, Severity};

pub(crate) static RULE: Rule = Rule::new(
    2510,
    "unused-external-data",
    Severity::Warning,
    "A tensor names a file for its elements, but its `data_location` is not `EXTERNAL`.",
)
.with_spec("IR: External Tensor Data")
.with_explain(include_str!("unused_external_data.md"));

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    let place = cx.place;
    if cx.tensor.extra().is_none_or(|extra| extra.unused_external.is_empty()) {
        return;
    }
    cx.report(&RULE, |places| {
        let message = "the tensor has `external_data`, but its `data_location` is not `EXTERNAL`";
        Diagnostic::new(&RULE, place.locate(places).field("external_data"), message)
            .help("set `data_location`, or remove the entries: readers ignore them")
    });
}
