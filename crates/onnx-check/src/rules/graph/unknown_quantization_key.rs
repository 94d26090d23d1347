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

#[cfg(test)]
mod tests {
    use onnx_ir::{QuantAnnotation, QuantParameter, ValueRef};

    use crate::testing::{Builder, check_model};

    #[test]
    fn keys_are_those_of_onnx() {
        let model = |m: &mut Builder, key: &str| {
            m.inputs(["x"]);
            m.node("y = Relu (x)");
            m.outputs(["y"]);
            let (graph, key, value) = (m.graph(), m.model.intern(key), ValueRef::Value(m.value("x")));
            let parameters = vec![QuantParameter::new(key, value)];
            let annotation = QuantAnnotation::new(value, parameters);
            m.model.graph_mut(graph).quantization.push(annotation);
        };
        let place = r#"graph "g" / quantization annotation "x""#;
        check_model(|m| model(m, "SCALE"), &[("ONNX2213", place)]);
        check_model(|m| model(m, "SCALE_TENSOR"), &[]);
        check_model(|m| model(m, "ZERO_POINT_TENSOR"), &[]);
    }
}
