//! The rule `tensor-data-in-wrong-field`: the elements of a tensor are in a field that cannot hold their type.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_types::ElemType;
use onnx_types::tensor::TensorFault;

use crate::cx::TensorCx;

pub(crate) static RULE: Rule = Rule::new(
    2504,
    "tensor-data-in-wrong-field",
    Severity::Error,
    "The elements of a tensor are in a field that cannot hold their type.",
)
.with_spec("IR: Tensor Definition")
.with_reference(Reference::Enforced)
.with_explain(include_str!("tensor_data_in_wrong_field.md"));

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    let place = cx.place;
    let is_external = cx.tensor.is_external();
    for fault in cx.faults {
        let TensorFault::WrongField { elem, .. } = *fault else { continue };
        cx.report(&RULE, |places| {
            let help = format!("write the elements as `raw_data`, or in the field for {elem}");
            let help =
                if elem == ElemType::String { "write strings as `string_data`".to_owned() } else { help };
            Diagnostic::new(&RULE, place.locate(places), fault.to_string())
                .help(help)
                .beyond_reference(is_external)
        });
    }
}
