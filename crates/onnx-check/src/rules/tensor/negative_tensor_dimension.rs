//! The rule `negative-tensor-dimension`: a tensor has a negative dimension.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_types::tensor::TensorFault;

use crate::cx::TensorCx;

pub(crate) static RULE: Rule =
    Rule::new(2502, "negative-tensor-dimension", Severity::Error, "A tensor has a negative dimension.")
        .with_spec("IR: Tensor Definition")
        .with_reference(Reference::Partly)
        .with_explain(include_str!("negative_tensor_dimension.md"));

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    let (place, is_external) = (cx.place, cx.tensor.is_external());
    for fault in cx.faults {
        let TensorFault::NegativeDim { axis, .. } = *fault else { continue };
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, place.locate(places).dimension(axis), fault.to_string())
                .help("write the size; a tensor with elements has no open dimensions")
                .beyond_reference(is_external)
        });
    }
}
