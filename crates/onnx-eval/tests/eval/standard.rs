//! Operators of which the official tests cover little or nothing: results computed by hand, and what fails.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use onnx_eval::{EvalOptions, Evaluator, Failure, FailureKind, Value, uncovered};
use onnx_types::tensor::{NoData, Tensor};

fn run_at(opset: i64, graph: &str, inputs: &[(&str, Value)]) -> Result<Vec<Value>, Failure> {
    let text = format!(
        "<ir_version: 13, opset_import: [\"\": {opset}, \"ai.onnx.ml\": 5, \"ai.onnx.preview\": 1, \"ai.onnx.preview.training\": 1]>\n{graph}"
    );
    let model = onnx_text::parse_model(&text, &onnx_text::ParseOptions::default()).unwrap();
    Evaluator::new(&model, &EvalOptions::default()).unwrap().run(inputs)
}

/// Runs a graph and compares its outputs with sizes and elements, to 1e-6.
#[track_caller]
fn check(opset: i64, graph: &str, inputs: &[(&str, Value)], expected: &[(&[i64], &[f64])]) {
    let outputs = run_at(opset, graph, inputs).unwrap_or_else(|failure| {
        panic!("{failure} {:?}", failure.diagnostic().notes);
    });
    assert_eq!(outputs.len(), expected.len());
    for (output, (dims, expected)) in outputs.iter().zip(expected) {
        let tensor = output.tensor().unwrap();
        assert_eq!(tensor.dims(), *dims);
        let found: Vec<f64> = tensor.iter_f64(&NoData).unwrap().collect();
        let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 || a.is_nan() && b.is_nan();
        assert!(found.len() == expected.len() && found.iter().zip(*expected).all(is_near), "{found:?}");
    }
}

/// The reason of a failure of an operator.
#[track_caller]
fn fails(opset: i64, graph: &str, inputs: &[(&str, Value)]) -> String {
    let failure = run_at(opset, graph, inputs).unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Operator, "{failure}");
    failure.diagnostic().message.clone()
}

fn floats(dims: &[i64], elements: &[f32]) -> Value {
    Tensor::from_slice(dims.iter().copied(), elements).unwrap().into()
}

fn doubles(dims: &[i64], elements: &[f64]) -> Value {
    Tensor::from_slice(dims.iter().copied(), elements).unwrap().into()
}

#[test]
fn every_operator_has_a_kernel() {
    let names: Vec<&str> = uncovered().map(|schema| schema.schema().name()).collect();
    assert_eq!(names, if cfg!(feature = "image") { vec![] } else { vec!["ImageDecoder"] });
}

#[test]
fn transforms_of_constants_and_impulses() {
    let graph = |attributes: &str| {
        format!("g (double[1,N,P] x) => (double[A,B,C] y) {{ y = DFT <{attributes}> (x) }}")
    };
    let ones = || doubles(&[1, 3, 1], &[1.0, 1.0, 1.0]);
    check(17, &graph("axis = 1"), &[("x", ones())], &[(&[1, 3, 2], &[3.0, 0.0, 0.0, 0.0, 0.0, 0.0])]);
    check(17, &graph("onesided = 1"), &[("x", ones())], &[(&[1, 2, 2], &[3.0, 0.0, 0.0, 0.0])]);
    // The transform of an impulse at 1 of 4: 1, -i, -1, i.
    let impulse = doubles(&[1, 4, 1], &[0.0, 1.0, 0.0, 0.0]);
    check(
        17,
        &graph("inverse = 0"),
        &[("x", impulse)],
        &[(&[1, 4, 2], &[1.0, 0.0, 0.0, -1.0, -1.0, 0.0, 0.0, 1.0])],
    );
    // Half of it, back: the imaginary part of the last number does not count.
    let half = || doubles(&[1, 3, 2], &[1.0, 0.0, 0.0, -1.0, -1.0, 5.0]);
    check(17, &graph("inverse = 1, onesided = 1"), &[("x", half())], &[(&[1, 4, 1], &[0.0, 1.0, 0.0, 0.0])]);
    fails(17, &graph("onesided = 1"), &[("x", half())]);
    fails(17, &graph("inverse = 1, onesided = 1"), &[("x", ones())]);
    fails(17, &graph("axis = 2"), &[("x", ones())]);
}

