//! The rule `unknown-quantization-key`: a quantization annotation has a parameter that ONNX does not define.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};

use crate::cx::GraphCx;

pub(crate) static RULE: Rule = Rule::new(
    2213,
    "unknown-quantization-key",
    Severity::Note,
    "A quantization annotation has a parameter that ONNX does not define.",
)
.with_spec("IR: TensorAnnotation")
.with_explain(include_str!("unknown_quantization_key.md"));

const KEYS: [&str; 2] = ["SCALE_TENSOR", "ZERO_POINT_TENSOR"];

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    let id = cx.id;
    for annotation in &cx.graph.quantization {
        for parameter in &annotation.parameters {
            let key = cx.model.str(parameter.key);
            if KEYS.contains(&key) {
                continue;
            }
            cx.report(&RULE, |places| {
                let message = format!("there is no quantization parameter {}", Quoted(key));
                Diagnostic::new(&RULE, places.annotation(id, annotation.tensor), message)
                    .help(format!("the known ones are `{}`", KEYS.join("` and `")))
            });
        }
    }
}
