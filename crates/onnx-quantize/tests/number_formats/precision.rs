//! Small numbers: scales and factors that a narrow type does not hold, and weights without a scale; and what is measured of integers.

use onnx_compose::Quantization;
use onnx_eval::Value;
use onnx_quantize::{
    BlockOptions, DynamicOptions, GeneratedSamples, Half, MeasureOptions, Method, NarrowError, NarrowOptions,
    NoScale, QuantizeError, StaticOptions, StayReason, Unquantized, WeightOptions, WideReason, calibrate,
    measure, measure_on, narrow, quantize_blocks, quantize_dynamic, quantize_static, quantize_weights,
    unquantized, widen,
};
use onnx_schema::Registry;
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemType, Execution};

use super::{assert_is_valid, model, text_of};

/// A product with a weight of which each number is a multiple of `step`.
fn product(step: f32) -> String {
    let weight: Vec<String> =
        (0..64).map(|index| format!("{:e}", (index * 37 % 61 - 30) as f32 * step)).collect();
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[4,16] x) => (float[4,4] y) <float[16,4] w = {{{}}}> {{ y = MatMul (x, w) }}",
        weight.join(", ")
    )
}

/// The least ratio of signal to noise of the outputs.
fn ratio(before: &str, after: &onnx_ir::Model) -> f64 {
    let measured = measure(&model(before), after, &MeasureOptions::default()).unwrap();
    measured.iter().filter_map(|output| output.snr).fold(f64::INFINITY, f64::min)
}

#[test]
fn scales_that_would_lose_bits_stay_float() {
    for (step, to) in [(1e-4, ElemType::Int16), (1e-3, ElemType::Uint16), (1e-7, ElemType::Int8)] {
        let text = product(step);
        let mut quantized = model(&text);
        quantize_weights(&mut quantized, to, &WeightOptions::default()).unwrap();
        let options = NarrowOptions::default().with_keep_io(true).with_run(false);
        let done = narrow(&mut quantized, Half::Float16, &options).unwrap();
        assert_is_valid(&quantized);
        let scale = done.wide.iter().find(|wide| wide.op == "DequantizeLinear").unwrap();
        assert_eq!(scale.reason, WideReason::Precision, "{to}");
        assert_eq!(done.imprecise[0].0, "w_scale");
        let mut plain = model(&text);
        narrow(&mut plain, Half::Float16, &options).unwrap();
        // What the type loses, and not more.
        let (found, least) = (ratio(&text, &quantized), ratio(&text, &plain).min(40.0));
        assert!(found > least - 3.0, "{to}: {found} {least}\n{}", text_of(&quantized));
    }
    // A scale with all its bits becomes narrow.
    let mut quantized = model(&product(0.5));
    quantize_weights(&mut quantized, ElemType::Int8, &WeightOptions::default()).unwrap();
    let done = narrow(&mut quantized, Half::Float16, &NarrowOptions::default().with_run(false)).unwrap();
    assert!(done.wide.is_empty() && done.imprecise.is_empty(), "{:?}", done.wide);
}

