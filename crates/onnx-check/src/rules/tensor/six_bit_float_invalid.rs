//! The rule `six-bit-float-invalid`: a 6-bit float has more than 6 bits, or bits that belong to no element are set.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_types::ElemType;
use onnx_types::tensor::{NoData, Payload, Tensor, TensorDims};

use super::tensor_element_invalid::{MOST, index_of};
use crate::cx::TensorCx;

pub(crate) static RULE: Rule = Rule::new(
    2508,
    "six-bit-float-invalid",
    Severity::Error,
    "A 6-bit float has more than 6 bits, or bits that belong to no element are set.",
)
.with_spec("IR: Tensor Element Types")
.with_reference(Reference::Enforced)
.with_explain(include_str!("six_bit_float_invalid.md"));

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    // Every reader has to check these elements, so they are checked even if `data` is not set.
    if !is_six_bits(cx.tensor.elem()) || cx.tensor.is_external() {
        return;
    }
    let place = cx.place;
    let cut = without_surplus(cx.tensor);
    // A tensor with another defect has no elements to check.
    for fault in cut.as_ref().unwrap_or(cx.tensor).content_faults(&NoData, MOST).unwrap_or_default() {
        cx.report(&RULE, |places| {
            let place = place.locate(places);
            let place = match index_of(&fault) {
                Some(index) => place.element(index),
                None => place,
            };
            Diagnostic::new(&RULE, place, fault.to_string())
                .help("write the codes 0 to 63, and zeros where the last byte has bits to spare")
        });
    }
}

/// The tensor without surplus bytes: readers ignore these, and check the others.
fn without_surplus(tensor: &Tensor) -> Option<Tensor> {
    let Payload::Raw(bytes) = tensor.payload() else { return None };
    let expected = usize::try_from(tensor.byte_len()?).ok()?;
    let bytes = (bytes.len() > expected).then(|| bytes.slice(..expected))?;
    let dims = TensorDims::from_slice(tensor.dims());
    Some(Tensor::from_parts(tensor.data_type(), dims, Payload::Raw(bytes)))
}

/// Returns `true` if the type is one of those whose values the reference checks.
pub(super) const fn is_six_bits(elem: ElemType) -> bool {
    matches!(elem, ElemType::Float6E2M3 | ElemType::Float6E3M2)
}
