//! Static quantization: pairs of `QuantizeLinear` and `DequantizeLinear` with scales from a calibration.

use std::sync::atomic::{AtomicUsize, Ordering};

use onnx_compose::Quantization;
use onnx_eval::Value;
use onnx_ir::Model;
use onnx_quantize::{
    Budget, CalibrateError, Calibration, GeneratedSamples, MeasureOptions, Method, QuantizeError, Ranges,
    Samples, StaticOptions, StaticReport, StayReason, calibrate, losses, measure_on, quantize_calibrated,
    quantize_static,
};
use onnx_types::ElemType;
use onnx_types::tensor::{NoData, Tensor};

use super::{assert_is_valid, model, text_of};

/// Quantizes on 8 generated samples. Returns the result, and the least ratio of signal to noise.
fn quantized(source: &Model, to: ElemType, options: &StaticOptions<'_>) -> (Model, StaticReport, f64) {
    let settings = MeasureOptions::default();
    let samples = GeneratedSamples::new(source, 8, &settings);
    let ranges = calibrate(source, to, Method::MinMax, &samples, options).unwrap();
    let mut result = source.clone();
    let report = quantize_static(&mut result, to, &ranges, None, options).unwrap();
    result.verify().unwrap();
    assert_is_valid(&result);
    let outputs = measure_on(source, &result, &samples, &settings).unwrap();
    let least = outputs.iter().filter_map(|output| output.snr).fold(f64::INFINITY, f64::min);
    assert!(outputs.iter().all(|output| output.not_finite == 0), "{outputs:?}");
    (result, report, least)
}

fn count(model: &Model, op: &str) -> usize {
    let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph).collect::<Vec<_>>());
    nodes.filter(|&node| model.str(model.node(node).op()) == op).count()
}

/// A convolution with its activation, pooling, a product, a sum and a concatenation.
pub(super) const NETWORK: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N,2,4,4] x) => (float[N,2] y, float[N,3,2,2] pooled) <
    float[3,2,3,3] k = {0.5, -0.25, 1.5, 0.75, -1, 0.3, 0.2, 0.1, -0.6, 0.4, 0.8, -0.9, 0.35, 0.15, -0.45, 0.7, 0.05, -0.2,
                        0.1, 0.2, 0.3, -0.4, 0.5, -0.6, 0.7, 0.8, -0.9, 0.15, 0.25, -0.35, 0.45, 0.55, 0.65, -0.75, 0.85, 0.95,
                        1.1, -1.2, 1.3, 0.4, -0.5, 0.6, -0.7, 0.8, 0.9, -0.11, 0.12, 0.13, 0.14, -0.15, 0.16, 0.17, 0.18, 0.19},
    float[3] b = {0.5, -0.25, 0.1},
    float[12,3] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9, 1.5, -0.25, 0.125, 2, 0.3, 0.6, -1, 0.8, -0.45, 0.05,
                     0.35, 1.1, 0.2, 0.15, -0.6, 0.9, 0.45, -0.2, 0.75, 0.55, 0.1, -0.8, 0.65, 0.3, 0.25, -0.4, 0.95, 0.5},
    float[6,2] v = {0.5, -0.3, 0.2, 0.8, -0.4, 0.1, 0.6, 0.35, -0.15, 0.25, 0.45, -0.7},
    float[3] shift = {0.5, 0.25, -0.5}, int64[2] flat = {0, -1}
> {
    c = Conv <pads = [1, 1, 1, 1]> (x, k, b)
    r = Relu (c)
    pooled = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)
    f = Reshape (pooled, flat)
    p = MatMul (f, w)
    s = Add (p, shift)
    n = Neg (s)
    j = Concat <axis = 1> (s, n)
    y = MatMul (j, v)
}"#;

