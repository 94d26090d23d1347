//! Values that only newer versions allow: negative axes, indices and padding, masks, shifts, omitted outputs; each with what
//! the converted model contains, or why it is refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use onnx_check::{CheckOptions, check};
use onnx_ir::Model;
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_version::{Cause, ConvertOptions, VersionError, convert};

fn parsed(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Converts a model. Returns the text, or the error.
#[expect(clippy::result_large_err, reason = "the model is for the messages of a test that fails")]
fn converted_model(text: &str, to: i64) -> Result<String, (Model, VersionError)> {
    let mut model = parsed(text);
    match convert(&mut model, to, &ConvertOptions::default()) {
        Ok(_) => {
            let found = check(&model, &CheckOptions::default());
            assert!(!found.has_errors(), "{text}: {:?}", found.diagnostics());
            Ok(print_model(&model, &PrintOptions::default()).unwrap().text)
        }
        Err(error) => Err((model, error)),
    }
}

fn with_version(graph: &str, from: i64) -> String {
    let ir = if from < 9 { 4 } else { 8 };
    format!("<ir_version: {ir}, opset_import: [\"\": {from}, \"custom\": 1]>\n{graph}")
}

#[track_caller]
fn has(graph: &str, (from, to): (i64, i64), parts: &[&str]) {
    let text = converted_model(&with_version(graph, from), to);
    let text = text.unwrap_or_else(|(_, error)| panic!("{error}: {graph}"));
    for part in parts {
        match part.strip_prefix('!') {
            Some(part) => assert!(!text.contains(part), "{part} is in {text}"),
            None => assert!(text.contains(part), "{part} is not in {text}"),
        }
    }
}

#[track_caller]
fn refuses(graph: &str, (from, to): (i64, i64), cause: Cause) {
    match converted_model(&with_version(graph, from), to) {
        Err((_, VersionError::Refused(refusals))) => {
            assert_eq!(refusals.first().unwrap().reason.cause(), cause, "{graph}");
        }
        other => panic!("{graph}: {:?}", other.map_err(|(_, error)| error)),
    }
}

#[test]
fn masks_that_version_24_would_pad_are_expanded() {
    let graph = |mask: &str| {
        format!(
            "g (float[1, 2, 3, 4] q, float[1, 2, 5, 4] k, float[1, 2, 5, 4] v, float[{mask}] m) => (float[1, 2, 3, 4] y) {{
                y = Attention (q, k, v, m)
            }}"
        )
    };
    has(&graph("3, 1"), (23, 24), &["Shape <start = -2, end = -1> (k)", "Expand (m, "]);
    has(&graph("3, N"), (23, 25), &["Expand (m, "]);
    has(&graph("3, 5"), (23, 24), &["Attention (q, k, v, m)", "!Expand"]);
    let open = "g (float[B, 2, Q, 4] q, float[B, 2, K, 4] k, float[B, 2, K, 4] v, float[Q, K] m) => (float[B, 2, Q, 4] y) {
        y = Attention (q, k, v, m)
    }";
    has(open, (23, 24), &["!Expand"]);
    has(&open.replace("float[Q, K]", "bool[B, 1, Q, 1]"), (23, 24), &["Expand (m, "]);
    has(
        &open
            .replace("[B, 2, K, 4]", "[B, K, 8]")
            .replace("float[Q, K]", "float[Q, 1]")
            .replace("Attention (", "Attention <kv_num_heads = 2> ("),
        (23, 24),
        &["Expand"],
    );
    let past = |mask: &str, length: i64| {
        format!(
            "g (float[1, 2, 3, 4] q, float[1, 2, 3, 4] k, float[1, 2, 3, 4] v, float[3, {mask}] m, float[1, 2, {length}, 4] pk,
                float[1, 2, {length}, 4] pv) => (float[1, 2, 3, 4] y) {{
                y, k1, v1 = Attention (q, k, v, m, pk, pv)
            }}"
        )
    };
    has(&past("1", 2), (23, 24), &["(pk)", "(k)", "= Add (", "Expand (m, "]);
    has(&past("5", 2), (23, 24), &["!Expand"]);
    has(&past("5", 2), (24, 23), &["Attention (q, k, v, m, pk, pv)"]);
}

