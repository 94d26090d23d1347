//! Static quantization: pairs of `QuantizeLinear` and `DequantizeLinear` with scales from a calibration.

use onnx_compose::Quantization;
use onnx_eval::Value;
use onnx_ir::Model;
use onnx_quantize::{
    Budget, CalibrateError, Calibration, GeneratedSamples, MeasureOptions, Method, QuantizeError, Ranges,
    Samples, StaticOptions, StaticReport, StayReason, calibrate, losses, measure_on, quantize_calibrated,
    quantize_static,
};
use onnx_types::ElemType;

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
    let least = outputs.iter().map(|output| output.snr).fold(f64::INFINITY, f64::min);
    assert!(outputs.iter().all(|output| output.not_finite == 0), "{outputs:?}");
    (result, report, least)
}

fn count(model: &Model, op: &str) -> usize {
    let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph).collect::<Vec<_>>());
    nodes.filter(|&node| model.str(model.node(node).op()) == op).count()
}

/// A convolution with its activation, pooling, a product, a sum and a concatenation.
const NETWORK: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N,2,4,4] x) => (float[N,6] y, float[N,3,2,2] pooled) <
    float[3,2,3,3] k = {0.5, -0.25, 1.5, 0.75, -1, 0.3, 0.2, 0.1, -0.6, 0.4, 0.8, -0.9, 0.35, 0.15, -0.45, 0.7, 0.05, -0.2,
                        0.1, 0.2, 0.3, -0.4, 0.5, -0.6, 0.7, 0.8, -0.9, 0.15, 0.25, -0.35, 0.45, 0.55, 0.65, -0.75, 0.85, 0.95,
                        1.1, -1.2, 1.3, 0.4, -0.5, 0.6, -0.7, 0.8, 0.9, -0.11, 0.12, 0.13, 0.14, -0.15, 0.16, 0.17, 0.18, 0.19},
    float[3] b = {0.5, -0.25, 0.1},
    float[12,3] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9, 1.5, -0.25, 0.125, 2, 0.3, 0.6, -1, 0.8, -0.45, 0.05,
                     0.35, 1.1, 0.2, 0.15, -0.6, 0.9, 0.45, -0.2, 0.75, 0.55, 0.1, -0.8, 0.65, 0.3, 0.25, -0.4, 0.95, 0.5},
    float[3] shift = {0.5, 0.25, -0.5}, int64[2] flat = {0, -1}
> {
    c = Conv <pads = [1, 1, 1, 1]> (x, k, b)
    r = Relu (c)
    pooled = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)
    f = Reshape (pooled, flat)
    p = MatMul (f, w)
    s = Add (p, shift)
    n = Neg (s)
    y = Concat <axis = 1> (s, n)
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
                assert_eq!(report.weights.len(), 3, "{name} {to}");
            }
        }
    }
}

#[test]
fn activations_are_folded_and_moved_elements_keep_their_scale() {
    let table = Quantization::named("onnxruntime").unwrap();
    let (result, report, _) = quantized(&model(NETWORK), ElemType::Uint8, &StaticOptions::new(&table));
    assert_eq!((report.folded, report.biases, report.pairs), (1, 1, 8), "{}", text_of(&result));
    let quantized: Vec<(&str, usize)> =
        report.quantized.iter().map(|(op, count)| (op.as_str(), *count)).collect();
    assert_eq!(
        quantized,
        [("Conv", 1), ("MaxPool", 1), ("Reshape", 1), ("MatMul", 1), ("Add", 1), ("Concat", 1)]
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

/// A mask, a value that becomes infinite, a branch that is not taken, and sizes that are computed in float.
const TRAPS: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2,4] x, bool[2,4] m) => (float[2,4] y, float[2,4] z, float[?,?] big) <float low = {-3.4e38}, float zero = {0}, float two = {2}> {
    bias = Where (m, zero, low)
    a = Add (x, bias)
    y = Softmax (a)
    inf = Div (x, zero)
    i = Add (x, inf)
    never = Constant <value = bool {0}> ()
    z = If (never) <
        then_branch = t () => (float[2,4] u) { u = Add (x, x) },
        else_branch = e () => (float[2,4] v) { v = Mul (x, two) }
    >
    shape = Shape (x)
    sizes = Cast <to = 1> (shape)
    doubled = Mul (sizes, two)
    target = Cast <to = 7> (doubled)
    one = ConstantOfShape (target)
    big = Add (one, one)
    last = Identity (i)
}"#;

#[test]
fn masks_infinities_and_sizes_stay_wide() {
    let table = Quantization::named("generic").unwrap();
    let (result, report, snr) = quantized(&model(TRAPS), ElemType::Uint8, &StaticOptions::new(&table));
    assert!(snr > 35.0, "{snr}\n{}", text_of(&result));
    let stay: Vec<(&str, &str, StayReason)> =
        report.stay.iter().map(|(op, name, reason)| (op.as_str(), name.as_str(), *reason)).collect();
    assert_eq!(
        stay,
        [
            ("Add", "i", StayReason::NoRange),
            ("Add", "u", StayReason::NoRange),
            ("Add", "a", StayReason::Mask),
        ]
    );
    let quantized: Vec<(&str, usize)> =
        report.quantized.iter().map(|(op, count)| (op.as_str(), *count)).collect();
    assert_eq!(quantized, [("Add", 1), ("Mul", 1)]);
}

#[test]
fn a_small_constant_does_not_vanish() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2,4] x) => (float[2,4] y, float[2,4] z) <float eps = {0.0001}, float one = {1}> { s = Add (x, eps) y = Exp (s) z = Add (x, one) }"#;
    let table = Quantization::named("generic").unwrap();
    let (_, report, _) = quantized(&model(text), ElemType::Uint8, &StaticOptions::new(&table));
    let stay: Vec<(&str, StayReason)> = report.stay.iter().map(|row| (row.1.as_str(), row.2)).collect();
    assert_eq!((stay, report.quantized), (vec![("s", StayReason::Vanishes)], vec![("Add".to_owned(), 1)]));
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
    let (wanted, report, _) = quantized(&source, ElemType::Uint8, &options);
    let samples = GeneratedSamples::new(&source, 8, &settings);
    let calibration =
        Calibration::default().with_samples(Some(&samples)).with_measure(true).with_losses(true);
    let mut result = source.clone();
    let done = quantize_calibrated(&mut result, ElemType::Uint8, &calibration, &options).unwrap();
    assert_eq!(text_of(&result), text_of(&wanted));
    assert_eq!(done.report.quantized, report.quantized);
    assert!(!done.losses.is_empty() && done.effect.measured.is_some() && done.form.is_none());
    // Ranges that are known need no inputs.
    let known = Calibration::default().with_ranges(done.ranges);
    let mut again = source.clone();
    let done = quantize_calibrated(&mut again, ElemType::Uint8, &known, &options).unwrap();
    assert_eq!(text_of(&again), text_of(&wanted));
    assert!(done.losses.is_empty() && done.effect.measured.is_none());
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
        assert!(report.runs >= 1 && report.runs <= 5, "{}", report.runs);
        assert!(report.outputs.iter().all(|output| output.snr >= snr), "{:?}", report.outputs);
        let kept = report.stay.iter().filter(|row| row.2 == StayReason::Budget).count();
        assert!(kept >= before, "{kept}");
        before = kept;
    }
    assert!(before > 0);
    let found = losses(&source, ElemType::Uint8, &ranges, &samples, &options).unwrap();
    assert!(found.iter().all(|value| value.snr > 20.0), "{found:?}");
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