#[test]
fn factors_that_would_become_others_stay_float() {
    let of = |body: &str, constant: &str| {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g (float[2,4] x) => (float[2,4] y) <{constant}> {{ {body} }}"
        );
        let mut changed = model(&text);
        let done = narrow(&mut changed, Half::Float16, &NarrowOptions::default().with_run(false)).unwrap();
        assert_is_valid(&changed);
        let stays = |wide: &onnx_quantize::WideNode| wide.reason == WideReason::Precision;
        (done.wide.iter().filter(|wide| stays(wide)).count(), done.imprecise.len())
    };
    let small = "float c = {3e-9}";
    let rest = "z = Relu (x)";
    assert_eq!(of(&format!("{rest} y = Mul (z, c)"), small), (1, 1));
    assert_eq!(of(&format!("{rest} y = Div (z, c)"), small), (1, 1));
    // The elements arrive as they are.
    let moved = "a = Constant <value_ints = [0]> () d = Unsqueeze (c, a) y = Mul (z, d)";
    assert_eq!(of(&format!("{rest} {moved}"), small), (2, 1));
    let scale = "float[4] c = {1e-9, 2e-9, 3e-9, 4e-9}, float[4] b = {1, 2, 3, 4}";
    assert_eq!(of(&format!("{rest} y = LayerNormalization (z, c, b)"), scale), (1, 1));
    let weight = "float[4,4] c = {1e-9, 2e-9, 3e-9, 4e-9, 1e-9, 2e-9, 3e-9, 4e-9, 1e-9, 2e-9, 3e-9, 4e-9, 1e-9, 2e-9, 3e-9, 4e-9}";
    assert_eq!(of(&format!("{rest} y = MatMul (z, c)"), weight), (1, 1));
    // An epsilon is small and positive in any case, and small elements among others are next to nothing.
    assert_eq!(of(&format!("{rest} y = Add (z, c)"), small), (0, 0));
    assert_eq!(of(&format!("{rest} y = Max (z, c)"), small), (0, 0));
    assert_eq!(of(&format!("{rest} y = Mul (z, c)"), "float[4] c = {1e-9, 2, 3, 4}"), (0, 0));
}

#[test]
fn products_that_vanish_stay_float() {
    // No constant is small.
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[2,4] x) => (float[2,4] y) <float c = {0.002}, float b = {1000}> {
        p = Mul (x, c)
        q = Mul (p, c)
        r = Mul (q, c)
        s = Mul (r, b)
        t = Mul (s, b)
        y = Mul (t, b)
    }"#;
    let mut changed = model(text);
    let done = narrow(&mut changed, Half::Float16, &NarrowOptions::default().with_keep_io(true)).unwrap();
    let names: Vec<&str> = done.wide.iter().map(|wide| wide.name.as_str()).collect();
    assert_eq!(names, ["r", "s"]);
    assert!(ratio(text, &changed) > 30.0, "{}", ratio(text, &changed));
}

#[test]
fn a_second_conversion_changes_nothing() {
    let loops = r#"<ir_version: 10, opset_import: ["": 13]>
    g (float[4] x, int64 n) => (float[4] y, float[4] z) <float big = {1e6}, float[4] w = {1, 2, 3, 4}> {
        wide = Mul (x, big)
        moved = Identity (wide)
        cut = Div (moved, big)
        y, all = Loop (n, , cut) <body = b (int64 i, bool c, float[4] v) => (bool d, float[4] r, float[4] s) {
            d = Identity (c)
            m = Mul (v, w)
            r = Identity (m)
            s = Identity (v)
        }>
        axes = Constant <value_ints = [0]> ()
        z = ReduceSum <keepdims = 0> (all, axes)
    }"#;
    let branches = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[2,4] x, bool c) => (float[2,4] y) <float[4,4] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}> {
        p = MatMul (x, w)
        y = If (c) <
            then_branch = t () => (float[2,4] a) { a = Identity (p) },
            else_branch = e () => (float[2,4] b) { q = CumSum (x, axis) b = Add (p, q) }
        >
    }"#;
    let branches = branches.replace("<float[4,4] w", "<int64 axis = {1}, float[4,4] w");
    for text in [loops, &branches] {
        for keep_io in [true, false] {
            let options = NarrowOptions::default().with_keep_io(keep_io);
            let mut once = model(text);
            let first = narrow(&mut once, Half::Float16, &options).unwrap();
            assert!(first.nodes > 0 && first.unchanged.is_none());
            assert_is_valid(&once);
            let mut twice = once.clone();
            let second = narrow(&mut twice, Half::Float16, &options).unwrap();
            assert_eq!(text_of(&twice), text_of(&once), "{keep_io}\n{text}");
            assert!(second.unchanged.is_some() && second.nodes == 0);
        }
    }
    let mut float = model(loops);
    let done = widen(&mut float, &NarrowOptions::default()).unwrap();
    assert!(done.unchanged.unwrap().to_string().contains("`float16` or `bfloat16`"));
}