#[test]
fn operands_and_results_of_attention_go_together_from_version_25_on() {
    let graph = |outputs: &str, attributes: &str, inputs: &str| {
        format!(
            "g (float[1, 2, 3, 4] q, float[1, 2, 3, 4] k, float[1, 2, 3, 4] v, float[1, 2, 2, 4] p, int64[1] n)
                => (float[1, 2, 3, 4] y) {{ {outputs} = Attention {attributes} (q, k, v{inputs}) }}"
        )
    };
    let heads = "<kv_num_heads = 2, q_num_heads = 2>";
    has(&graph("y", heads, ""), (24, 25), &["y = Attention (q, k, v)"]);
    has(&graph("y", heads, ""), (23, 24), &["y = Attention <kv_num_heads = 2"]);
    for outputs in ["y, a", "y, \"\", b"] {
        let text = converted_model(&with_version(&graph(outputs, "", ""), 24), 25);
        let text = text.unwrap_or_else(|(_, error)| panic!("{error}"));
        let line = text.lines().find(|line| line.contains("Attention")).unwrap();
        assert_eq!(line.split('=').next().unwrap().split(',').count(), 3, "{text}");
        assert!(!line.contains("\"\""), "{text}");
    }
    refuses(&graph("y", "", ", , p"), (24, 25), Cause::Meaning);
    refuses(&graph("y, a", "", ", , , , n"), (24, 25), Cause::Meaning);
}

#[test]
fn windows_of_lp_pool_in_the_padding_are_refused() {
    let graph = |kernel: i64, stride: i64| {
        format!(
            "g (float[1, 1, 5] x) => (float[1, 1, A] y) {{
                y = LpPool <ceil_mode = 1, kernel_shape = [{kernel}], pads = [0, 1], strides = [{stride}]> (x)
            }}"
        )
    };
    refuses(&graph(1, 5), (18, 22), Cause::Meaning);
    has(&graph(3, 2), (18, 22), &["LpPool <ceil_mode = 1"]);
    has(&graph(1, 5), (22, 21), &["pads = [0, 0]", "!ceil_mode"]);
    has(&graph(3, 2), (22, 21), &["LpPool <ceil_mode = 1"]);
}

#[test]
fn axes_of_scans_count_from_the_front_before_version_11() {
    let graph = |attributes: &str| {
        format!(
            "g (float[2] s, float[2, 3] x) => (float[2] t, float[2, 3] y) {{
                t, y = Scan <num_scan_inputs = 1, {attributes}, body = b (float[2] si, float[2] xi) => (float[2] so, float[2] yi) {{
                    so = Add (si, xi)
                    yi = Identity (so)
                }}> (s, x)
            }}"
        )
    };
    let negative = graph("scan_input_axes = [-1], scan_output_axes = [-1]");
    has(&negative, (11, 10), &["scan_input_axes = [1]", "scan_output_axes = [1]"]);
    has(&graph("scan_input_axes = [1], scan_output_axes = [-1]"), (11, 9), &["scan_output_axes = [1]"]);
    has(&graph("scan_input_axes = [1], scan_output_axes = [1]"), (11, 9), &["scan_input_axes = [1]"]);
}

#[test]
fn one_operand_tells_the_batch_of_a_scan() {
    let graph = |batch: &str| {
        format!(
            "g (float[{batch}, 2] s, float[{batch}, 3, 2] r) => (float[{batch}, 2] t, float[{batch}, 3, 2] y) {{
                x = custom.Op (r)
                t, y = Scan <num_scan_inputs = 1, body = b (float[2] si, float[2] xi) => (float[2] so, float[2] yi) {{
                    so = Add (si, xi)
                    yi = Identity (so)
                }}> (, s, x)
            }}"
        )
    };
    has(&graph("1"), (8, 9), &["Squeeze <axes = [0]> (s)", "Squeeze <axes = [0]> (x)"]);
    refuses(&graph("2"), (8, 9), Cause::Meaning);
    refuses(&graph("N"), (8, 9), Cause::Meaning);
}

#[test]
fn nothing_is_removed_by_padding_in_version_1() {
    let graph = |pads: &str| {
        format!(
            "g (float[4, 4] x) => (float[A, B] y) {{ y = Pad <mode = \"constant\", pads = [{pads}]> (x) }}"
        )
    };
    refuses(&graph("0, -1, 0, 0"), (2, 1), Cause::Meaning);
    has(&graph("0, 1, 0, 0"), (2, 1), &["paddings = [0, 1, 0, 0]"]);
}

