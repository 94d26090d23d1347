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

#[cfg(test)]
mod tests {
    use onnx_types::tensor::Tensor;

    use crate::CheckOptions;
    use crate::testing::{Builder, check_model, check_with};

    #[test]
    fn strings_hold_their_characters_alone() {
        let model = |m: &mut Builder, strings: [&str; 3]| {
            m.initializer("w", Tensor::from_strings([3], strings).unwrap());
        };
        let data = CheckOptions::default().with_elements(true);
        let place = |index| format!(r#"graph "g" / initializer "w" / element {index}"#);
        let wrong = ["a\0", "b", "\u{feff}c"];
        check_with(&data, |m| model(m, wrong), &[("ONNX2518", &place(0)), ("ONNX2518", &place(2))]);
        check_with(&data, |m| model(m, ["a", "", "c\0c"]), &[]);
        // The elements are not read by default.
        check_model(|m| model(m, wrong), &[]);
    }
}
