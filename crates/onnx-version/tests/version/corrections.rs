//! Steps that other converters get wrong, each with what the converted model contains, or why it is refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use onnx_check::{CheckOptions, check};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_version::{
    Cause, ConvertOptions, StepChange, VersionError, claims, convert, nearest, plan, set_ir_version,
};

/// Converts a graph of a version to another one. Returns the text, or the cause of the first refusal.
fn converted(graph: &str, from: i64, to: i64) -> Result<String, Cause> {
    let ir = if from < 9 { 4 } else { 8 };
    let text = format!("<ir_version: {ir}, opset_import: [\"\": {from}, \"custom\": 1]>\n{graph}");
    let mut model =
        parse_model(&text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let before = print_model(&model, &PrintOptions::full()).unwrap().text;
    match convert(&mut model, to, &ConvertOptions::default()) {
        Ok(_) => {
            let found = check(&model, &CheckOptions::default());
            assert!(!found.has_errors(), "{graph}: {:?}", found.diagnostics());
            Ok(print_model(&model, &PrintOptions::default()).unwrap().text)
        }
        Err(VersionError::Refused(refusals)) => {
            assert_eq!(
                before,
                print_model(&model, &PrintOptions::full()).unwrap().text,
                "refused means unchanged"
            );
            Err(refusals.first().unwrap().reason.cause())
        }
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn has(graph: &str, (from, to): (i64, i64), parts: &[&str]) {
    let text = converted(graph, from, to).unwrap_or_else(|cause| panic!("{cause:?}: {graph}"));
    for part in parts {
        match part.strip_prefix('!') {
            Some(part) => assert!(!text.contains(part), "{part} is in {text}"),
            None => assert!(text.contains(part), "{part} is not in {text}"),
        }
    }
}

#[track_caller]
fn refuses(graph: &str, (from, to): (i64, i64), cause: Cause) {
    assert_eq!(converted(graph, from, to).unwrap_err(), cause, "{graph}");
}

#[test]
fn reductions_of_nothing_keep_what_they_do_to_elements() {
    let graph = |op: &str| {
        format!("g (float[2, 3] x) => (float[2, 3] y) {{ y = {op} <noop_with_empty_axes = 1> (x) }}")
    };
    has(&graph("ReduceL1"), (18, 17), &["= Abs (x)"]);
    has(&graph("ReduceL2"), (18, 17), &["= Abs (x)"]);
    has(&graph("ReduceSumSquare"), (18, 17), &["= Mul (x, x)"]);
    has(&graph("ReduceLogSum"), (18, 17), &["= Log (x)"]);
    let integers = graph("ReduceLogSum").replace("float", "int64");
    has(&integers, (18, 17), &["Cast <to = 1> (x)", "= Log (", "Cast <to = 7>"]);
    has(&graph("ReduceMean"), (18, 17), &["= Identity (x)"]);
    has(&graph("ReduceSum"), (13, 12), &["= Identity (x)"]);
}

#[test]
fn softmax_always_states_its_axis() {
    has("g (float[2, 3] x) => (float[2, 3] y) { y = Softmax (x) }", (13, 12), &["Softmax <axis = 1>"]);
    has(
        "g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax <axis = 1> (x) }",
        (13, 12),
        &["Transpose <perm = [0, 2, 1]>", "Softmax <axis = 2>"],
    );
    has(
        "g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Hardmax (x) }",
        (12, 13),
        &["Flatten", "Hardmax <axis = -1>", "!allowzero"],
    );
    // From version 14 on, results without elements get their shape back.
    has(
        "g (float[2, N, 4] x) => (float[2, N, 4] y) { y = Softmax <axis = 1> (x) }",
        (12, 14),
        &["Softmax <axis = -1>", "Reshape <allowzero = 1>"],
    );
}

#[test]
fn inputs_that_became_optional_get_a_value() {
    has(
        "g (float[2, 3] a, float[3, 4] b) => (float[2, 4] y) { y = Gemm (a, b) }",
        (11, 10),
        &["Gemm (a, b, "],
    );
    has(
        "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, , s) }",
        (13, 11),
        &["!Resize (x, , s)"],
    );
    has("g () => (bool y) { y = OptionalHasElement () }", (18, 17), &["!OptionalHasElement"]);
}

#[test]
fn nearest_pixels_of_whole_scales_are_repeated() {
    let graph = |mode: &str| {
        format!(
            "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) <float[4] s = {{1, 1, 2, 2}}> {{ y = Resize <coordinate_transformation_mode = \"{mode}\"> (x, , s) }}"
        )
    };
    has(&graph("half_pixel"), (13, 9), &["Upsample (x, "]);
    refuses(&graph("align_corners"), (13, 10), Cause::Meaning);
}

#[test]
fn bounds_in_the_wrong_order_are_two_operators() {
    let graph = "g (float[2] x) => (float[2] y) <float a = {1}, float b = {-1}> { y = Clip (x, a, b) }";
    has(graph, (13, 10), &["Max (x, ", "Min ("]);
}

#[test]
fn bounds_keep_their_type() {
    let graph = "g (float16[2] x) => (float16[2] y) { y = Clip <max = 6.0, min = 0.0> (x) }";
    has(graph, (10, 11), &["float16", "!max = "]);
    has("g (float[2] x, float low) => (float[2] y) { y = Clip (x, low) }", (11, 10), &["Max (x, low)"]);
}

#[test]
fn causes_are_distinct() {
    let reduced = "g (float[2, 3] x, int64[1] axes) => (float[A, B] y) { y = ReduceSum (x, axes) }";
    refuses(reduced, (13, 12), Cause::NotConstant);
    let default = "g (float[2, 3] x, int64[1] axes = {1}) => (float[A, B] y) { y = ReduceSum (x, axes) }";
    refuses(default, (13, 12), Cause::Overridable);
    refuses("g (int32[2] x) => (int32[2] y) { y = Relu (x) }", (14, 13), Cause::TypeNotAllowed);
    refuses("g (float[2] x) => (y) { t = custom.Unknown (x) y = Relu (t) }", (14, 13), Cause::TypeUnknown);
    refuses("g (float[2] x) => (float[2] y) { y = Erf (x) }", (9, 8), Cause::NoForm);
}

#[test]
fn operators_without_a_form_become_their_bodies() {
    has(
        "g (float[2, 3] x, float[3] s) => (float[2, 3] y) { y = LayerNormalization (x, s) }",
        (17, 11),
        &["!LayerNormalization", "ReduceMean <axes = ["],
    );
    has(
        "g (float[2] x, float16[1] t) => (float16[2] y) { y = CastLike (x, t) }",
        (15, 13),
        &["Cast <to = 10> (x)"],
    );
    has("g (float[2, 3] x) => (float[2, 3] y) { y = Trilu (x) }", (14, 11), &["Where", "Range", "!Trilu"]);
    has(
        "g (float[1, 4, 2] x, float[4] s, float[4] b) => (float[1, 4, 2] y) { y = GroupNormalization <num_groups = 2> (x, s, b) }",
        (21, 20),
        &["!GroupNormalization"],
    );
}

#[test]
fn operands_of_one_element_and_rank_1_stay_vectors() {
    let graph = "g (int64 a, int64[1] l, int64 d) => (int64[K] y) { y = Range (a, l, d) }";
    has(graph, (11, 10), &["Reshape (", "!Unsqueeze"]);
    let grid = |height: i64| {
        format!(
            "g (float[2, 2, 3] x) => (float[2, {height}, 4, 2] y) <int64[4] s = {{2, 1, {height}, 4}}> {{
                y = AffineGrid <align_corners = 1> (x, s)
            }}"
        )
    };
    has(&grid(3), (20, 19), &["Reshape (", "!AffineGrid"]);
    // The body divides by 0 for a single row.
    refuses(&grid(1), (20, 19), Cause::NoForm);
}

#[test]
fn modes_without_an_effect_go() {
    has("g (float[2] x) => (int32[2] y) { y = Cast <to = 6, saturate = 0> (x) }", (19, 13), &["!saturate"]);
    has(
        "g (float[2, 3] x) => (float[2, 2] v, int64[2, 2] i) <int64[1] k = {2}> { v, i = TopK <sorted = 0> (x, k) }",
        (11, 9),
        &["TopK <k = 2>", "!sorted"],
    );
    has("g (float[4, 3] x) => (int64[1] y) { y = Shape <start = 1> (x) }", (15, 13), &["Slice"]);
    refuses(
        "g (float[2, 3] x) => (float[A, B] y) <int64[4] p = {0, 1, 0, 1}> { y = Pad <mode = \"wrap\"> (x, p) }",
        (19, 18),
        Cause::Meaning,
    );
}

#[test]
fn windows_in_the_padding_are_refused() {
    let graph = "g (float[1, 1, 6] x) => (float[1, 1, A] y) { y = MaxPool <ceil_mode = 1, kernel_shape = [2], pads = [1, 1], strides = [3]> (x) }";
    let starts_at_end = "g (float[1, 1, 5] x) => (float[1, 1, A] y) { y = MaxPool <ceil_mode = 1, kernel_shape = [1], pads = [0, 1], strides = [5]> (x) }";
    assert!(converted(graph, 22, 21).is_ok());
    refuses(starts_at_end, (12, 22), Cause::Meaning);
    // Downwards, the padding is cut.
    has(starts_at_end, (22, 21), &["pads = [0, 0]", "!ceil_mode"]);
    let size = "g (float[1, 1, N] x) => (float[1, 1, A] y) { y = MaxPool <ceil_mode = 1, kernel_shape = [1], strides = [5]> (x) }";
    refuses(size, (22, 21), Cause::ShapeUnknown);
    let counted = "g (float[1, 1, 5] x) => (float[1, 1, A] y) { y = AveragePool <ceil_mode = 1, count_include_pad = 1, kernel_shape = [2], pads = [1, 1], strides = [3]> (x) }";
    has(counted, (22, 21), &["pads = [1, 0]", "!ceil_mode"]);
}

#[test]
fn outputs_that_became_optional_are_named() {
    has(
        "g (float[2, 3, 4] x, float[1, 9, 4] w, float[1, 9, 3] r) => () { y = GRU <hidden_size = 3> (x, w, r) }",
        (3, 2),
        &["y, "],
    );
}

#[test]
fn averages_with_dilations_are_convolutions() {
    let graph = |attributes: &str| {
        format!(
            "g (float[N, 2, 6] x) => (float[N, 2, A] y) {{ y = AveragePool <dilations = [2], kernel_shape = [2]{attributes}> (x) }}"
        )
    };
    has(&graph(""), (19, 18), &["Conv <dilations = [2], group = 2", "!Mul"]);
    has(&graph(", pads = [1, 1]"), (19, 18), &["Conv <dilations = [2], group = 2", "= Mul ("]);
    has(&graph(", count_include_pad = 1, pads = [1, 1]"), (19, 18), &["Conv", "!Mul"]);
    has(&graph(", ceil_mode = 1, strides = [3]"), (19, 18), &["pads = [0, 0]", "!Mul"]);
    refuses(
        "g (float[N, C, 6] x) => (float[N, C, A] y) { y = AveragePool <dilations = [2], kernel_shape = [2]> (x) }",
        (19, 18),
        Cause::ShapeUnknown,
    );
}

#[test]
fn integers_that_version_8_does_not_allow_are_computed_otherwise() {
    let binary = |op: &str, elem: &str, result: &str| {
        format!("g ({elem}[2, 2] a, {elem}[2, 2] b) => ({result}[2, 2] y) {{ y = {op} (a, b) }}")
    };
    has(&binary("Less", "uint64", "bool"), (9, 8), &["Div", "Or", "And"]);
    has(&binary("Greater", "int64", "bool"), (9, 8), &["Div", "Or", "And"]);
    has(&binary("Less", "int32", "bool"), (9, 8), &["Cast <to = 11>", "!Div"]);
    has(&binary("MatMul", "uint64", "uint64"), (9, 8), &["ReduceSum <axes = [1]", "!MatMul"]);
    has(&binary("PRelu", "uint32", "uint32"), (9, 8), &["!PRelu", "!Mul"]);
    has(&binary("PRelu", "int32", "int32"), (9, 8), &["!PRelu", "Mul"]);
    has(
        "g (int32[2, 3] a, int32[2, 4] b, int32[4] c) => (int32[3, 4] y) { y = Gemm <transA = 1> (a, b, c) }",
        (9, 8),
        &["Transpose", "ReduceSum", "Add"],
    );
    has("g (int32[2, 3, 4] x) => (int32[2, 12] y) { y = Flatten (x) }", (9, 8), &["Reshape", "!Flatten"]);
    has(
        "g () => (uint64[2] y) { y = Constant <value = uint64[2] {1, 2}> () }",
        (9, 8),
        &["!Constant", "Identity"],
    );
}

#[test]
fn values_without_names_are_described_in_messages() {
    let text = "<ir_version: 8, opset_import: [\"\": 14]>
        g (float[2, 3] x, int64[2] s) => (float[A, B] y) { y = Reshape <allowzero = 1> (x, s) }";
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let found = plan(&model, 13, &ConvertOptions::default()).unwrap();
    let messages: Vec<String> = found.refusals.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "`Reshape` cannot be converted to version 13: the shape, in which a 0 is a size, `s`, is not constant"
        ]
    );
}