#[test]
fn weights_without_a_scale_stay() {
    let text = product(1e-42);
    let wanted = [("w".to_owned(), NoScale::TooSmall)];
    for to in [ElemType::Int8, ElemType::Uint16, ElemType::Int4] {
        let mut changed = model(&text);
        let report = quantize_weights(&mut changed, to, &WeightOptions::default()).unwrap();
        assert_eq!((report.weights.len(), report.stay), (0, wanted.to_vec()), "{to}");
        assert_eq!(text_of(&changed), text_of(&model(&text)));
    }
    let report = quantize_dynamic(&mut model(&text), ElemType::Int8, &DynamicOptions::default()).unwrap();
    assert_eq!(report.stay, wanted);
    let report = quantize_blocks(&mut model(&text), ElemType::Uint4, &BlockOptions::default()).unwrap();
    assert_eq!(report.stay, wanted);
    let table = Quantization::named("generic").unwrap();
    let (options, settings) = (StaticOptions::new(&table), MeasureOptions::default());
    let mut changed = model(&text);
    let before = changed.clone();
    let samples = GeneratedSamples::new(&before, 2, &settings);
    let ranges = calibrate(&before, ElemType::Uint8, Method::MinMax, &samples, &options).unwrap();
    let report = quantize_static(&mut changed, ElemType::Uint8, &ranges, None, &options).unwrap();
    assert_eq!(report.stay, [("MatMul".to_owned(), "y".to_owned(), StayReason::TooSmall)]);
    // Others keep their precision, although their scale is near the least one.
    let mut changed = model(&product(1e-36));
    let report = quantize_weights(&mut changed, ElemType::Int8, &WeightOptions::default()).unwrap();
    assert!(report.weights[0].snr > 20.0, "{}", report.weights[0].snr);
}

#[test]
fn integers_are_counted_and_have_no_ratio() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[2,8] x) => (float[2,8] y, int64[2,8] order, bool[2,8] large)
    <float[8,8] w = {0.11, 0.52, -0.33, 0.74, 0.25, -0.96, 0.47, 0.18, 0.91, -0.12, 0.63, 0.34, -0.55, 0.76, 0.87, -0.38,
        0.21, 0.42, 0.13, -0.64, 0.35, 0.56, -0.77, 0.98, 0.31, 0.22, -0.43, 0.14, 0.65, -0.36, 0.57, 0.78,
        0.71, -0.32, 0.23, 0.44, -0.15, 0.66, 0.37, 0.58, 0.81, 0.72, -0.33, 0.24, 0.45, -0.16, 0.67, 0.38,
        0.61, -0.82, 0.73, 0.34, 0.25, 0.46, -0.17, 0.68, 0.41, 0.62, 0.83, -0.74, 0.35, 0.26, 0.47, -0.18}> {
        y = MatMul (x, w)
        k = Constant <value_ints = [8]> ()
        top, order = TopK (y, k)
        zero = Constant <value_float = 0.0> ()
        large = Greater (y, zero)
    }"#;
    let mut changed = model(text);
    let options = WeightOptions::default().with_budget(Some(5.0));
    let report = quantize_weights(&mut changed, ElemType::Int2, &options.clone().with_budget(None));
    assert!(matches!(report, Err(QuantizeError::Version { .. })));
    let report = quantize_weights(&mut changed, ElemType::Int4, &options).unwrap();
    assert!(!report.weights[0].is_kept, "{:?}", report.outputs);
    let [y, order, large] = report.outputs.as_slice() else { panic!("{:?}", report.outputs) };
    assert!(y.snr.unwrap() > 5.0 && y.differing > 0, "{y:?}");
    assert!(order.snr.is_none() && large.snr.is_none() && order.elements == 16, "{order:?} {large:?}");
    assert!(order.differing <= order.elements && large.differing <= large.elements);
    // Without floats, a budget says nothing.
    let mut integers = model(&text.replace("float[2,8] y, ", ""));
    let error = quantize_weights(&mut integers, ElemType::Int4, &options).unwrap_err();
    assert!(matches!(error, QuantizeError::NoRatio), "{error}");
}

