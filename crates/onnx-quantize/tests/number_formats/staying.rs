//! What stays between quantized operators, as onnxruntime would quantize it by itself.

use onnx_compose::Quantization;
use onnx_ir::Model;
use onnx_quantize::{StaticOptions, StaticReport, StayReason};
use onnx_types::ElemType;

use super::text_of;

/// The model, whose outputs have at least 15 decibels.
fn quantized(text: &str, to: ElemType, table: &str) -> (Model, StaticReport) {
    let table = Quantization::named(table).unwrap();
    let (result, report, outputs) = super::quantized(text, to, &StaticOptions::new(&table));
    assert!(outputs.iter().all(|output| output.snr > Some(15.0)), "{outputs:?}\n{}", text_of(&result));
    (result, report)
}

fn ops(model: &Model) -> Vec<String> {
    model.nodes(model.main_graph()).map(|node| model.str(model.node(node).op()).to_owned()).collect()
}

/// The operators of the users of a value, and of theirs, to the first `QuantizeLinear`.
fn behind(model: &Model, name: &str) -> Vec<String> {
    let mut at = model.find_value(model.main_graph(), name).unwrap();
    let mut found = Vec::new();
    while let Some((node, _)) = model.sole_consumer(at) {
        let record = model.node(node);
        found.push(model.str(record.op()).to_owned());
        if found.last().is_some_and(|op| op == "QuantizeLinear") {
            break;
        }
        at = record.output(0).unwrap();
    }
    found
}

const NETWORK: &str = "float[3,3,1,1] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9, -0.7},
    float[3,3,1,1] k = {0.3, 0.9, -0.35, 0.22, 0.51, -0.11, 0.6, 0.25, -0.4}, float[3] b = {0.5, -0.25, 0.75}";

fn network(nodes: &str) -> String {
    format!(
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[1,3,4,4] x) => (float[1,3,4,4] y) <{NETWORK}> {{
            a = Conv (x, w) {nodes} y = Conv (c, w)
        }}"#
    )
}