#[test]
fn sizes_of_the_operand_can_be_zero() {
    let graph = |shape: &str| {
        format!(
            "g (float[N, 6] x) => (float[A, B, C] y) <int64[2] rest = {{2, 3}}, int64[1] first = {{0}}> {{
                sizes = Shape (x)
                size = Gather (sizes, {shape})
                shape = Concat <axis = 0> (size, rest)
                y = Reshape <allowzero = 1> (x, shape)
            }}"
        )
    };
    has(&graph("first"), (14, 13), &["= Reshape (x, shape)"]);
    let moved = "g (float[3, N, 2] x) => (float[A, B] y) <int64[1] middle = {1}, int64[1] rest = {6}> {
        sizes = Shape (x)
        size = Gather (sizes, middle)
        shape = Concat <axis = 0> (size, rest)
        y = Reshape <allowzero = 1> (x, shape)
    }";
    refuses(moved, (14, 13), Cause::Meaning);
}

#[test]
fn growing_and_shrinking_axes_are_resized_one_after_the_other() {
    let graph = "g (float[1, 1, 4, 4] x, float[4] s) => (float[A, B, C, D] y) { y = Resize <mode = \"nearest\"> (x, s) }";
    has(graph, (10, 11), &["Max", "Min", "floor", "ceil"]);
}