#[test]
fn frames_of_a_signal() {
    let graph = "g (float[B,L,1] x, int64 step, int64 length) => (float[B,F,N,2] y) {
        y = STFT (x, step, , length)
    }";
    let run = |step: i64, length: i64| {
        let x = floats(&[1, 5, 1], &[1.0, 2.0, 3.0, 4.0, 5.0]);
        vec![("x", x), ("step", Tensor::scalar(step).into()), ("length", Tensor::scalar(length).into())]
    };
    check(17, graph, &run(2, 2), &[(&[1, 2, 2, 2], &[3.0, 0.0, -1.0, 0.0, 7.0, 0.0, -1.0, 0.0])]);
    fails(17, graph, &run(2, 6));
    fails(17, graph, &run(0, 2));
}

#[test]
fn derivatives_follow_the_chain() {
    // y = mean(relu(x·w)² + c): dy/dz = z for the positive z = (2, -1) of two, dy/dx = dy/dz·wᵀ, dy/dw = xᵀ·dy/dz.
    let graph = "g (float[1,2] x, float[2,2] w) => (float[1,2] dx, float[2,2] dw) <float c = {3.0}> {
        p = MatMul (x, w)
        z = Relu (p)
        s = Mul (z, z)
        t = Add (s, c)
        y = ReduceMean <keepdims = 0> (t)
        dx, dw = ai.onnx.preview.training.Gradient <xs = [\"x\", \"w\"], y = \"y\"> (x, w)
    }";
    let inputs = [("x", floats(&[1, 2], &[1.0, 2.0])), ("w", floats(&[2, 2], &[4.0, 1.0, -1.0, -1.0]))];
    check(17, graph, &inputs, &[(&[1, 2], &[8.0, -2.0]), (&[2, 2], &[2.0, 0.0, 4.0, 0.0])]);
    let broadcast = "g (float[2,2] x, float[2] b) => (float[2,2] dx, float[2] db, float[2] none) {
        q = Div (x, b)
        y = Exp (q)
        z = Neg (b)
        dx, db = ai.onnx.preview.training.Gradient <xs = [\"x\", \"b\"], y = \"y\"> (x, b)
        none = ai.onnx.preview.training.Gradient <xs = [\"b\"], zs = [\"x\"], y = \"x\"> (b, x)
    }";
    let inputs = [("x", floats(&[2, 2], &[0.0, 0.0, 0.0, 2.0])), ("b", floats(&[2], &[2.0, 1.0]))];
    let e2 = 2.0_f64.exp();
    let expected: &[(&[i64], &[f64])] =
        &[(&[2, 2], &[0.5, 1.0, 0.5, e2]), (&[2], &[0.0, -2.0 * e2]), (&[2], &[0.0, 0.0])];
    check(17, broadcast, &inputs, expected);
    let unknown = "g (float[2,2] x) => (float[2,2] dx) {
        y = Softmax (x)
        dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (x)
    }";
    let failure = run_at(17, unknown, &[("x", floats(&[2, 2], &[0.0; 4]))]).unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Missing);
}

#[test]
fn dropout_in_training_scales_what_remains() {
    let graph =
        "g (float[1000] x, float r, bool t) => (float[1000] y, bool[1000] m) { y, m = Dropout (x, r, t) }";
    let inputs = |ratio: f32| {
        vec![
            ("x", floats(&[1000], &[1.0; 1000])),
            ("r", Tensor::scalar(ratio).into()),
            ("t", Tensor::scalar(true).into()),
        ]
    };
    let outputs = run_at(13, graph, &inputs(0.75)).unwrap();
    let [y, mask] = [&outputs[0], &outputs[1]]
        .map(|output| output.tensor().unwrap().iter_f64(&NoData).unwrap().collect::<Vec<f64>>());
    assert!(y.iter().zip(&mask).all(|(y, bit)| *y == 4.0 * bit));
    let count = mask.iter().sum::<f64>();
    assert!((180.0..320.0).contains(&count), "{count}");
    assert_eq!(run_at(13, graph, &inputs(0.75)).unwrap(), outputs);
    fails(13, graph, &inputs(1.0));
    // Before version 7, training is the default, and the mask has the type of the data.
    let first = "g (double[4] x) => (double[4] y, double[4] m) { y, m = Dropout <ratio = 0.0> (x) }";
    let x: &[f64] = &[1.0, 2.0, 3.0, 4.0];
    check(6, first, &[("x", doubles(&[4], x))], &[(&[4], x), (&[4], &[1.0; 4])]);
}