#[test]
fn a_network_is_quantized_for_each_target() {
    let source = model(NETWORK);
    for (name, to, least) in [
        ("generic", ElemType::Uint8, 28.0),
        ("generic", ElemType::Int8, 28.0),
        ("generic", ElemType::Uint16, 60.0),
        ("generic", ElemType::Int16, 60.0),
        ("generic", ElemType::Float8E4M3Fn, 18.0),
        ("generic", ElemType::Float8E5M2, 12.0),
        ("onnxruntime", ElemType::Uint8, 28.0),
        ("onnxruntime", ElemType::Int16, 60.0),
        ("tensorrt", ElemType::Int8, 28.0),
        ("tensorrt", ElemType::Float8E4M3Fn, 18.0),
    ] {
        let table = Quantization::named(name).unwrap();
        for per_channel in [false, true] {
            for symmetric in [false, true] {
                let options =
                    StaticOptions::new(&table).with_per_channel(per_channel).with_symmetric(symmetric);
                let (result, report, snr) = quantized(&source, to, &options);
                assert!(snr > least, "{name} {to} {per_channel} {symmetric}: {snr}\n{}", text_of(&result));
                // The bias of the first product is one of integers, where the table has `Gemm` and such biases.
                let count = if name == "tensorrt" { 4 } else { 3 };
                assert_eq!(report.weights.len(), count, "{name} {to}");
            }
        }
    }
}

#[test]
fn activations_are_folded_and_moved_elements_keep_their_scale() {
    let table = Quantization::named("onnxruntime").unwrap();
    let (result, report, _) = quantized(&model(NETWORK), ElemType::Uint8, &StaticOptions::new(&table));
    assert_eq!((report.folded, report.biases, report.pairs), (1, 2, 7), "{}", text_of(&result));
    let quantized: Vec<(&str, usize)> =
        report.quantized.iter().map(|(op, count)| (op.as_str(), *count)).collect();
    assert_eq!(
        quantized,
        [("Conv", 1), ("MaxPool", 1), ("Reshape", 1), ("Gemm", 1), ("Concat", 1), ("MatMul", 1)]
    );
    assert_eq!(count(&result, "Relu"), 0);
    let scale =
        |name: &str| report.parameters.iter().find(|row| row.0 == name).map(|row| (row.1, row.2)).unwrap();
    assert_eq!((scale("r"), scale("r")), (scale("pooled"), scale("f")));
    assert_eq!(scale("r").1, 0.0);
    // The interface is as before.
    let names = |model: &Model| {
        let graph = model.graph(model.main_graph());
        let outputs =
            graph.outputs().iter().map(|output| model.str(model.value(output.value()).name()).to_owned());
        outputs.collect::<Vec<_>>()
    };
    assert_eq!(names(&result), ["y", "pooled"]);
}

#[test]
fn a_symmetric_range_keeps_the_activation() {
    let table = Quantization::named("onnxruntime").unwrap();
    let options = StaticOptions::new(&table).with_symmetric(true);
    let (result, report, _) = quantized(&model(NETWORK), ElemType::Int8, &options);
    assert_eq!((report.folded, count(&result, "Relu")), (0, 1));
}

#[test]
fn what_is_quantized_stays() {
    let table = Quantization::named("onnxruntime").unwrap();
    let (once, ..) = quantized(&model(NETWORK), ElemType::Uint8, &StaticOptions::new(&table));
    let settings = MeasureOptions::default();
    let samples = GeneratedSamples::new(&once, 2, &settings);
    let options = StaticOptions::new(&table);
    let ranges = calibrate(&once, ElemType::Uint8, Method::MinMax, &samples, &options).unwrap();
    let mut twice = once.clone();
    let report = quantize_static(&mut twice, ElemType::Uint8, &ranges, None, &options).unwrap();
    assert_eq!((report.pairs, report.quantized.len()), (0, 0));
    assert_eq!(text_of(&twice), text_of(&once));
}

/// A mask, a value that becomes infinite, a branch that is not taken, and sizes that are computed in float; products take all of them.
const TRAPS: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2,4] x, bool[2,4] m) => (float[2,4] y, float[2,4] z, float[?,?] big, float[2,4] i2) <
    float low = {-3.4e38}, float zero = {0}, float two = {2}, float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, 8}
> {
    bias = Where (m, zero, low)
    a = Add (x, bias)
    y = Softmax (a)
    a2 = MatMul (a, w)
    inf = Div (x, zero)
    i = Add (x, inf)
    i2 = MatMul (i, w)
    never = Constant <value = bool {0}> ()
    z = If (never) <
        then_branch = t () => (float[2,4] u2) { u = Add (x, x) u2 = MatMul (u, w) },
        else_branch = e () => (float[2,4] v2) { v = Mul (x, two) v2 = MatMul (v, w) }
    >
    shape = Shape (x)
    sizes = Cast <to = 1> (shape)
    doubled = Mul (sizes, two)
    target = Cast <to = 7> (doubled)
    one = ConstantOfShape (target)
    big = Add (one, one)
}"#;

