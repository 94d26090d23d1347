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

#[cfg(test)]
mod tests {
    use onnx_types::tensor::{Payload, Tensor, TensorDims};

    use crate::testing::{Builder, check_model};

    fn model(m: &mut Builder, code: i32, dims: &[i64], payload: Payload) {
        m.initializer("w", Tensor::from_parts(code, TensorDims::from_slice(dims), payload));
    }

    #[test]
    fn tensors_have_an_element_type() {
        let raw = |bytes: &'static [u8]| Payload::Raw(bytes.into());
        let place = r#"graph "g" / initializer "w""#;
        check_model(|m| model(m, 0, &[1], raw(b"1234")), &[("ONNX2501", place)]);
        check_model(|m| model(m, 999, &[1], raw(b"1234")), &[("ONNX2501", place)]);
        check_model(|m| model(m, 1, &[1], raw(b"1234")), &[]);
    }

    #[test]
    fn tensors_in_attributes_are_looked_at() {
        check_model(
            |m| {
                let value = m.attribute("value", Tensor::default());
                m.node_with("y = Constant ()", [value]);
                m.outputs(["y"]);
            },
            &[("ONNX2501", r#"graph "g" / node #0 Constant / attribute "value""#)],
        );
    }
}