#[test]
fn a_convolution_that_stays_between_pairs_has_a_sum_behind_it() {
    for table in ["onnxruntime", "generic"] {
        for (nodes, wanted) in [
            (r#"["keep"] c = Conv (a, k, b)"#, vec!["Sum", "QuantizeLinear"]),
            (r#"["keep"] c = Conv (a, k)"#, vec!["Sum", "QuantizeLinear"]),
            (r#"["keep"] s = Conv (a, k, b) c = Relu (s)"#, vec!["Sum", "QuantizeLinear"]),
            (r#"["keep"] s = Conv (a, k, b) c = Tanh (s)"#, vec!["QuantizeLinear"]),
            (r#"c = Conv (a, k, b)"#, vec!["QuantizeLinear"]),
        ] {
            for to in [ElemType::Int8, ElemType::Uint8] {
                let (result, _) = quantized(&network(nodes), to, table);
                assert_eq!(behind(&result, "c"), wanted, "{table} {nodes}\n{}", text_of(&result));
            }
        }
    }
}

/// A row for a bias, and a `Sum` without one.
#[test]
fn a_product_that_stays_between_pairs_has_a_row() {
    let text = |nodes: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (float[2,3] x) => (float[2,3] y)
            <float[3,3] w = {{0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9, -0.7}}, float[3] b = {{0.5, -0.25, 0.75}}> {{
                p = MatMul (x, w) a = Mul (p, x) z = MatMul (a, w) {nodes} e = Mul (c, z) y = MatMul (e, w)
            }}"#
        )
    };
    for (nodes, rank, wanted) in [
        (r#"["keep"] c = Gemm (a, w, b)"#, Some(2), vec!["QuantizeLinear"]),
        (r#"c = Gemm <alpha = 0.5> (a, w, b)"#, Some(2), vec!["QuantizeLinear"]),
        (r#"["keep"] c = Gemm (a, w)"#, None, vec!["Sum", "QuantizeLinear"]),
        (r#"["keep"] q = MatMul (a, w) ["keep"] c = Add (b, q)"#, Some(2), vec!["QuantizeLinear"]),
        (r#"q = MatMul (a, w) ["keep"] c = Add (q, b)"#, Some(2), vec!["QuantizeLinear"]),
        (r#"c = Gemm (a, w, b)"#, Some(1), vec!["QuantizeLinear"]),
    ] {
        let (result, _) = quantized(&text(nodes), ElemType::Uint8, "onnxruntime");
        let printed = text_of(&result);
        assert_eq!(behind(&result, "c"), wanted, "{printed}");
        assert_eq!(printed.contains("float[1,3] b_row"), rank == Some(2), "{printed}");
        assert_eq!(printed.contains("int32[3] b_quantized"), rank == Some(1), "{printed}");
    }
}

/// Each bias of `Gemm` that is a row is `int32`, and so is one next to an operand that is computed or quantized before; others keep their
/// node, with the reason.
#[test]
fn a_bias_is_int32_or_its_node_stays() {
    let text = |bias: &str, nodes: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (float[3,3] x, float[3,3] v) => (float[3,3] y)
            <float[3,3] w = {{0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9, -0.7}}, float{bias}, float s = {{0.008}},
             int8 zero = {{0}}> {{ {nodes} }}"#
        )
    };
    let plain = "y = Gemm (x, w, b)";
    let done = "q = QuantizeLinear (x, s, zero) d = DequantizeLinear (q, s, zero) y = Gemm (d, w, b)";
    for (bias, nodes, is_integer) in [
        ("[3] b = {0.5, -0.25, 0.75}", plain, true),
        ("[1,3] b = {0.5, -0.25, 0.75}", plain, true),
        ("[1] b = {0.5}", plain, true),
        (" b = {0.5}", plain, true),
        ("[3] b = {0.5, -0.25, 0.75}", "y = Gemm (x, v, b)", true),
        ("[3] b = {0.5, -0.25, 0.75}", done, true),
        ("[3] b = {1e8, -0.25, 0.75}", "y = Gemm (x, v, b)", false),
        ("[3,1] b = {0.5, -0.25, 0.75}", plain, false),
        ("[3] b = {0.5, -0.25, 0.75}", "y = Gemm <beta = 0.5> (x, w, b)", false),
    ] {
        for channels in ["onnxruntime", "generic"] {
            let (result, report) = quantized(&text(bias, nodes), ElemType::Int8, channels);
            let printed = text_of(&result);
            assert_eq!(printed.contains("b_quantized"), is_integer, "{printed}");
            let reasons: Vec<_> = report.stay.iter().map(|row| row.2).collect();
            assert_eq!(reasons.contains(&StayReason::Bias), !is_integer, "{nodes} {report:?}");
        }
    }
    // TensorRT takes biases of floats.
    let (result, report) =
        quantized(&text("[3,1] b = {0.5, -0.25, 0.75}", plain), ElemType::Int8, "tensorrt");
    assert!(report.stay.is_empty() && text_of(&result).contains("QuantizeLinear"));
}

/// The bias behind a product of three axes that stays is a row, too: onnxruntime would repeat a pair behind the `Reshape` that it makes.
#[test]
fn a_stack_of_products_that_stays_has_a_row() {
    for (nodes, is_row) in [
        (r#"z = MatMul (x, w) ["keep"] t = MatMul (z, w) ["keep"] a = Add (t, b) y = Tanh (a)"#, true),
        (r#"["keep"] t = MatMul (x, w) ["keep"] a = Add (t, b) y = MatMul (a, w)"#, true),
        (r#"["keep"] t = MatMul (x, w) ["keep"] a = Add (t, b) s = Tanh (a) y = MatMul (s, w)"#, false),
    ] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (float[2,3,3] x) => (float[2,3,3] y)
            <float[3,3] w = {{0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9, -0.7}}, float[3] b = {{0.5, -0.25, 0.75}}> {{
                {nodes}
            }}"#
        );
        let table = Quantization::named("onnxruntime").unwrap();
        let options = StaticOptions::new(&table).with_quantized_results(true);
        let (result, ..) = super::quantized(&text, ElemType::Int8, &options);
        let printed = text_of(&result);
        assert_eq!(printed.contains("float[1,3] b_row"), is_row, "{printed}");
    }
}

/// onnxruntime puts the branch of a constant condition into the graph around it, and repeats its pair.
#[test]
fn pairs_of_branches_are_repeated() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[3,3] x) => (float[9] y)
    <float[3,3] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9, -0.7}, bool is = {1}, int64[1] flat = {9}> {
        p = MatMul (x, w)
        s = If (is) <
            then_branch = t () => (float[3,3] t0) { q = MatMul (p, w) r = Mul (q, p) t0 = MatMul (r, w) },
            else_branch = e () => (float[3,3] e0) { e0 = Neg (p) }
        >
        y = Reshape (s, flat)
    }"#;
    let table = Quantization::named("onnxruntime").unwrap();
    let options = StaticOptions::new(&table).with_quantized_results(true);
    let (result, ..) = super::quantized(text, ElemType::Int8, &options);
    let all = ops(&result);
    let tail: Vec<&str> = all.iter().rev().take(3).rev().map(String::as_str).collect();
    assert_eq!(tail, ["Reshape", "QuantizeLinear", "DequantizeLinear"], "{}", text_of(&result));
}

/// onnxruntime leaves `Relu` and `Clip` out in front of 8-bit floats.
#[test]
fn an_activation_in_front_of_short_floats_has_a_sum_behind_it() {
    for (activation, to, wanted) in [
        ("c = Relu (s)", ElemType::Float8E4M3Fn, vec!["Sum", "QuantizeLinear"]),
        ("c = Clip (s, low)", ElemType::Float8E4M3Fn, vec!["Sum", "QuantizeLinear"]),
        (
            "r = Relu (s) c = Transpose <perm = [0, 1, 3, 2]> (r)",
            ElemType::Float8E5M2,
            vec!["QuantizeLinear"],
        ),
        ("c = Tanh (s)", ElemType::Float8E4M3Fn, vec!["QuantizeLinear"]),
    ] {
        let text = network(&format!("s = Conv (a, k) {activation}"));
        let text = text.replace("float[3] b", "float low = {0}, float[3] b");
        let (result, _) = quantized(&text, to, "generic");
        let printed = text_of(&result);
        assert_eq!(behind(&result, "c"), wanted, "{printed}");
        assert_eq!(printed.contains("= Sum"), !activation.contains("Tanh"), "{printed}");
    }
}

/// onnxruntime would put a `Reshape` in front of a vector, and repeat its pair there. A row for the bias would make a row of the sum.
#[test]
fn a_product_with_a_vector_has_a_sum_behind_it() {
    let scan =
        "y, all = Scan <num_scan_inputs = 1, body = b (float[3] v, float[3] r) => (float[3] n, float[3] s) {
        p = MatMul (r, w) s = Add (p, b) n = Neg (v) }> (x, m)";
    for (nodes, is_held) in [
        ("p = MatMul (x, w) y = Add (p, b)", true),
        ("p = MatMul (x, w) i = Identity (p) y = Add (b, i)", true),
        (r#"z = MatMul (x, w) ["keep"] t = MatMul (z, w) ["keep"] a = Add (t, b) y = MatMul (a, w)"#, true),
        (scan, true),
        ("p = MatMul (w, x) y = Add (p, b)", false),
        ("p = MatMul (x, w) y = Tanh (p)", false),
    ] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (float[3] x, float[4,3] m) => (float[3] y)
            <float[3,3] w = {{0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9, -0.7}}, float[3] b = {{0.5, -0.25, 0.75}}> {{
                {nodes}
            }}"#
        );
        let text =
            if nodes == scan { text.replace("(float[3] y)", "(float[3] y, float[4,3] all)") } else { text };
        for to in [ElemType::Int8, ElemType::Uint8] {
            let (result, _) = quantized(&text, to, "onnxruntime");
            let printed = text_of(&result);
            assert_eq!(printed.contains("= Sum ("), is_held, "{printed}");
            assert!(!printed.contains("_row"), "{printed}");
        }
    }
}