#[test]
fn constant_indices_of_gather_count_from_the_front_before_version_11() {
    let graph = |data: &str, indices: &str, axis: i64| {
        format!("g (float[{data}] x) => (y) <{indices}> {{ y = Gather <axis = {axis}> (x, i) }}")
            .replace("(y)", "(float[A, B] y)")
    };
    has(&graph("3, 5", "int64[2] i = {0, -1}", 1), (11, 10), &["{0, 4}", "!-1"]);
    has(&graph("3, 5", "int32[2] i = {-3, 2}", 0), (13, 9), &["int32[2]", "{0, 2}"]);
    has(&graph("3, 5", "int64[2] i = {-1, 2}", -1), (11, 10), &["axis = 1", "{4, 2}"]);
    has(&graph("3, 5", "int64[2] i = {0, 2}", 1), (11, 10), &["Gather <axis = 1> (x, i)"]);
    // The size of the axis is computed.
    has(
        &graph("3, N", "int64[2] i = {0, -1}", 1),
        (11, 10),
        &["Shape (x)", "{0, 1}", "= Mul (", "= Add (i, "],
    );
    has(&graph("N, 5", "int32[2] i = {-2, -1}", 0), (11, 10), &["Shape (x)", "Cast <to = 6>", "= Add (i, "]);
    // Indices that are not constant are counted from the end by each implementation.
    let operand = "g (float[3, 5] x, int64[2] i) => (float[2, 5] y) { y = Gather (x, i) }";
    has(operand, (11, 10), &["Gather (x, i)"]);
}

#[test]
fn shifts_by_all_bits_give_0_before_version_28() {
    let graph = |more: &str, inputs: &str| {
        format!(
            "g (uint8[2] x{inputs}) => (uint8[2] y) <{more}> {{ y = BitShift <direction = \"LEFT\"> (x, b) }}"
        )
    };
    has(
        &graph("uint8[2] b = {1, 7}", ""),
        (28, 27),
        &["y = BitShift <direction = \"LEFT\"> (x, b)", "!Where"],
    );
    has(&graph("uint8[2] b = {1, 8}", ""), (28, 27), &["BitShift", "Less (b, ", "y = Where ("]);
    has(&graph("uint8 c = {1}", ", uint8[2] b"), (28, 11), &["Less (b, ", "y = Where ("]);
}

#[test]
fn no_diagonal_of_trilu_overflows() {
    let graph = "g (float[2, 3] x, int64 k) => (float[2, 3] y) { y = Trilu <upper = 0> (x, k) }";
    has(graph, (14, 13), &["= Sub (", "= Greater (", "!Add"]);
}

#[test]
fn omitted_outputs_that_an_older_version_requires_are_named() {
    let gru = "g (float[3, 2, 4] x, float[1, 12, 4] w, float[1, 12, 4] r) => (float[3, 1, 2, 4] y) {
        y, \"\" = GRU <hidden_size = 4> (x, w, r)
    }";
    has(gru, (10, 3), &["y, \"\" = GRU"]);
    has(gru, (10, 2), &["y, ", "!\"\" = GRU"]);
    let training = |outputs: &str, elem: &str| {
        format!(
            "g (float[2, 4] x, float[4] s, float[4] b, float[4] m, float[4] v) => (float[2, 4] y) {{
                {outputs} = BatchNormalization <training_mode = 1> (x, s, b, m, v)
            }}"
        )
        .replace("float", elem)
    };
    for outputs in ["y", "y, a, b1", "y, \"\", \"\""] {
        let text = converted_model(&with_version(&training(outputs, "float"), 15), 13)
            .unwrap_or_else(|(_, error)| panic!("{error}"));
        let line = text.lines().find(|line| line.contains("BatchNormalization")).unwrap();
        assert_eq!(line.split('=').next().unwrap().split(',').count(), 5, "{text}");
        assert!(!line.contains("\"\"") && !line.contains("training_mode"), "{text}");
    }
    has(&training("y", "float16"), (15, 13), &["= BatchNormalization (x, s, b, m, v)"]);
}

#[test]
fn attributes_that_a_newer_version_requires_are_not_invented() {
    let graph = "g (float[1, 1, 4, 4] x) => (float[1, 1, A, B] y) { y = LpPool (x) }";
    refuses(graph, (1, 2), Cause::Meaning);
    refuses("g (float[4] x) => (float[A] y) { y = Reshape (x) }", (4, 5), Cause::Meaning);
}

