//! The rule `tensor-type-unknown`: a tensor has no element type, or one that does not exist.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_types::tensor::{Payload, TensorFault};

use crate::cx::TensorCx;

pub(crate) static RULE: Rule = Rule::new(
    2501,
    "tensor-type-unknown",
    Severity::Error,
    "A tensor has no element type, or one that does not exist.",
)
.with_spec("IR: Tensor Element Types")
.with_reference(Reference::Partly)
.with_explain(include_str!("tensor_type_unknown.md"));

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    let place = cx.place;
    // The reference asks for the field that holds the elements, and raw and external data are fields of any type.
    let any_field =
        matches!(cx.tensor.payload(), Payload::Raw(_) | Payload::External(_) | Payload::Elided(_));
    for fault in cx.faults {
        let accepted = match fault {
            TensorFault::NoType => false,
            TensorFault::UnknownType { .. } => any_field,
            _ => continue,
        };
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, place.locate(places), fault.to_string())
                .help("set `data_type` to the number of an element type")
                .beyond_reference(accepted)
        });
    }
}