#[test]
fn other_types_are_the_reason_why_nothing_is_quantized() {
    let reason = |text: &str| unquantized(&model(text), Registry::STANDARD, &NoData, &Execution::DEFAULT);
    let float = product(0.1);
    let mut half = model(&float);
    narrow(&mut half, Half::Float16, &NarrowOptions::default().with_run(false)).unwrap();
    assert_eq!(reason(&text_of(&half)), Some(Unquantized::Type(ElemType::Float16)));
    assert_eq!(reason(&float.replace("float[", "double[")), Some(Unquantized::Type(ElemType::Double)));
    assert_eq!(reason(&float), None);
    let function = r#"<ir_version: 10, opset_import: ["": 21, "l": 1]>
    g (float[2,2] x, float[2,2] w) => (float[2,2] y) { y = l.f (x, w) }
    <domain: "l", opset_import: ["": 21]> f (a, b) => (c) { c = MatMul (a, b) }"#;
    assert_eq!(reason(function), Some(Unquantized::Functions));
}

/// Where no version takes the type in the place of what stays, there is nothing to convert first.
#[test]
fn what_no_version_takes_is_no_reason_to_convert() {
    let text = |version: i64| {
        format!(
            r#"<ir_version: 10, opset_import: ["": {version}]> g (float16[1,1,2,2] x) => (float16[1,1,4,4] y)
            <float[4] s = {{1, 1, 2, 2}}> {{ y = Resize (x, , s) }}"#
        )
    };
    for version in [11, 14, 18] {
        for half in [Half::Float16, Half::Bfloat16] {
            let mut source = model(&text(version));
            let options = NarrowOptions::default().with_keep_io(true);
            let done = narrow(&mut source, half, &options).unwrap();
            assert!(done.unchanged.is_some_and(|reason| reason.versions.is_empty()), "{version} {half:?}");
        }
    }
    // The scales of `DequantizeLinear` are narrow from version 19 on.
    let text = r#"<ir_version: 10, opset_import: ["": 13]> g (uint8[2] q) => (float[2] y) <float s = {0.5}> {
        y = DequantizeLinear (q, s)
    }"#;
    let error = narrow(&mut model(text), Half::Float16, &NarrowOptions::default()).unwrap_err();
    assert!(matches!(error, NarrowError::NotTaken(reason) if reason.versions.contains(&19)));
}

/// A negative number out of range is a mask where a choice follows; elsewhere its node stays.
#[test]
fn a_number_out_of_range_is_a_mask_only_of_scores() {
    for (nodes, is_mask) in [
        ("a = Add (x, low) y = Softmax (a)", true),
        ("a = Where (c, x, low) b = Identity (a) y = LogSoftmax (b)", true),
        ("f = Cast <to = 1> (c) m = Mul (f, low) a = Add (x, m) y = Softmax (a)", true),
        ("a = my.A (x, low) y = Softmax (a)", true),
        ("a = Add (x, low) e = Exp (a) y = Tanh (e)", true),
        ("y = Add (x, low)", false),
        ("a = Add (x, low) y = MatMul (a, w)", false),
        ("y = Gemm (x, w, low)", false),
        ("m = MatMul (x, w) y = Add (m, low)", false),
        ("y = Mul (x, low)", false),
    ] {
        let weight = if nodes.contains("w)") || nodes.contains("w,") {
            ", float[2,2] w = {0.5, -0.7, 0.3, 0.9}"
        } else {
            ""
        };
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[2,2] x, bool[2,2] c) => (float[2,2] y)
            <float[2] low = {{-86636.0, -3098.0}}{weight}> {{ {nodes} }}
            <domain: "my", opset_import: ["": 21]> A (a, b) => (c) {{ c = Add (a, b) }}"#
        );
        let mut changed = model(&text);
        let done = narrow(&mut changed, Half::Float16, &NarrowOptions::default().with_run(false)).unwrap();
        assert_is_valid(&changed);
        let found = done.tensors.iter().any(|tensor| tensor.losses.is_mask);
        assert_eq!(found, is_mask, "{nodes}\n{}", text_of(&changed));
        let stays = done.wide.iter().any(|wide| wide.reason == WideReason::Range);
        assert_eq!(stays, !is_mask, "{nodes}\n{}", text_of(&changed));
    }
}