#[test]
fn trees_with_a_cycle_or_without_a_feature_fail() {
    let graph = |children: &str, feature: i64| {
        format!(
            "g (float[N,F] x) => (float[N,1] y) {{
                y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, nodes_treeids = [0, 0], nodes_nodeids = [0, 1],
                    nodes_featureids = [{feature}, 0], nodes_values = [0.5, 0.0], nodes_modes = [\"BRANCH_LT\", \"LEAF\"],
                    nodes_truenodeids = {children}, nodes_falsenodeids = [1, 0], target_treeids = [0],
                    target_nodeids = [1], target_ids = [0], target_weights = [2.5]> (x)
            }}"
        )
    };
    let x = || [("x", floats(&[2, 1], &[0.0, 1.0]))];
    check(17, &graph("[1, 0]", 0), &x(), &[(&[2, 1], &[2.5, 2.5])]);
    assert!(fails(17, &graph("[0, 0]", 0), &x()).contains("cycle"));
    fails(17, &graph("[7, 0]", 0), &x());
    fails(17, &graph("[1, 0]", 3), &x());
}

#[test]
fn edges_of_mel_bands() {
    let graph = "g (int64 bands, int64 length, int64 rate, float low, float high) => (int64[R,B] y) {
        y = MelWeightMatrix <output_datatype = 7> (bands, length, rate, low, high)
    }";
    let run = |high: f32| {
        vec![
            ("bands", Tensor::scalar(2_i64).into()),
            ("length", Tensor::scalar(8_i64).into()),
            ("rate", Tensor::scalar(8000_i64).into()),
            ("low", Tensor::scalar(0.0_f32).into()),
            ("high", Tensor::scalar(high).into()),
        ]
    };
    // Edges at the bins 0, 0, 1, 2 of 5: 0, 386, 985 and 1915 Hz.
    let weights: &[f64] = &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    check(17, graph, &run(3361.0), &[(&[5, 2], weights)]);
    fails(17, graph, &run(1e9));
}

#[cfg(feature = "image")]
#[test]
fn images_that_cannot_be_decoded_are_empty() {
    let graph = "g (uint8[N] x) => (uint8[H,W,C] y) { y = ImageDecoder <pixel_format = \"Grayscale\"> (x) }";
    let bytes = |bytes: &[u8]| Value::from(Tensor::vector(bytes));
    check(20, graph, &[("x", bytes(b"no image"))], &[(&[0, 0, 1], &[])]);
    check(20, graph, &[("x", bytes(b"P5 2 1 255\n\x10\x20"))], &[(&[1, 2, 1], &[16.0, 32.0])]);
    check(20, graph, &[("x", bytes(b"P5 2 2 255\n\x10\x20"))], &[(&[0, 0, 1], &[])]);
}

#[test]
fn sums_of_integers_wrap_before_a_function_is_applied() {
    let of = |op: &str, ty: &str| format!("g ({ty}[2] x) => ({ty}[1] y) {{ y = {op} (x) }}");
    // -128 and 3: their squares add up to 16,393 in 32 bits.
    let x = || Value::from(Tensor::vector(&[u32::MAX - 127, 3]));
    check(18, &of("ReduceL2", "uint32"), &[("x", x())], &[(&[1], &[128.0])]);
    // The square of -2^31 is 0 in 32 bits.
    check(18, &of("ReduceL2", "int32"), &[("x", Tensor::vector(&[i32::MIN, 3]).into())], &[(&[1], &[3.0])]);
    // -1 and 21 add up to 20 in 32 bits, of which the logarithm is 2.99.
    let x = Tensor::vector(&[u32::MAX, 21]);
    check(18, &of("ReduceLogSum", "uint32"), &[("x", x.into())], &[(&[1], &[2.0])]);
}

