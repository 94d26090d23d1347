//! The rule `tensor-string-padded`: a string in a tensor begins with a byte order mark or ends with a NUL.

use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_types::ElemType;

use super::tensor_element_invalid::MOST;
use crate::cx::TensorCx;
use crate::identifier::is_padded;

pub(crate) static RULE: Rule = Rule::new(
    2518,
    "tensor-string-padded",
    Severity::Warning,
    "A string in a tensor begins with a byte order mark or ends with a NUL.",
)
.with_spec("IR: Tensor Element Types")
.with_explain(include_str!("tensor_string_padded.md"));

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    if !cx.options.elements || cx.tensor.elem() != ElemType::String || !cx.faults.is_empty() {
        return;
    }
    let (tensor, place) = (cx.tensor, cx.place);
    let Ok(strings) = tensor.strings() else { return };
    let wrong = strings.enumerate().filter(|(_, string)| string.as_ref().is_ok_and(|text| is_padded(text)));
    for (index, _) in wrong.take(MOST) {
        cx.report(&RULE, |places| {
            let message = format!("string {index} begins with a byte order mark or ends with a NUL");
            Diagnostic::new(&RULE, place.locate(places).element(index), message)
                .help("remove the mark and the NUL")
        });
    }
}