/// What is left is for newer versions, but the model has the type already.
#[test]
fn a_second_conversion_of_what_needs_a_newer_version_changes_nothing() {
    for (version, nodes) in [
        (12, "a = Celu (x) y = Tanh (a)"),
        (
            21,
            "s = Constant <value_float = 1.0> () l = Constant <value_float = 4.0> () r = Range (s, l, s) t = Tanh (x) y = Add (t, r)",
        ),
        (8, "a = LeakyRelu (x) y = Selu (a)"),
        (7, "a = Cast <to = 1> (x) y = Relu (a)"),
        (13, "i = Cast <to = 6> (x) f = Cast <to = 1> (i) s = Constant <value_float = 1.0> () z = Constant <value_int = 0> () u = Cast <to = 2> (z)
            q = QuantizeLinear (f, s, u) y = DequantizeLinear (q, s, u)"),
    ] {
        // Inputs and outputs that stay leave nothing to the last one in the first conversion, either.
        for keep_io in if version == 13 { &[false][..] } else { &[false, true] } {
            let text = format!(
                r#"<ir_version: 10, opset_import: ["": {version}]> g (float[2,3] x) => (float[2,3] y) {{ {nodes} }}"#
            );
            let mut changed = model(&text);
            let options = NarrowOptions::default().with_keep_io(*keep_io);
            narrow(&mut changed, Half::Float16, &options).unwrap();
            assert_is_valid(&changed);
            let once = text_of(&changed);
            narrow(&mut changed, Half::Float16, &options).unwrap();
            assert_eq!(text_of(&changed), once, "{version} {keep_io}");
        }
    }
}

/// A cast that is added and one of the model do not make the same type twice.
#[test]
fn a_model_has_its_casts_again() {
    for nodes in [
        "a = Cast <to = 1> (x) y = Relu (a)",
        "a = Cast <to = 1> (x) r = Relu (a) y = Cast <to = 1> (r)",
        "i = Identity (x) a = Cast <to = 1> (i) y = Relu (a)",
    ] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (float16[2,4] x) => (float[2,4] a, float[2,4] y) {{ {nodes} }}"#
        );
        for keep_io in [false, true] {
            let mut changed = model(&text);
            let options = NarrowOptions::default().with_keep_io(keep_io).with_run(false);
            narrow(&mut changed, Half::Float16, &options).unwrap();
            widen(&mut changed, &options).unwrap();
            assert_is_valid(&changed);
            let nodes = changed.nodes(changed.main_graph());
            let casts = nodes.filter(|&node| changed.str(changed.node(node).op()) == "Cast").count();
            assert!(casts <= 1, "{}", text_of(&changed));
        }
    }
}

/// The runs do not choose it, and others may: what takes it stays wide.
#[test]
fn a_constant_out_of_range_is_one_of_the_results() {
    for body in [
        "s = Where (m, c, x) y = LayerNormalization (s, e)",
        "s = Where (m, c, x) n = Neg (s) r = Reshape (n, to) y = LayerNormalization (r, e)",
        "s = If (i) <then_branch = t () => (float[2,4] a) { a = Where (m, c, x) }, else_branch = f () => (float[2,4] b) { b = Relu (x) }> y = LayerNormalization (s, e)",
    ] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 18]> g (float[2,4] x) => (float[2,4] y)
            <float c = {{-70000}}, float[4] e = {{1, 1, 1, 1}}, int64[2] to = {{2, 4}}, bool m = {{0}}, bool i = {{0}}> {{ {body} }}"#
        );
        let mut changed = model(&text);
        let done = narrow(&mut changed, Half::Float16, &NarrowOptions::default().with_keep_io(true)).unwrap();
        assert_is_valid(&changed);
        let wide: Vec<&str> = done.wide.iter().map(|wide| wide.op.as_str()).collect();
        assert!(
            wide.contains(&"Where") && wide.contains(&"LayerNormalization"),
            "{wide:?}\n{}",
            text_of(&changed)
        );
    }
}