#[test]
fn layers_of_no_elements_have_statistics() {
    let graph = "g (float[2,N] x, float[N] s) => (float[2,N] y, float[2,1] m, float[2,1] d) {
        y, m, d = LayerNormalization (x, s)
    }";
    let inputs = [("x", floats(&[2, 0], &[])), ("s", floats(&[0], &[]))];
    let nan: &[f64] = &[f64::NAN, f64::NAN];
    check(17, graph, &inputs, &[(&[2, 0], &[]), (&[2, 1], nan), (&[2, 1], nan)]);
}

#[test]
fn a_range_with_nan_has_no_scale() {
    let graph = "g (float[2] x) => (float s) { y, s, z = DynamicQuantizeLinear (x) }";
    check(11, graph, &[("x", floats(&[2], &[1.0, f32::NAN]))], &[(&[], &[f64::NAN])]);
}

#[test]
fn what_is_outside_is_positive_zero() {
    let grid = || floats(&[1, 1, 1, 2], &[5.0, 5.0]);
    let graph = "g (float[1,1,2,2] x, float[1,1,1,2] grid) => (float[1,1,1,1] y) {
        z = GridSample <mode = \"linear\", padding_mode = \"zeros\"> (x, grid) y = Reciprocal (z) }";
    let x = floats(&[1, 1, 2, 2], &[-1.0; 4]);
    let outputs = run_at(20, graph, &[("x", x), ("grid", grid())]).unwrap();
    let found: Vec<f64> = outputs[0].tensor().unwrap().iter_f64(&NoData).unwrap().collect();
    assert_eq!(found, [f64::INFINITY]);
}

#[test]
fn powers_of_integers_wrap_whatever_the_type_of_the_exponent() {
    // 3 to the 39th has more digits than a double.
    for ty in ["int64", "uint64", "uint8"] {
        let graph = format!(
            "g (int64[1] x) => (int64[1] y) <{ty}[1] n = {{39}}, int64 m = {{1000}}> {{ p = Pow (x, n) y = Mod (p, m) }}"
        );
        let x = Tensor::from_slice([1], &[3_i64]).unwrap().into();
        check(15, &graph, &[("x", x)], &[(&[1], &[267.0])]);
    }
}

#[test]
fn places_beyond_64_bits_are_compared_with_the_result() {
    let graph = "g (float[1,1,9] x, float[1,1,3] w) => (float[1,1,5] y) {
        y = ConvTranspose <output_shape = [5], strides = [4611686018427387904]> (x, w) }";
    let operands = [("x", floats(&[1, 1, 9], &[1.0; 9])), ("w", floats(&[1, 1, 3], &[1.0, 2.0, 3.0]))];
    // 2^65 - 2 elements are cut off, half of them in front, so that the middle element is at place 1.
    check(11, graph, &operands, &[(&[1, 1, 5], &[0.0, 1.0, 2.0, 3.0, 0.0])]);
}

fn ints(dims: &[i64], elements: &[i64]) -> Value {
    Tensor::from_slice(dims.iter().copied(), elements).unwrap().into()
}

/// Complex numbers of single precision, from their real and imaginary parts.
fn complex(dims: &[i64], parts: &[(f32, f32)]) -> Value {
    let bytes: Vec<u8> =
        parts.iter().flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()]).flatten().collect();
    let payload = onnx_types::tensor::Payload::Raw(bytes.into());
    Tensor::from_parts(onnx_types::ElemType::Complex64.code(), dims.iter().copied().collect(), payload).into()
}