#[test]
fn masks_infinities_and_sizes_stay_wide() {
    let table = Quantization::named("generic").unwrap();
    let (result, report, snr) = quantized(&model(TRAPS), ElemType::Uint8, &StaticOptions::new(&table));
    assert!(snr > 30.0, "{snr}\n{}", text_of(&result));
    let stay: Vec<(&str, &str, StayReason)> =
        report.stay.iter().map(|(op, name, reason)| (op.as_str(), name.as_str(), *reason)).collect();
    assert_eq!(
        stay,
        [
            ("Add", "i", StayReason::NoRange),
            ("Add", "u", StayReason::NoRange),
            ("Add", "a", StayReason::Mask),
            ("Add", "big", StayReason::NotTaken),
            ("MatMul", "i2", StayReason::NoRange),
            ("MatMul", "u2", StayReason::NoRange),
            ("MatMul", "a2", StayReason::Mask),
        ]
    );
    let quantized: Vec<(&str, usize)> =
        report.quantized.iter().map(|(op, count)| (op.as_str(), *count)).collect();
    assert_eq!(quantized, [("Mul", 1), ("MatMul", 1)]);
}

#[test]
fn a_small_constant_does_not_vanish() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2,4] x) => (float[2,1] y, float[2,1] z) <float eps = {0.0001}, float one = {1}, float[4,1] w = {1, 2, 3, 4}> {
    s = Add (x, eps)
    y = MatMul (s, w)
    t = Add (x, one)
    z = MatMul (t, w)
}"#;
    let table = Quantization::named("generic").unwrap();
    let (_, report, _) = quantized(&model(text), ElemType::Uint8, &StaticOptions::new(&table));
    let stay: Vec<(&str, StayReason)> = report.stay.iter().map(|row| (row.1.as_str(), row.2)).collect();
    let quantized = vec![("MatMul".to_owned(), 2), ("Add".to_owned(), 1)];
    assert_eq!((stay, report.quantized), (vec![("s", StayReason::Vanishes)], quantized));
}

/// No scale holds numbers that are not finite, so that a product with them is as it was, without pairs for its other operand.
#[test]
fn weights_that_are_not_finite_stay_with_their_products() {
    for number in ["nan", "inf", "-inf"] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2,4] x) => (float[2,2] y, float[2,2] z) <float[4,2] v = {{1, 2, 3, {number}, 5, 6, 7, 8}}, float[4,2] w = {{1, 2, 3, 4, 5, 6, 7, 8}}> {{
    y = MatMul (x, v)
    p = Neg (x)
    z = MatMul (p, w)
}}"#
        );
        let table = Quantization::named("generic").unwrap();
        for per_channel in [false, true] {
            let mut options = StaticOptions::new(&table);
            options.per_channel = per_channel;
            let source = model(&text);
            let settings = MeasureOptions::default();
            let samples = GeneratedSamples::new(&source, 8, &settings);
            let ranges = calibrate(&source, ElemType::Uint8, Method::MinMax, &samples, &options).unwrap();
            let mut result = source.clone();
            let report = quantize_static(&mut result, ElemType::Uint8, &ranges, None, &options).unwrap();
            let stay: Vec<(&str, StayReason)> =
                report.stay.iter().map(|row| (row.1.as_str(), row.2)).collect();
            assert_eq!((stay, report.weights.len()), (vec![("y", StayReason::NotFinite)], 1), "{number}");
            assert!(text_of(&result).contains("y = MatMul (x, v)"), "{}", text_of(&result));
        }
    }
}