/// Numbers of other types become floats, and small ones large ones: where others are chosen in runs, too.
#[test]
fn constants_out_of_range_of_any_type_are_followed() {
    for (constant, nodes) in [
        ("int64[3] c = {100000, 1, -100000}", "k = Cast <to = 1> (c)"),
        ("uint32[3] c = {100000, 1, 100000}", "k = Cast <to = 1> (c)"),
        ("double[3] c = {100000, 1, 100000}", "k = Cast <to = 1> (c)"),
        ("int64[3] c = {100000, 1, 100000}", "k = CastLike (c, x)"),
        ("int64[3] c = {100000, 1, 100000}", "h = Neg (c) j = Identity (h) k = Cast <to = 1> (j)"),
        ("int64[3] c = {100000, 1, 100000}", "k = my.C (c)"),
        ("int64[3] c = {300, 1, 300}", "h = Mul (c, c) k = Cast <to = 1> (h)"),
        ("float[3] c = {300, 1, 300}", "k = Mul (c, c)"),
        ("float[3] c = {12, 1, 12}", "k = Exp (c)"),
        ("int64[1] c = {3}", "h = ConstantOfShape <value = int64[1] {100000}> (c) k = Cast <to = 1> (h)"),
        (
            "int64[1] c = {70000}",
            "h = ConstantOfShape <value = int8[1] {1}> (c) j = Size (h) k = Cast <to = 1> (j)",
        ),
        ("", "c = Constant <value_ints = [100000, 1, 100000]> () k = Cast <to = 1> (c)"),
        ("", "c = Constant <value_int = 100000> () k = Cast <to = 1> (c)"),
        ("", "k = Constant <value_floats = [100000.0, 1.0, 100000.0]> ()"),
        ("", "k = my.K (x)"),
    ] {
        let constants = if constant.is_empty() { String::new() } else { format!("<{constant}>") };
        for (use_of, behind) in [
            ("s = Where (i, k, x)", "n = Sub (s, s) y = Add (n, x)"),
            ("s = Where (i, k, x)", "m = ReduceSum (s) n = Sub (m, m) y = Add (n, x)"),
            (
                "s = If (i) <then_branch = t () => (float[3] a) { q = Add (k, x) a = Identity (q) },
                    else_branch = f () => (float[3] b) { b = Relu (x) }>",
                "m = Mul (s, s) n = Sub (m, m) y = Add (n, x)",
            ),
            ("s = Identity (x)", "q = Mul (k, z) y = Where (i, q, s)"),
        ] {
            let zero = if behind.contains("z)") { "z = Sub (x, x)" } else { "" };
            let text = format!(
                r#"<ir_version: 10, opset_import: ["": 20, "my": 1]> g (float[3] x, bool i) => (float[3] y)
                {constants} {{ {nodes} {zero} {use_of} {behind} }}
                <domain: "my", opset_import: ["": 20]> C (a) => (c) {{ c = Cast <to = 1> (a) }}
                <domain: "my", opset_import: ["": 20]> K (a) => (c) {{ c = Constant <value = float[3] {{1e5, 1, 1e5}}> () }}"#
            );
            let source = model(&text);
            let is = |is: bool| [("i", Value::from(Tensor::scalar(is)))];
            let (chosen, others) = (is(true), is(false));
            let mut changed = source.clone();
            let options = NarrowOptions::default().with_keep_io(true).with_given(&others);
            narrow(&mut changed, Half::Float16, &options).unwrap();
            assert_is_valid(&changed);
            let settings = MeasureOptions::default().with_given(&chosen);
            let samples = GeneratedSamples::new(&source, 2, &settings);
            let outputs = measure_on(&source, &changed, &samples, &settings).unwrap();
            assert!(
                outputs.iter().all(|output| output.snr > Some(30.0)),
                "{outputs:?}\n{}",
                text_of(&changed)
            );
        }
    }
}