#[test]
fn per_channel_scales_become_arithmetic() {
    let graph =
        "g (uint8[2, 3] x, float[3] s, uint8[3] z) => (float[2, 3] y) { y = DequantizeLinear (x, s, z) }";
    has(graph, (13, 10), &["Cast", "Sub", "Mul", "!DequantizeLinear"]);
    let scalar = "g (uint8[2, 3] x, float s, uint8 z) => (float[2, 3] y) { y = DequantizeLinear <axis = 0> (x, s, z) }";
    has(scalar, (13, 10), &["DequantizeLinear (x, s, z)"]);
}

#[test]
fn integers_of_16_bits_are_quantized_by_arithmetic() {
    let graph = "g (float[2, 3] x, float s, uint16 z) => (float[2, 3] y) {
        q = QuantizeLinear (x, s, z)
        y = DequantizeLinear (q, s, z)
    }";
    has(graph, (21, 20), &["Round", "Clip", "Cast <to = 4>", "Sub", "!QuantizeLinear", "!DequantizeLinear"]);
    let channels = "g (float[2, 3] x, float[2] s) => (int16[2, 3] y) { y = QuantizeLinear <axis = 0, output_dtype = 5> (x, s) }";
    has(channels, (21, 20), &["Unsqueeze", "Cast <to = 5>", "!QuantizeLinear"]);
}