/// A mask that is not as large as the largest number makes the range of what `Softmax` takes as wide.
#[test]
fn a_softmax_behind_a_mask_sees_the_other_numbers() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2,4] x) => (float[2,2] y) <bool[4] seen = {1, 1, 1, 0}, float low = {LOW}, float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
    m = Where (seen, x, low)
    s = Softmax <axis = 1> (m)
    y = MatMul (s, w)
}"#;
    let table = Quantization::named("onnxruntime").unwrap();
    for (low, stays) in [("-10000", true), ("-1e9", true), ("-2", false)] {
        let source = model(&text.replace("LOW", low));
        let (_, report, snr) = quantized(&source, ElemType::Uint8, &StaticOptions::new(&table));
        let stay: Vec<(&str, StayReason)> = report.stay.iter().map(|row| (row.1.as_str(), row.2)).collect();
        let has = stay.contains(&("s", StayReason::Coarse));
        assert!(has == stays && snr > 30.0, "{low}: {snr} {stay:?}");
    }
}

/// A result has a pair if something quantized takes it. A convolution has one in any case: no runtime has one with a float result.
#[test]
fn results_that_nothing_quantized_takes_have_no_pairs() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2,4] x, float[1,1,3,3] i) => (float[2,4] y, float[2,4] p, float[1,1,2,2] e) <
    float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, 8}, float[1,1,2,2] k = {1, -2, 3, 4}, float[4] b = {1, 2, 3, 4}
> {
    a = MatMul (x, w)
    s = Add (a, b)
    t = Transpose (s)
    c = Transpose (t)
    l = Atan (c)
    f = MatMul (l, w)
    g1 = Add (f, b)
    h = Transpose (g1)
    m = Transpose (h)
    y = MatMul (m, w)
    p = Add (l, b)
    o = Conv (i, k)
    e = Exp (o)
}"#;
    let source = model(text);
    for (name, to) in [("generic", ElemType::Int8), ("onnxruntime", ElemType::Uint8)] {
        let table = Quantization::named(name).unwrap();
        let options = StaticOptions::new(&table);
        let (_, report, _) = quantized(&source, to, &options);
        let pairs: Vec<&str> = report.parameters.iter().map(|row| row.0.as_str()).collect();
        // The product `f` and its bias are a `Gemm`.
        assert_eq!(pairs, ["x", "l", "g1", "h", "m", "i", "o"], "{name}");
        let stay: Vec<(&str, StayReason)> = report.stay.iter().map(|row| (row.1.as_str(), row.2)).collect();
        let (own, moves) = (StayReason::NotTaken, StayReason::Neighbors);
        assert_eq!(stay, [("p", own), ("t", moves), ("c", moves)], "{name}");
        // The operator form needs all results of products.
        let (_, report, _) = quantized(&source, to, &options.with_quantized_results(true));
        let pairs: Vec<&str> = report.parameters.iter().map(|row| row.0.as_str()).collect();
        assert_eq!(pairs, ["x", "a", "l", "f", "g1", "h", "m", "y", "i", "o"], "{name}");
    }
}

/// Weights that are rounded in one direction move the means of all results, and a bias takes that back.
#[test]
fn biases_are_corrected_if_the_outputs_are_closer_then() {
    let of_shape = |shape: &str, count: usize| {
        let numbers: Vec<String> =
            (0..count)
                .map(|index| {
                    if index == 0 { "1".to_owned() } else { format!("{}", 0.1 + 0.001 * (index % 7) as f64) }
                })
                .collect();
        format!("float[{shape}] w = {{{}}}", numbers.join(", "))
    };
    let conv = of_shape("2,3,2,2", 24);
    for (body, weight, output, bias) in [
        ("y = Conv (a, w)", &conv, "2,2,3,3", "y_corrected"),
        ("y = Conv (a, w, b)", &conv, "2,2,3,3", "b_corrected"),
        ("y = ConvTranspose <group = 3> (a, w, c)", &of_shape("3,1,2,2", 12), "2,3,5,5", "c_corrected"),
        ("r = Reshape (a, flat) y = Gemm (r, w, b)", &of_shape("3,2", 6), "32,2", "b_corrected"),
        ("r = Reshape (a, flat) y = Gemm <transB = 1> (r, w)", &of_shape("2,3", 6), "32,2", "y_corrected"),
        (
            "r = Reshape (a, flat) m = MatMul (r, w) y = Add (b, m)",
            &of_shape("3,2", 6),
            "32,2",
            "b_corrected",
        ),
    ] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (float[2,3,4,4] x) => (float[{output}] y) <
                {weight}, float[2] b = {{0.5, -0.25}}, float[3] c = {{1, 2, 3}}, int64[2] flat = {{-1, 3}}
            > {{ a = Abs (x) {body} }}"#
        );
        let source = model(&text);
        let settings = MeasureOptions::default();
        let samples = GeneratedSamples::new(&source, 4, &settings);
        let table = Quantization::named("generic").unwrap();
        // Activations of 16 bits, so that only the weights lose.
        let options = StaticOptions::new(&table).with_weights(Some(ElemType::Int4));
        let ranges = calibrate(&source, ElemType::Int16, Method::MinMax, &samples, &options).unwrap();
        let quantized = |options: &StaticOptions<'_>| {
            let mut result = source.clone();
            let report = quantize_static(&mut result, ElemType::Int16, &ranges, None, options).unwrap();
            assert_is_valid(&result);
            (
                measure_on(&source, &result, &samples, &settings).unwrap()[0].snr.unwrap(),
                report,
                text_of(&result),
            )
        };
        let (before, report, plain) = quantized(&options);
        assert!(report.correction.is_none() && !plain.contains("_corrected"), "{body}");
        let (after, report, text) = quantized(&options.with_correction(Some(&samples)));
        let correction = report.correction.unwrap();
        assert!(correction.is_applied() && after > before + 2.0, "{body}: {before} {after}\n{text}");
        assert_eq!((correction.biases, correction.before, correction.after), (1, before, after), "{body}");
        assert!(text.contains(bias), "{body}\n{text}");
    }
}

