//! The rule `data-beside-external`: a tensor has its elements in another file, and others in its own fields.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_types::UnknownField;

use crate::cx::TensorCx;

pub(crate) static RULE: Rule = Rule::new(
    2506,
    "data-beside-external",
    Severity::Error,
    "A tensor has its elements in another file, and others in its own fields.",
)
.with_spec("IR: External Tensor Data")
.with_reference(Reference::Enforced)
.with_explain(include_str!("data_beside_external.md"));

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    let place = cx.place;
    let kept = cx.tensor.extra().map_or(&[][..], |extra| &extra.unknown);
    if cx.tensor.is_external() && kept.iter().any(holds_elements) {
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, place.locate(places), "the tensor has elements here and in another file")
                .help("remove the ones here, or set `data_location` to `DEFAULT`")
        });
    }
}

/// Returns `true` if an unknown field of the tensor is a data field that is not empty.
fn holds_elements(record: &UnknownField) -> bool {
    // The number and the wire type of these fields take one byte; a length of zero takes one more.
    let is_empty = matches!(record.bytes.as_ref(), [tag, 0] if tag & 7 == 2);
    matches!(record.number, 4..=7 | 9..=11) && !is_empty
}