#[test]
fn broadcasting_is_stated_before_version_7() {
    has(
        "g (float[2, 3] x, float[3] b) => (float[2, 3] y) { y = Add (x, b) }",
        (7, 6),
        &["axis = 1", "broadcast = 1"],
    );
    has("g (float[2, 3] x, float[3] b) => (float[2, 3] y) { y = Sub (b, x) }", (7, 6), &["Neg (x)", "Add <"]);
    has("g (float[2, 3] x) => (float[2, 3] y) { y = Add (x, x) }", (7, 6), &["Add (x, x)"]);
}

#[test]
fn initializers_become_inputs_where_the_format_requires_it() {
    let text = "<ir_version: 8, opset_import: [\"\": 8]>
        g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}> {
            a = Add (x, w)
            y = If (c) <
                then_branch = t () => (float[2] p) <float[2] v = {3, 4}> { p = Mul (a, v) },
                else_branch = e () => (float[2] q) { q = Neg (a) }
            >
        }";
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    set_ir_version(&mut model, 3).unwrap_or_else(|found| panic!("{:?}", found.diagnostics()));
    let found = check(&model, &CheckOptions::default());
    assert!(!found.has_errors(), "{:?}", found.diagnostics());
    let text = print_model(&model, &PrintOptions::default()).unwrap().text;
    assert!(text.contains("g (float[2] x, bool c, float[2] w) => (float[2] y)"), "{text}");
    assert!(text.contains("= Constant <value = float[2] {3, 4}> ()"), "{text}");
}

