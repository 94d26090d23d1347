//! Scales that stay `float` in a narrow model, since onnxruntime has no operator with them, or one that computes zeros.

use onnx_ir::Model;
use onnx_quantize::{Half, NarrowOptions, WideReason, narrow};
use onnx_types::ElemType;

use super::{assert_is_valid, model, text_of};

/// The operators that stay for the runtime, in the order of the model, and the result.
fn wide(text: &str) -> (Vec<String>, Model) {
    let mut result = model(text);
    let done = narrow(&mut result, Half::Float16, &NarrowOptions::default().with_run(false)).unwrap();
    assert_is_valid(&result);
    let wide = done.wide.into_iter().filter(|wide| wide.reason == WideReason::Runtime);
    (wide.map(|wide| wide.op).collect(), result)
}

#[test]
fn pairs_around_a_concatenation_have_scales_of_float() {
    let pairs = ["DequantizeLinear", "DequantizeLinear", "Concat", "QuantizeLinear"];
    for (nodes, wanted) in [
        (
            "c = Concat <axis = 1> (a, b) q = QuantizeLinear (c, s, z) y = DequantizeLinear (q, s, z)",
            &pairs[..],
        ),
        (
            "t = Transpose (a) u = Transpose (b) c = Concat <axis = 0> (t, u) q = QuantizeLinear (c, s, z) y = DequantizeLinear (q, s, z)",
            &["DequantizeLinear", "DequantizeLinear", "Transpose", "Transpose", "Concat", "QuantizeLinear"],
        ),
        (
            "c = Concat <axis = 1> (a, b) i = Identity (c) q = QuantizeLinear (i, s, z) y = DequantizeLinear (q, s, z)",
            &["DequantizeLinear", "DequantizeLinear", "Concat", "Identity", "QuantizeLinear"],
        ),
        ("c = Concat <axis = 1> (a, x) q = QuantizeLinear (c, s, z) y = DequantizeLinear (q, s, z)", &[]),
        ("y = Concat <axis = 1> (a, b)", &[]),
        ("c = Add (a, b) q = QuantizeLinear (c, s, z) y = DequantizeLinear (q, s, z)", &[]),
    ] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (float[4,4] x) => (float[M,N] y)
            <float s = {{0.1}}, uint8 z = {{128}}> {{
                p = QuantizeLinear (x, s, z) a = DequantizeLinear (p, s, z)
                n = Neg (x) r = QuantizeLinear (n, s, z) b = DequantizeLinear (r, s, z) {nodes}
            }}"#
        );
        let (found, result) = wide(&text);
        assert_eq!(found, wanted, "{}", text_of(&result));
    }
}

#[test]
fn quantized_constants_of_products_in_nested_graphs_have_scales_of_float() {
    let weight = "int8[2,2] w = {1, 2, 3, 4}, float s = {0.5}";
    let dequantize = "d = DequantizeLinear (w, s)";
    for (outer, inner, count) in [
        ("", format!("{dequantize} t0 = MatMul (x, d)"), 1),
        ("", format!("{dequantize} t0 = Gemm (x, d)"), 1),
        ("", format!("{dequantize} e = Identity (d) t0 = MatMul (x, e)"), 1),
        ("", format!("{dequantize} t0 = Add (x, d)"), 0),
        ("", "q = QuantizeLinear (x, s) d = DequantizeLinear (q, s) t0 = MatMul (d, x)".to_owned(), 0),
        (dequantize, "t0 = MatMul (x, d)".to_owned(), 0),
    ] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (float[2,2] x, bool is) => (float[2,2] y) <{weight}> {{
                {outer} y = If (is) <
                    then_branch = t () => (float[2,2] t0) {{ {inner} }},
                    else_branch = e () => (float[2,2] e0) {{ e0 = Neg (x) }}>
            }}"#
        );
        let (found, result) = wide(&text);
        assert_eq!(found, vec!["DequantizeLinear"; count], "{}", text_of(&result));
        let scale = model_value(&result, "s");
        assert_eq!(scale == Some(ElemType::Float), count == 1, "{}", text_of(&result));
    }
}

/// The type of a constant of the main graph.
fn model_value(model: &Model, name: &str) -> Option<ElemType> {
    let value = model.find_value(model.main_graph(), name)?;
    model.constant_tensor(value).map(|tensor| tensor.elem())
}