/// Two inputs, of which the model clips the result for the second one.
struct Two;

impl Samples for Two {
    fn count(&self) -> usize {
        2
    }

    fn sample(&self, index: usize) -> Result<Vec<(String, Value)>, String> {
        let numbers = [1.0_f32, if index == 0 { 0.0 } else { 1000.0 }];
        let tensor = Tensor::from_slice([1, 2], &numbers).map_err(|error| error.to_string())?;
        Ok(vec![("x".to_owned(), Value::from(tensor))])
    }
}

/// The mean is that of both inputs, but the outputs depend on one of them.
#[test]
fn a_correction_that_makes_the_outputs_worse_is_refused() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[1,2] x) => (float[1,1] y) <float[2,1] w = {1, 0.9}, float[1] b = {0}, float limit = {6}> {
    p = Gemm (x, w, b)
    y = Min (p, limit)
}"#;
    let source = model(text);
    let table = Quantization::named("generic").unwrap();
    let options = StaticOptions::new(&table).with_weights(Some(ElemType::Int4)).with_correction(Some(&Two));
    let ranges = calibrate(&source, ElemType::Int16, Method::MinMax, &Two, &options).unwrap();
    let mut result = source;
    let report = quantize_static(&mut result, ElemType::Int16, &ranges, None, &options).unwrap();
    let correction = report.correction.unwrap();
    assert!(!correction.is_applied() && correction.after < correction.before - 20.0, "{correction:?}");
    assert!(!text_of(&result).contains("_corrected"));
}

#[test]
fn ranges_can_be_edited() {
    let table = Quantization::named("generic").unwrap();
    let options = StaticOptions::new(&table);
    let source = model(NETWORK);
    let settings = MeasureOptions::default();
    let samples = GeneratedSamples::new(&source, 4, &settings);
    let found = calibrate(&source, ElemType::Uint8, Method::MinMax, &samples, &options).unwrap();
    let again = Ranges::parse(&found.to_text()).unwrap();
    assert!(found.iter().all(|(name, range)| again.get(name) == Some(range)));
    let mut edited = Ranges::default();
    edited.join("x", (-4.0, 4.0));
    edited.join("c", (0.0, 10.2));
    edited.join("r", (0.0, 10.2));
    let mut result = source.clone();
    let report = quantize_static(&mut result, ElemType::Uint8, &edited, None, &options).unwrap();
    assert_eq!(report.pairs, 2);
    assert!(report.stay.iter().all(|row| row.2 != StayReason::Selection));
    assert_is_valid(&result);
    let error =
        quantize_static(&mut result, ElemType::Uint8, &Ranges::default(), None, &options).unwrap_err();
    assert!(matches!(error, QuantizeError::NoRanges), "{error}");
}