#[test]
fn original_nodes_have_the_types_of_bodies() {
    let graph = |more: &str| {
        format!("g (float[2, 4] x, float[4] s) => (float[2, 4] y) {{ n = LayerNormalization (x, s) {more} }}")
    };
    has(&graph("y = Identity (n)"), (17, 15), &["y = Identity (n)", "!LayerNormalization"]);
    has(&graph("c = Less (n, x) y = Where (c, n, x)"), (17, 15), &["y = Where (c, n, x)"]);
    let gelu = "g (float[2, 4] x) => (float[2, 1] y) { n = Gelu (x) y = ReduceMax <keepdims = 1> (n, a) }"
        .replace("{ n", "<int64[1] a = {1}> { n");
    has(&gelu, (20, 19), &["ReduceMax", "!Gelu"]);
}

#[test]
fn sparse_constants_are_dense_tensors_for_other_operators() {
    let graph = "g (float[2, 4] x) => (float[2, 4] y) {
        c = Constant <sparse_value = sparse_tensor[2, 4] = {values: float[2] {1, 2}, indices: int64[2] {0, 5}}> ()
        d = Add (c, c)
        y = Add (x, d)
    }";
    has(graph, (25, 12), &["sparse_value", "= Add (c, c)"]);
    has(graph, (25, 10), &["value = float[2,4] {1, 0, 0, 0, 0, 2, 0, 0}", "!sparse"]);
    let pairs = graph.replace("int64[2] {0, 5}", "int64[2, 2] {0, 0, 1, 1}");
    has(&pairs, (12, 10), &["value = float[2,4] {1, 0, 0, 0, 0, 2, 0, 0}"]);
    let wide = graph.replace("[2, 4]", "[1000, 1000]");
    refuses(&wide, (12, 10), Cause::Meaning);
    let axes = "g (float[2, 4] x) => (float[2] y) {
        a = Constant <sparse_value = sparse_tensor[1] = {values: int64[1] {1}, indices: int64[1] {0}}> ()
        y = ReduceSum <keepdims = 0> (x, a)
    }";
    has(axes, (13, 12), &["ReduceSum <keepdims = 0, axes = [1]> (x)"]);
}

#[test]
fn types_are_known_where_inference_does_not_go() {
    let constant = r#"<ir_version: 8, opset_import: ["": 13, "l": 1]>
        g (float[2] x) => (float[2] y) { y = Relu (x) }
        <domain: "l", opset_import: ["": 13]> F (a) => (b) { b = Constant <value = int64[1] {1}> () }"#;
    let text = converted_model(constant, 12).unwrap_or_else(|(_, error)| panic!("{error}"));
    assert!(text.contains("b = Constant"), "{text}");
    let unknown = constant.replace("b = Constant <value = int64[1] {1}> ()", "b = Relu (a)");
    let Err((model, error)) = converted_model(&unknown, 12) else { panic!("it is not refused") };
    let found = error.findings(&model);
    let help = found.diagnostics().first().and_then(|found| found.help.clone());
    assert_eq!(help.as_deref(), Some("nothing calls the function: remove it, as `onnx simplify` does"));
    let nested = r#"<ir_version: 8, opset_import: ["": 13, "custom": 1]>
        g (float[2, 4] x) => (float[2, 4] y) {
            y = custom.Run <body = b (float[2, 4] a) => (float[2, 4] c) { c = Softmax <axis = 0> (a) }> (x)
        }"#;
    let text = converted_model(nested, 12).unwrap_or_else(|(_, error)| panic!("{error}"));
    assert!(text.contains("Transpose"), "{text}");
}