/// Converts a whole model. Returns the text, or the first refusal.
fn converted_model(text: &str, to: i64) -> Result<String, String> {
    let mut model =
        parse_model(text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = ConvertOptions::default();
    let planned = plan(&model, to, &options).unwrap();
    match convert(&mut model, to, &options) {
        Ok(done) => {
            assert!(planned.is_possible());
            assert_eq!(planned.steps.len(), done.steps.len());
            let found = check(&model, &CheckOptions::default());
            // Functions in the domain of ONNX are not portable before the conversion either.
            let found = found.diagnostics().iter().filter(|found| found.rule.code != 2657);
            let errors = found.filter(|found| found.severity == onnx_diag::Severity::Error);
            assert_eq!(errors.count(), 0, "{text}");
            Ok(print_model(&model, &PrintOptions::default()).unwrap().text)
        }
        Err(VersionError::Refused(refusals)) => {
            assert_eq!(planned.refusals.len(), refusals.len());
            Err(refusals.first().unwrap().to_string())
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn functions_with_the_name_of_an_expanded_operator_do_not_matter() {
    let shadowed = r#"<ir_version: 9, opset_import: ["": 20]>
        g (float[2, 3] x) => (float[2, 3] y) { y = Gelu (x) }
        <domain: "", opset_import: ["": 20]> Gelu (p) => (q) { q = Neg (p) }"#;
    let text = converted_model(shadowed, 17).unwrap();
    assert!(text.contains("Erf") && !text.contains("Neg") && !text.contains("Gelu"), "{text}");
    let copy = r#"<ir_version: 9, opset_import: ["": 18]>
        g (float[2, 3] x) => (float[2, 3] y) { y = Mish (x) }
        <domain: "", opset_import: ["": 18]> Mish (p) => (q) { s = Softplus (p) t = Tanh (s) q = Mul (p, t) }"#;
    let text = converted_model(copy, 17).unwrap();
    assert!(text.contains("Softplus") && !text.contains("Mish"), "{text}");
    let nested = r#"<ir_version: 9, opset_import: ["": 20, "my": 1]>
        g (float[2, 3] x) => (float[2, 3] y) { y = my.F (x) }
        <domain: "my", opset_import: ["": 20, "my": 1]> F (p) => (q) { q = Gelu (p) }
        <domain: "", opset_import: ["": 20, "my": 1]> Gelu (p) => (q) { q = my.H (p) }
        <domain: "my", opset_import: ["": 20]> H (p) => (q) { q = Neg (p) }"#;
    let text = converted_model(nested, 17).unwrap();
    assert!(text.contains("my.F") && text.contains("Erf") && !text.contains("Neg"), "{text}");
}

#[test]
fn a_refusal_names_the_version_of_the_conversion_and_the_one_that_prevents_it() {
    let text = r#"<ir_version: 9, opset_import: ["": 11]>
        g (int64[4] x, int64[1] k) => (int64[A] y, int64[B] i) <int64[1] n = {2}> {
            y, i = TopK <largest = 0> (x, n)
        }"#;
    let refused = converted_model(text, 9).unwrap_err();
    let expected = "`TopK` cannot be converted to version 10, on the way to version 9: `largest` is 0 on integers, and version \
        10 has no `largest`";
    assert_eq!(refused, expected);
    assert!(converted_model(text, 10).unwrap_err().starts_with("`TopK` cannot be converted to version 10: "));
}

#[test]
fn no_standard_operator_takes_the_place_of_a_function() {
    let reason = "`Gelu` cannot be converted to version 20: it calls a function of the model, and the standard operator of \
        that name would take its place";
    let called = r#"<ir_version: 9, opset_import: ["": 17]>
        g (float[2, 3] x) => (float[2, 3] y) { y = Gelu (x) }
        <domain: "", opset_import: ["": 17]> Gelu (p) => (q) { q = Neg (p) }"#;
    assert_eq!(converted_model(called, 20).unwrap_err(), reason);
    let text = converted_model(called, 19).unwrap();
    assert!(text.contains("y = Gelu (x)") && text.contains("q = Neg (p)"), "{text}");
    let model = parse_model(called, &ParseOptions::default()).unwrap();
    let reach = nearest(&model, 22, &ConvertOptions::default()).unwrap();
    assert_eq!((reach.version, reach.refusals.len()), (19, 1));
    let nested = r#"<ir_version: 9, opset_import: ["": 17, "my": 1]>
        g (float[2, 3] x) => (float[2, 3] y) { y = my.F (x) }
        <domain: "", opset_import: ["": 17]> Gelu (p) => (q) { q = Neg (p) }
        <domain: "my", opset_import: ["": 17]> F (p) => (q) { q = Gelu (p) }"#;
    assert_eq!(converted_model(nested, 20).unwrap_err(), reason);
    // The function is in an older version, and the operator of the model is the standard one.
    let older = r#"<ir_version: 9, opset_import: ["": 20, "my": 1]>
        g (float[2, 3] x) => (float[2, 3] y) { a = my.F (x) y = Gelu (a) }
        <domain: "", opset_import: ["": 17]> Gelu (p) => (q) { q = Neg (p) }
        <domain: "my", opset_import: ["": 17]> F (p) => (q) { q = Gelu (p) }"#;
    assert_eq!(converted_model(older, 20).unwrap_err(), reason);
    let text = converted_model(older, 17).unwrap();
    assert!(text.contains("q = Gelu (p)") && text.contains("q = Neg (p)"), "{text}");
    assert!(text.contains("Erf") && !text.contains("y = Gelu"), "{text}");
    // An operator that has no body does not become a call.
    let replaced = r#"<ir_version: 9, opset_import: ["": 22, "my": 1]>
        g (float[2, 3] x) => (float[2, 3] y) { y = Erf (x) }
        <domain: "", opset_import: ["": 8]> Erf (p) => (q) { q = Neg (p) }"#;
    assert!(converted_model(replaced, 8).unwrap_err().starts_with("`Erf` cannot be converted to version 8"));
}

#[test]
fn functions_get_the_version_that_the_model_has() {
    let older = r#"<ir_version: 9, opset_import: ["": 13, "my": 1]>
        g (float[2, 3, 2] x) => (float[2, 3, 2] y) { y = my.F (x) }
        <domain: "my", opset_import: ["": 11]> F (p) => (q) { q = Softmax (p) }"#;
    let text = converted_model(older, 13).unwrap();
    assert!(text.contains("Flatten") && !text.contains(": 11"), "{text}");
    let newer = r#"<ir_version: 9, opset_import: ["": 13, "my": 1]>
        g (float[2, 3] x) => (float[2, 3] y) { y = my.F (x) }
        <domain: "my", opset_import: ["": 20]> F (p) => (q) { q = Gelu (p) }"#;
    let text = converted_model(newer, 13).unwrap();
    assert!(text.contains("Erf") && !text.contains(": 20"), "{text}");
    let model = parse_model(newer, &ParseOptions::default()).unwrap();
    let claims = claims(&model, 13, &ConvertOptions::default()).unwrap();
    let [claim] = claims.as_slice() else { panic!("{claims:?}") };
    let versions = [&claim.before, &claim.after].map(|model| model.opset_version(onnx_schema::domain::ONNX));
    assert_eq!(versions, [Some(20), Some(13)]);
    let same = r#"<ir_version: 9, opset_import: ["": 13]> g (float[2] x) => (float[2] y) { y = Neg (x) }"#;
    let model = parse_model(same, &ParseOptions::default()).unwrap();
    let planned = plan(&model, 13, &ConvertOptions::default()).unwrap();
    assert_eq!(
        (planned.from, planned.to, planned.steps.len(), planned.count(StepChange::Form)),
        (13, 13, 0, 0)
    );
    // A function that cannot have the version of the model prevents every version below its own.
    let prevents = r#"<ir_version: 9, opset_import: ["": 13, "my": 1]>
        g (float[1, 1, 4, 4] x, float[1, 2, 2, 2] c) => (float[1, 1, 2, 2] y) { y = my.F (x, c) }
        <domain: "my", opset_import: ["": 16]> F (p, c) => (q) { q = GridSample (p, c) }"#;
    let model = parse_model(prevents, &ParseOptions::default()).unwrap();
    for version in [12, 13] {
        let reach = nearest(&model, version, &ConvertOptions::default()).unwrap();
        assert_eq!((reach.version, reach.refusals.len()), (13, 1), "{version}");
    }
}

#[test]
fn constant_indices_count_from_the_front_before_version_11() {
    let graph = |indices: &str, more: &str| {
        format!(
            "g (float[2] v, int64 n) => (float[A, B] y) <{indices}, int64 d = {{4}}> {{ {more} y = OneHot (i, d, v) }}"
        )
    };
    has(&graph("int64[3] i = {0, -1, 2}", ""), (11, 10), &["{0, 3, 2}", "!-1"]);
    has(&graph("int64[3] i = {-4, -5, 7}", ""), (11, 10), &["{0, 4, 7}"]);
    has(&graph("float[2] i = {-0.5, -1.5}", ""), (11, 9), &["int64[2]", "{0, 3}"]);
    has(&graph("int8[2] i = {1, 2}", ""), (11, 10), &["int8[2] i = {1, 2}"]);
    let computed = "j = Constant <value_ints = [1, 2]> () i = Neg (j)";
    has(&graph("int64 o = {1}", computed), (13, 10), &["{3, 2}"]);
    let unknown =
        "g (float[2] v, int64 n) => (float[A, B] y) <int64[2] i = {0, -1}> { y = OneHot (i, n, v) }";
    refuses(unknown, (11, 10), Cause::NotConstant);
    let operand = "g (float[2] v, int64[3] i) => (float[A, B] y) <int64 d = {4}> { y = OneHot (i, d, v) }";
    has(operand, (11, 10), &["OneHot (i, d, v)"]);
}

#[test]
fn no_elements_are_the_greatest_from_version_10_on_only() {
    let graph = |k: i64| {
        format!("g (float[3] x) => (float[A] y, int64[B] i) <int64[1] k = {{{k}}}> {{ y, i = TopK (x, k) }}")
    };
    refuses(&graph(0), (11, 9), Cause::Meaning);
    has(&graph(0), (11, 10), &["TopK (x, k)"]);
    has(&graph(1), (11, 9), &["TopK <k = 1> (x)"]);
}

#[test]
fn an_axis_that_is_the_rank_gets_an_axis() {
    for op in ["Softmax", "LogSoftmax", "Hardmax"] {
        let graph = format!("g (float[4] x) => (float[4] y) {{ y = {op} (x) }}");
        let parts =
            [format!("= {op} ("), "= Unsqueeze <axes = [-1]> (x)".into(), "y = Squeeze <axes = [-1]>".into()];
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        has(&graph, (10, 11), &parts);
        has(&graph, (7, 12), &parts);
        has(&graph, (9, 13), &[&format!("= {op} <axis = 1> ("), "Unsqueeze (x, "]);
    }
    has("g (float[2, 4] x) => (float[2, 4] y) { y = Softmax (x) }", (10, 11), &["y = Softmax (x)"]);
    has(
        "g (float[2, 4] x) => (float[2, 4] y) { y = Softmax <axis = 2> (x) }",
        (10, 11),
        &["Softmax <axis = 2>"],
    );
    has("g (float[2, 4] x) => (float[2, 4] y) { y = Softmax <axis = 2> (x) }", (10, 11), &["Unsqueeze"]);
    // The rank is unknown.
    has(
        "g (float x) => (float y) { a = custom.Op (x) y = Softmax (a) }",
        (10, 11),
        &["Unsqueeze <axes = [-1]> (a)"],
    );
    has(
        "g (float x) => (float y) { a = custom.Op (x) y = Softmax <axis = 0> (a) }",
        (10, 11),
        &["!Unsqueeze"],
    );
}

#[test]
fn versions_of_the_format_exist_and_have_what_the_model_uses() {
    let text = r#"<ir_version: 10, opset_import: ["": 18, "a": 1]>
        g (float[2] x) => (float[2] y) { y = a.F (x) }
        <domain: "a", opset_import: ["": 18]> F (p) => (q) { q = Neg (p) }"#;
    for (version, codes) in
        [(0, vec![2001]), (-1, vec![2002]), (99, vec![2002]), (7, vec![2030]), (8, vec![])]
    {
        let mut model = parse_model(text, &ParseOptions::default()).unwrap();
        let found = set_ir_version(&mut model, version).err();
        let found: Vec<_> = found.iter().flat_map(|found| found.diagnostics()).collect();
        let shown: Vec<u16> = found.iter().map(|found| found.rule.code).collect();
        assert_eq!(shown, codes, "{version}");
        assert!(found.iter().all(|found| found.severity == onnx_diag::Severity::Error));
        assert_eq!(model.info().ir_version, if codes.is_empty() { version } else { 10 });
    }
}

#[test]
fn operands_without_elements_are_broadcast() {
    let graph = "g (float[3, 2, 0] x, float[0] c) => (float[3, 2, 0] y) { y = Mean (x, c) }";
    has(graph, (8, 7), &["Unsqueeze <axes = [0, 1]> (c)", "Tile", "!Reshape"]);
}

#[test]
fn axes_whose_order_has_no_meaning_ascend_in_old_versions() {
    for axes in ["[-4, 2, -3]", "[2, 0, 1]"] {
        let graph = format!("g (float[1, 1, 1, 3] x) => (float[3] y) {{ y = Squeeze <axes = {axes}> (x) }}");
        has(&graph, (11, 10), &["axes = [0, 1, 2]"]);
    }
    let graph = "g (float[3] x) => (float[1, 1, 3] y) { y = Unsqueeze <axes = [-2, 0]> (x) }";
    has(graph, (11, 10), &["axes = [0, 1]"]);
}
