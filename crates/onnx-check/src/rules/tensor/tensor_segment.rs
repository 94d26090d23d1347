//! The rule `tensor-segment`: a tensor says that it is a piece of a larger one.

use crate::cx::TensorCx;
use onnx_diag::{Diagnostic, Rule, Severity};

pub(crate) static RULE: Rule =
    Rule::new(2509, "tensor-segment", Severity::Note, "A tensor says that it is a piece of a larger one.")
        .with_spec("IR: Tensor Definition")
        .with_explain(include_str!("tensor_segment.md"));

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    let place = cx.place;
    let Some(segment) = cx.tensor.extra().and_then(|extra| extra.segment.as_ref()) else { return };
    cx.report(&RULE, |places| {
        let text = |end: Option<i64>| end.map_or_else(|| "?".to_owned(), |end| end.to_string());
        let message =
            format!("the tensor says that it is piece {} to {}", text(segment.begin), text(segment.end));
        Diagnostic::new(&RULE, place.locate(places).field("segment"), message)
            .help("store the tensor whole, and remove `segment`: readers take a piece for the tensor")
    });
}