#[test]
fn names_and_value_info_stay_with_the_elements() {
    let graph = "g (float[2, 4] x, float[2, 4] w) => (float[2, 4] y) <float[2, 4] z> {
        z = Hardmax <axis = 0> (x)
        y = Mul (z, w)
    }";
    has(graph, (13, 12), &["z = Transpose", "y = Mul (z, w)", "float[2,4] z"]);
    let sharded = r#"<ir_version: 11, opset_import: ["": 13], configuration: [{name: "c", num_devices: 2}]>
        g (float[2, 4] x) => (float[2, 4] y) <float w = {1}, float s = {1}> @{quantization_annotation: [
            {tensor_name: "z", quant_parameter_tensor_names: ["SCALE_TENSOR": "s"]}
        ]} {
            z = Hardmax <axis = 0> (x) @{device_configurations: [
                {configuration_id: "c", sharding_spec: [{tensor_name: "z", device: [0]}, {tensor_name: "x", device: [0]}]}
            ]}
            y = Mul (z, w) @{device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "z", device: [1]}]}]}
        }"#;
    let text = converted_model(sharded, 12).unwrap_or_else(|(_, error)| panic!("{error}"));
    // The node has other operands and results, so only the reader is sharded.
    assert_eq!(text.matches("sharding_spec: [{tensor_name: \"z\", device: [1]}]").count(), 1, "{text}");
    assert_eq!(text.matches("device: [").count(), 1, "{text}");
    assert!(text.contains("quantization_annotation: [{tensor_name: \"z\""), "{text}");
    let reduced = "g (float[2, 4] x) => (float[2, 4] y) <float[2, 4] z> {
        z = ReduceSumSquare <noop_with_empty_axes = 1> (x)
        y = Neg (z)
    }";
    has(reduced, (18, 17), &["z = Mul (x, x)", "y = Neg (z)", "float[2,4] z"]);
}

#[test]
fn an_omitted_bound_is_the_limit_of_the_type() {
    let graph = |elem: &str, node: &str| format!("g ({elem}[2] x) => ({elem}[2] y) {{ y = {node} }}");
    let clip = graph("float", "Clip (x)");
    has(&clip, (5, 6), &["Clip (x)"]);
    for version in 6..=10 {
        has(&clip, (11, version), &["Clip (x)", "!inf"]);
        has(&clip, (13, version), &["Clip (x)", "!inf"]);
    }
    has(&clip, (10, 11), &["3.4028235e38", "-3.4028235e38", "!inf"]);
    let low = "g (float[2] x) => (float[2] y) <float low = {0.5}> { y = Clip (x, low) }";
    has(low, (13, 9), &["Clip <min = 0.5> (x)"]);
    let half = graph("float16", "Clip (x)");
    has(&half, (13, 9), &["max = 65504", "min = -65504"]);
    has(&half, (5, 6), &["max = 65504", "min = -65504"]);
    let double = graph("double", "Clip (x)");
    has(&double, (13, 9), &["Max (x, ", "Min (", "1.7976931348623157e308", "!Clip"]);
    refuses(&double, (5, 6), Cause::Meaning);
    let infinite = "g (float[2] x) => (float[2] y) <float low = {inf}> { y = Clip (x, low) }";
    has(infinite, (13, 9), &["Max (x, ", "Min ("]);
    let given =
        "g (float[2] x) => (float[2] y) <float low = {-inf}, float high = {inf}> { y = Clip (x, low, high) }";
    has(given, (13, 9), &["min = -inf", "max = inf"]);
}

#[test]
fn operands_that_no_run_has_are_refused() {
    let node =
        |op: &str, b: &str| format!("g (float[4] x, float{b} z) => (float[4] y) {{ y = {op} (x, z) }}");
    for op in ["Add", "Sub", "Mul", "Div", "Pow"] {
        refuses(&node(op, ""), (6, 7), Cause::Meaning);
        refuses(&node(op, "[1]"), (6, 22), Cause::Meaning);
        has(&node(op, "[4]"), (6, 22), &[op]);
    }
    for op in ["Greater", "Less"] {
        let graph = format!("g (float[2, 4] x, float[4] z) => (bool[2, 4] y) {{ y = {op} (x, z) }}");
        refuses(&graph, (6, 7), Cause::Meaning);
    }
    for op in ["And", "Or", "Xor", "Equal"] {
        let graph = format!("g (bool[2, 4] x, bool[4] z) => (bool[2, 4] y) {{ y = {op} (x, z) }}");
        refuses(&graph, (6, 7), Cause::Meaning);
    }
    for op in ["Max", "Mean", "Min", "Sum"] {
        refuses(&node(op, "[1]"), (7, 8), Cause::Meaning);
        has(&node(op, "[4]"), (7, 8), &[op]);
    }
    let gemm = |c: &str| {
        format!("g (float[2, 3] a, float[3, 4] b, float{c} c) => (float[2, 4] y) {{ y = Gemm (a, b, c) }}")
    };
    refuses(&gemm("[4]"), (6, 7), Cause::Meaning);
    has(&gemm("[2, 4]"), (6, 7), &["Gemm (a, b, c)"]);
}