#[test]
fn integers_where_floats_are_usual() {
    let x = || ints(&[3], &[1, 0, 5]);
    check(9, "g (int64[3] x) => (int64[3] y) { y = Erf (x) }", &[("x", x())], &[(&[3], &[0.0, 0.0, 1.0])]);
    let shrunk = "g (int64[3] x) => (int64[3] y) { y = Shrink <bias = 2.0> (x) }";
    check(9, shrunk, &[("x", x())], &[(&[3], &[-1.0, 0.0, 3.0])]);
    let product = "g (int64[1,3] x) => (int64[1,1] y) { y = Gemm <alpha = 0.25, transB = 1> (x, x) }";
    // A quarter of 26, truncated.
    check(11, product, &[("x", ints(&[1, 3], &[1, 0, 5]))], &[(&[1, 1], &[6.0])]);
    let difference = "g (uint64[1,1] x) => (uint64[1,1] y) { y = Gemm <beta = -1.0> (x, x, x) }";
    let x = Tensor::from_slice([1, 1], &[7_u64]).unwrap().into();
    check(13, difference, &[("x", x)], &[(&[1, 1], &[42.0])]);
    let window =
        "g (int64 n) => (uint16[N] y) { y = BlackmanWindow <output_datatype = 4, periodic = 0> (n) }";
    check(17, window, &[("n", ints(&[], &[3]))], &[(&[3], &[0.0, 1.0, 0.0])]);
}

#[test]
fn complex_numbers_are_compared_and_interpolated_by_parts() {
    let x = || complex(&[4], &[(1.0, 0.0), (0.0, -0.0), (0.0, 2.0), (1.0, 0.0)]);
    let places = "g (complex64[4] x) => (int64[1,N] y) { y = NonZero (x) }";
    check(13, places, &[("x", x())], &[(&[1, 3], &[0.0, 2.0, 3.0])]);
    let order = "g (complex64[4] x) => (int64[N] i) { y, i = Unique (x) }";
    // 0, 2i, 1.
    check(11, order, &[("x", x())], &[(&[3], &[1.0, 2.0, 0.0])]);
    let middle = r#"g (complex64[1,1,1,2] x, float[1,1,1,2] p) => (int64[4,1] y) {
   s = GridSample <align_corners = 1> (x, p)
   y = NonZero (s)
}"#;
    // Halfway between i and -i is 0.
    let ends = complex(&[1, 1, 1, 2], &[(0.0, 1.0), (0.0, -1.0)]);
    check(16, middle, &[("x", ends), ("p", floats(&[1, 1, 1, 2], &[0.0, 0.0]))], &[(&[4, 0], &[])]);
}

#[test]
fn formulas_at_their_limits() {
    let celu = "g (float[2] x) => (float[2] y) { y = Celu <alpha = 0.0> (x) }";
    check(12, celu, &[("x", floats(&[2], &[1.0, -1.0]))], &[(&[2], &[f64::NAN, 0.0])]);
    let scale = "g (float[2] x) => (float s) { y, s, z = DynamicQuantizeLinear (x) }";
    check(11, scale, &[("x", floats(&[2], &[1.0, f32::NAN]))], &[(&[], &[f64::NAN])]);
    let nothing = "g (float[2,0] x) => (float[2,0] y, float[2,1] m) { y, m = LayerNormalization (x, x) }";
    check(17, nothing, &[("x", floats(&[2, 0], &[]))], &[(&[2, 0], &[]), (&[2, 1], &[f64::NAN, f64::NAN])]);
    let slope = "g (float[1,1,2] x, float[2] s) => (float[1,2,2] y) { y = PRelu (x, s) }";
    let inputs = [("x", floats(&[1, 1, 2], &[-1.0, 1.0])), ("s", floats(&[2], &[0.5, 0.5]))];
    assert_eq!(
        fails(6, slope, &inputs),
        "a slope of the sizes [2] does not broadcast to the input [1, 1, 2]"
    );
}

#[test]
fn optimizers_keep_the_types_of_their_operands() {
    let step = r#"g (float r, int64 t, float[1] x, double[1] g, double[1] h) => (float[1] a, double[1] b) {
   a, b = ai.onnx.preview.training.Adagrad <epsilon = 0.0> (r, t, x, g, h)
}"#;
    let inputs = [
        ("r", floats(&[], &[0.5])),
        ("t", ints(&[], &[0])),
        ("x", floats(&[1], &[1.0])),
        ("g", doubles(&[1], &[3.0])),
        ("h", doubles(&[1], &[16.0])),
    ];
    // 1 - 0.5 * 3 / sqrt(16 + 9), and the new sum of squares.
    check(20, step, &inputs, &[(&[1], &[0.7]), (&[1], &[25.0])]);
}