#[test]
fn calibration_in_one_step_is_that_of_its_parts() {
    let source = model(NETWORK);
    let table = Quantization::named("generic").unwrap();
    let (options, settings) = (StaticOptions::new(&table), MeasureOptions::default());
    let samples = GeneratedSamples::new(&source, 8, &settings);
    let calibration =
        Calibration::default().with_samples(Some(&samples)).with_measure(true).with_losses(true);
    let mut ranges = Ranges::default();
    for keep_biases in [false, true] {
        let inputs = (!keep_biases).then_some(&samples as &dyn Samples);
        let (wanted, report, _) =
            quantized(&source, ElemType::Uint8, &options.clone().with_correction(inputs));
        let mut result = source.clone();
        let calibration = calibration.clone().with_keep_biases(keep_biases);
        let done = quantize_calibrated(&mut result, ElemType::Uint8, &calibration, &options).unwrap();
        assert_eq!(text_of(&result), text_of(&wanted));
        assert_eq!(done.report.quantized, report.quantized);
        assert_eq!((done.report.correction, report.correction.is_some()), (report.correction, !keep_biases));
        assert!(!done.losses.is_empty() && done.effect.measured.is_some() && done.form.is_none());
        ranges = done.ranges;
    }
    let (wanted, ..) = quantized(&source, ElemType::Uint8, &options);
    // Ranges that are known need no inputs.
    let known = Calibration::default().with_ranges(ranges);
    let mut again = source.clone();
    let done = quantize_calibrated(&mut again, ElemType::Uint8, &known, &options).unwrap();
    assert_eq!(text_of(&again), text_of(&wanted));
    assert!(done.losses.is_empty() && done.effect.measured.is_none());
}

/// Inputs that count how often they are asked for.
struct Counted<'a>(&'a dyn Samples, AtomicUsize);

impl Samples for Counted<'_> {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn sample(&self, index: usize) -> Result<Vec<(String, Value)>, String> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.sample(index)
    }
}

#[test]
fn a_model_runs_once_on_each_input_of_a_calibration() {
    let source = model(NETWORK);
    let table = Quantization::named("generic").unwrap();
    let (options, settings) = (StaticOptions::new(&table), MeasureOptions::default());
    let generated = GeneratedSamples::new(&source, 8, &settings);
    for measure in [false, true] {
        let samples = Counted(&generated, AtomicUsize::new(0));
        let calibration = Calibration::default().with_samples(Some(&samples)).with_measure(measure);
        let mut result = source.clone();
        let done = quantize_calibrated(&mut result, ElemType::Uint8, &calibration, &options).unwrap();
        assert!(done.report.correction.is_some());
        // For ranges, means and outputs before, and for the outputs with and without corrected biases.
        assert_eq!(samples.1.into_inner(), 2 * 8);
        let measured = done.effect.measured.map(Result::unwrap);
        assert_eq!(measured, measure.then(|| measure_on(&source, &result, &generated, &settings).unwrap()));
    }
}

#[test]
fn what_loops_receive_has_a_range() {
    let source = model(
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2,2] x) => (float[2,2] y) <int64 trips = {3}> {
            y = Loop (trips, , x) <body = b (int64 i, bool c, float[2,2] s) => (bool d, float[2,2] t)
                <float[2,2] w = {0.5, -0.7, 0.3, 0.9}> {
                    d = Identity (c)
                    m = MatMul (s, w)
                    t = Tanh (m)
                }>
        }"#,
    );
    let table = Quantization::named("generic").unwrap();
    let options = StaticOptions::new(&table);
    let settings = MeasureOptions::default();
    let samples = GeneratedSamples::new(&source, 2, &settings);
    let ranges = calibrate(&source, ElemType::Uint8, Method::MinMax, &samples, &options).unwrap();
    let (x, s) = (samples.sample(0).unwrap(), ranges.get("s").unwrap());
    let numbers =
        x.iter().find(|(name, _)| name == "x").unwrap().1.tensor().unwrap().to_vec::<f32>(&NoData).unwrap();
    assert!(numbers.iter().all(|number| (s.0..=s.1).contains(number)));
    let (result, report, least) = quantized(&source, ElemType::Uint8, &options);
    assert_eq!(report.quantized, [("MatMul".to_owned(), 1)]);
    assert_eq!(count(&result, "QuantizeLinear"), 1);
    assert!(least > 25.0, "{least}");
}

#[test]
fn a_budget_ends_at_its_limit() {
    let table = Quantization::named("onnxruntime").unwrap();
    let options = StaticOptions::new(&table);
    let source = model(NETWORK);
    let settings = MeasureOptions::default();
    let samples = GeneratedSamples::new(&source, 4, &settings);
    let ranges = calibrate(&source, ElemType::Uint8, Method::MinMax, &samples, &options).unwrap();
    let mut before = 0;
    for snr in [10.0, 42.0, 300.0] {
        let mut result = source.clone();
        let budget = Budget { snr, samples: &samples };
        let report = quantize_static(&mut result, ElemType::Uint8, &ranges, Some(budget), &options).unwrap();
        assert_is_valid(&result);
        assert!(report.runs >= 1 && report.runs <= 40, "{}", report.runs);
        assert!(report.outputs.iter().all(|output| output.snr >= Some(snr)), "{:?}", report.outputs);
        let kept = report.stay.iter().filter(|row| row.2 == StayReason::Budget).count();
        assert!(kept >= before, "{kept}");
        before = kept;
    }
    assert!(before > 0);
    let found = losses(&source, ElemType::Uint8, &ranges, &samples, &options).unwrap();
    assert!(found.iter().all(|value| value.snr > 20.0), "{found:?}");
}

/// A model whose values are not finite has no ranges, and the reason is stated.
#[test]
fn a_calibration_without_finite_numbers_says_so() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2,2] x) => (float[2,2] y) <float zero = {0}, float[2,2] w = {1, 2, 3, 4}> { n = Mul (x, zero) nan = Div (n, zero) y = MatMul (nan, w) }"#;
    let source = model(text);
    let settings = MeasureOptions::default();
    let samples = GeneratedSamples::new(&source, 1, &settings);
    let table = Quantization::named("tensorrt").unwrap();
    let found = calibrate(&source, ElemType::Int8, Method::MinMax, &samples, &StaticOptions::new(&table))
        .unwrap_err();
    assert_eq!(found.to_string(), "the numbers of all values are not finite: `nan` is the first");
}

struct Failing;

impl Samples for Failing {
    fn count(&self) -> usize {
        1
    }

    fn sample(&self, _: usize) -> Result<Vec<(String, Value)>, String> {
        Err("the file is gone".to_owned())
    }
}

#[test]
fn requests_that_cannot_be_met_are_refused() {
    let table = Quantization::named("generic").unwrap();
    let options = StaticOptions::new(&table);
    let source = model(NETWORK);
    let settings = MeasureOptions::default();
    let none = GeneratedSamples::new(&source, 0, &settings);
    let calibrated =
        |samples: &dyn Samples, method| calibrate(&source, ElemType::Uint8, method, samples, &options);
    assert!(matches!(calibrated(&none, Method::MinMax), Err(CalibrateError::NoSamples)));
    let one = GeneratedSamples::new(&source, 1, &settings);
    assert!(matches!(calibrated(&one, Method::Percentile(f64::NAN)), Err(CalibrateError::Percentile(_))));
    let error = calibrated(&Failing, Method::MinMax).unwrap_err();
    assert_eq!(error.to_string(), "the calibration on sample 0 failed: the file is gone");
    let mut ranges = Ranges::default();
    ranges.join("x", (-1.0, 1.0));
    let error = |text: &str, to, options: &StaticOptions<'_>| {
        quantize_static(&mut model(text), to, &ranges, None, options).unwrap_err().to_string()
    };
    let old = NETWORK.replace("\"\": 21", "\"\": 11");
    assert_eq!(
        error(&old, ElemType::Uint8, &StaticOptions::new(&table).with_per_channel(true)),
        "`DequantizeLinear` of version 11 has no scales for channels; version 13 can"
    );
    assert_eq!(
        error(&old, ElemType::Int16, &options),
        "`DequantizeLinear` of version 11 does not take int16; version 21 can"
    );
    assert_eq!(error(NETWORK, ElemType::Int4, &options), "numbers are not quantized to int4");
    let tensorrt = Quantization::named("tensorrt").unwrap();
    assert_eq!(
        error(NETWORK, ElemType::Uint8, &StaticOptions::new(&tensorrt)),
        "the target has no activations of type uint8"
    );
}
