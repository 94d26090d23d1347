//! The modes for proofs: evaluation in 64 bits, and results that another implementation could have.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use onnx_eval::{EvalOptions, Evaluator, Failure, FailureKind, Perturbation, Precision, Value, ZeroOrder};
use onnx_types::ElemType;
use onnx_types::tensor::{NoData, Tensor};

fn run(graph: &str, inputs: &[(&str, Value)], options: &EvalOptions<'_>) -> Result<Vec<Value>, Failure> {
    let text = format!("<ir_version: 13, opset_import: [\"\": 26]>\n{graph}");
    let model = onnx_text::parse_model(&text, &onnx_text::ParseOptions::default()).unwrap();
    Evaluator::new(&model, options).unwrap().run(inputs)
}

fn numbers(value: &Value) -> Vec<f64> {
    value.tensor().unwrap().iter_f64(&NoData).unwrap().collect()
}

/// The outputs in 64 bits, all of which are `double`, or sequences and integers.
#[track_caller]
fn in_double(graph: &str, inputs: &[(&str, Value)]) -> Vec<Vec<f64>> {
    let options = EvalOptions::default().with_precision(Precision::Double);
    let outputs = run(graph, inputs, &options).unwrap_or_else(|failure| panic!("{failure}"));
    for output in &outputs {
        let elem = output.tensor().unwrap().elem();
        assert!(!matches!(elem, ElemType::Float | ElemType::Float16 | ElemType::Bfloat16), "{elem}");
    }
    outputs.iter().map(numbers).collect()
}

fn floats(elements: &[f32]) -> Value {
    Tensor::vector(elements).into()
}

#[test]
fn nothing_is_rounded_in_64_bits() {
    // 1e8 + 1 is not a `float`, 2049 is not a `float16`: both are lost unless they are computed in 64 bits.
    let graph = "g (float[1] x) => (float[1] y) <float[1] big = {100000000}> {
        a = Add (x, big)
        b = Cast <to = 10> (x)
        two = Constant <value_floats = [2048.0]> ()
        half = Cast <to = 10> (two)
        c = Add (b, half)
        d = CastLike (c, x)
        e = Sub (a, big)
        f = Sub (d, two)
        y = Add (e, f)
    }";
    let declared = run(graph, &[("x", floats(&[1.0]))], &EvalOptions::default()).unwrap();
    assert_eq!(numbers(&declared[0]), [0.0]);
    assert_eq!(in_double(graph, &[("x", floats(&[1.0]))]), [[2.0]]);
    // An input may be a `double` already.
    let third = Value::from(Tensor::vector(&[1.0 / 3.0]));
    assert_eq!(
        in_double("g (float[1] x) => (float[1] y) { y = Identity (x) }", &[("x", third)]),
        [[1.0 / 3.0]]
    );
}

#[test]
fn attributes_that_name_a_narrow_type_name_double() {
    let graph = "g (float[2] x, float[2] s) => (float[2] y, float[1] m, float[3] w) {
        y, m = LayerNormalization <stash_type = 1> (x, s)
        n = Constant <value_int = 3> ()
        w = HannWindow (n)
    }";
    let found = in_double(graph, &[("x", floats(&[1.0, 3.0])), ("s", floats(&[1.0, 1.0]))]);
    // 1 / sqrt(1 + epsilon), where epsilon is a `float` of the attribute.
    let expected = 1.0 / (1.0 + f64::from(1e-5_f32)).sqrt();
    assert!((found[0][1] - expected).abs() < 1e-15, "{found:?}");
    assert_eq!(found[1], [2.0]);
    assert!((found[2][1] - 0.75).abs() < 1e-15, "{found:?}");
}

#[test]
fn graphs_functions_and_sequences_are_evaluated_in_64_bits() {
    let graph = "g (float[1] x, bool c) => (float[1] y) {
        y = If (c) <then_branch = t () => (float[1] a) { s = SequenceConstruct (x, x)
            i = Constant <value_int = 0> ()
            e = SequenceAt (s, i)
            big = Constant <value_floats = [100000000.0]> ()
            b = Add (e, big)
            a = Sub (b, big) },
          else_branch = f () => (float[1] z) { z = Neg (x) }>
    }";
    let inputs = [("x", floats(&[1.0])), ("c", Tensor::scalar(true).into())];
    assert_eq!(in_double(graph, &inputs), [[1.0]]);
}

#[test]
fn operators_without_double_are_evaluated_in_their_type() {
    // `Celu` of this version takes `float` only.
    let text = "<ir_version: 13, opset_import: [\"\": 20]>
        g (float[2] x) => (float[2] y) { t = Celu (x) y = Identity (t) }";
    let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default()).unwrap();
    let options = EvalOptions::default().with_precision(Precision::Double);
    let outputs = Evaluator::new(&model, &options).unwrap().run(&[("x", floats(&[2.0, -1.0]))]).unwrap();
    assert_eq!(outputs[0].tensor().unwrap().elem(), ElemType::Double);
    let celu = f64::from((-1.0_f64).exp_m1() as f32);
    assert_eq!(numbers(&outputs[0]), [2.0, celu]);
    // Codes of 8 bits stay codes of 8 bits, and saturate.
    let graph = "g (float[2] x) => (uint8[2] q, float[2] y, float[2] e) <float s = {0.5}, uint8 z = {0}> {
        q = QuantizeLinear (x, s, z)
        y = DequantizeLinear (q, s, z)
        f = Cast <to = 17> (x)
        e = Cast <to = 1> (f)
    }";
    let found = in_double(graph, &[("x", floats(&[1.26, 1000.0]))]);
    assert_eq!(found, [[3.0, 255.0], [1.5, 127.5], [1.25, 448.0]]);
}

#[test]
fn bits_and_digits_of_floats_have_no_result_in_64_bits() {
    for graph in [
        "g (float[1] x) => (int32[1] y) { y = BitCast <to = 6> (x) }",
        "g (float[1] x) => (string[1] y) { y = Cast <to = 8> (x) }",
    ] {
        let options = EvalOptions::default().with_precision(Precision::Double);
        let failure = run(graph, &[("x", floats(&[1.0]))], &options).unwrap_err();
        assert_eq!(failure.kind(), FailureKind::Missing, "{failure}");
        assert!(run(graph, &[("x", floats(&[1.0]))], &EvalOptions::default()).is_ok());
    }
}

/// The outputs with a perturbation of this seed.
fn perturbed(graph: &str, inputs: &[(&str, Value)], seed: u64) -> Vec<Vec<f64>> {
    let options = EvalOptions::default().with_perturbation(Perturbation { seed, ulps: 4, arithmetic: false });
    run(graph, inputs, &options).unwrap().iter().map(numbers).collect()
}

#[test]
fn open_results_move_by_a_few_units_and_others_do_not() {
    let graph = "g (float[64] x) => (float[64] a, float[64] b, float[64] c, float[64] d) {
        a = Exp (x)
        b = Exp (x)
        c = Mul (x, x)
        d = Softmax (x)
    }";
    let elements: Vec<f32> = (0..64_u8).map(|k| f32::from(k) / 16.0 - 1.0).collect();
    let inputs = [("x", floats(&elements))];
    let exact: Vec<Vec<f64>> =
        run(graph, &inputs, &EvalOptions::default()).unwrap().iter().map(numbers).collect();
    let found = perturbed(graph, &inputs, 1);
    assert_eq!(found, perturbed(graph, &inputs, 1));
    // Equal calls have equal results, whatever their names.
    assert_eq!(found[0], found[1]);
    assert_eq!(found[2], exact[2]);
    for output in [0, 3] {
        assert_ne!(found[output], exact[output]);
        assert_ne!(found[output], perturbed(graph, &inputs, 2)[output]);
        for (found, exact) in found[output].iter().zip(&exact[output]) {
            let bits = |number: &f64| i64::from((*number as f32).to_bits());
            assert!((bits(found) - bits(exact)).abs() <= 4, "{found} {exact}");
        }
    }
}

#[test]
fn a_perturbation_depends_on_attributes_and_operands() {
    let graph = "g (float[2, 8] x) => (float[2, 8] a, float[2, 8] b, float[2, 8] c, float[2, 8] d) {
        a = Softmax <axis = -1> (x)
        b = Softmax (x)
        n = Neg (x)
        m = Neg (n)
        c = Softmax (m)
        d = Gelu (x)
    }";
    let elements: Vec<f32> = (0..16_u8).map(|k| f32::from(k) / 16.0).collect();
    let x = Tensor::from_slice([2, 8], &elements).unwrap();
    let found = perturbed(graph, &[("x", x.into())], 0);
    // A default that is given, and operands with the same bits, are the same call.
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
    // Zeros and what is not finite do not move.
    let graph = "g (float[3] x) => (float[3] y) { y = Exp (x) }";
    let special = [f32::NEG_INFINITY, f32::INFINITY, f32::NAN];
    let found = perturbed(graph, &[("x", floats(&special))], 0);
    assert!(found[0][0] == 0.0 && found[0][1] == f64::INFINITY && found[0][2].is_nan());
}

#[test]
fn a_formula_that_moves_elements_is_not_open() {
    let graph = "g (float[2, 3] x) => (float[3, 2] a, float[2] b) {
        a = Einsum <equation = \"i j -> j i\"> (x)
        b = Einsum <equation = \"ij->i\"> (x)
    }";
    let x = Tensor::from_slice([2, 3], &[1.0_f32, -0.0, 3.5, 0.25, -7.0, 9.0]).unwrap();
    let exact = run(graph, &[("x", x.clone().into())], &EvalOptions::default()).unwrap();
    let found = perturbed(graph, &[("x", x.into())], 5);
    assert_eq!(found[0], numbers(&exact[0]));
    assert!(found[0][2] == 0.0 && found[0][2].is_sign_negative());
    assert_ne!(found[1], numbers(&exact[1]));
}

#[test]
fn a_perturbation_does_not_depend_on_the_notation_of_a_call() {
    let same = [
        ["$ = Softmax <axis = -1> (x)", "$ = Softmax <axis = 2> (x)"],
        ["$ = LpNormalization <axis = 1> (x)", "$ = LpNormalization <axis = -2> (x)"],
        ["$ = ReduceSum (x, m1_0)", "$ = ReduceSum (x, p0_2)"],
        ["$ = ReduceMean (x)", "$ = ReduceMean (x, p0_1_2)"],
        ["$ = ReduceL2 (x, p1)", "t = ReduceL2 <keepdims = 0> (x, p1) $ = Unsqueeze (t, p1)"],
        ["$ = ReduceSum (x, p1)", "$ = ReduceSum <noop_with_empty_axes = 1> (x, p1)"],
        [
            "$ = AveragePool <kernel_shape = [3], auto_pad = \"SAME_UPPER\"> (x)",
            "$ = AveragePool <kernel_shape = [3], pads = [1, 1]> (x)",
        ],
        ["$ = Conv (x, w)", "$ = Conv <kernel_shape = [3], auto_pad = \"VALID\"> (x, w)"],
    ];
    let elements: Vec<f32> = (0..48_u8).map(|k| f32::from(k) / 16.0 + 0.25).collect();
    let x = Tensor::from_slice([2, 3, 8], &elements).unwrap();
    let weights = ["1.25"; 18].join(", ");
    for [a, b] in same {
        let [first, second] = [a.replace('$', "a"), b.replace('$', "b")];
        let graph = format!(
            "g (float[2, 3, 8] x) => (float[N, M, K] a, float[N, M, K] b)
            <int64[2] m1_0 = {{-1, 0}}, int64[2] p0_2 = {{0, 2}}, int64[3] p0_1_2 = {{2, -2, 0}}, int64[1] p1 = {{1}},
             float[2, 3, 3] w = {{{weights}}}> {{
                {first}
                {second}
            }}"
        );
        let found = perturbed(&graph, &[("x", x.clone().into())], 3);
        let exact = run(&graph, &[("x", x.clone().into())], &EvalOptions::default()).unwrap();
        assert_eq!(found[0], found[1], "{a} and {b}");
        assert_ne!(found[0], numbers(&exact[0]), "{a} is not perturbed");
    }
}

#[test]
fn a_sum_of_two_numbers_is_not_open_and_no_number_moves_far() {
    let graph = "g (float[8] x) => (float[8] a, float[8] b, float[8] c, float[8] d) {
        a = Sum (x, x)
        b = Mean (x)
        c = Sum (x, x, x)
        d = Exp (x)
    }";
    let elements: Vec<f32> = (1..9_u8).map(|k| f32::from(k) / 8.0).collect();
    let inputs = [("x", floats(&elements))];
    let options =
        EvalOptions::default().with_perturbation(Perturbation { seed: 0, ulps: u64::MAX, arithmetic: false });
    let all = |options: &EvalOptions<'_>| -> Vec<Vec<f64>> {
        run(graph, &inputs, options).unwrap().iter().map(numbers).collect()
    };
    let (exact, found) = (all(&EvalOptions::default()), all(&options));
    assert_eq!((&found[0], &found[1]), (&exact[0], &exact[1]));
    for output in [2, 3] {
        assert_ne!(found[output], exact[output]);
        let moved =
            found[output].iter().zip(&exact[output]).map(|(found, exact)| (found / exact - 1.0).abs());
        assert!(moved.fold(0.0, f64::max) <= 1.0 / 64.0);
    }
}

/// Sums of integers that a type has are exact in any order.
#[test]
fn sums_of_integers_that_are_exact_do_not_move() {
    let graph =
        "g (float[2, 3] x, float[3, 2] w, int64[1] last) => (float[2, 2] a, float[2, 1] b, float[2, 2] c) {
        a = MatMul (x, w)
        b = ReduceSum (x, last)
        c = Einsum <equation = \"ij,jk->ik\"> (x, w)
    }";
    for (scale, is_exact) in [(1.0_f32, true), (0.1, false), (3e7, false)] {
        let numbers_of = |dims: [i64; 2]| {
            let elements: Vec<f32> = (1..7_u8).map(|k| f32::from(k) * scale).collect();
            Value::from(Tensor::from_slice(dims, &elements).unwrap())
        };
        let last = Value::from(Tensor::vector(&[-1_i64]));
        let inputs = [("x", numbers_of([2, 3])), ("w", numbers_of([3, 2])), ("last", last)];
        let exact = run(graph, &inputs, &EvalOptions::default()).unwrap();
        for (found, exact) in perturbed(graph, &inputs, 1).iter().zip(&exact) {
            assert_eq!(*found == numbers(exact), is_exact, "{scale}");
        }
    }
}

/// The standard does not say which zero is the greater one.
#[test]
fn zeros_have_the_order_that_is_asked_for() {
    let signs = |reversed: u64, graph: &str, inputs: &[(&str, Value)]| -> Vec<bool> {
        let options = EvalOptions::default().with_zeros(ZeroOrder { reversed });
        let outputs = run(graph, inputs, &options).unwrap_or_else(|failure| panic!("{failure}"));
        let numbers = numbers(&outputs[0]);
        assert!(numbers.iter().all(|&number| number == 0.0), "{numbers:?}");
        numbers.iter().map(|number| number.is_sign_negative()).collect()
    };
    let (x, z) = (floats(&[0.0, -0.0, 0.0, -0.0]), floats(&[-0.0, 0.0, 0.0, -0.0]));
    let pair = |nodes: &str| format!("g (float[4] x, float[4] z) => (y) {{ {nodes} }}");
    // Of equal zeros, it is that one.
    for (nodes, greatest) in [("y = Max (x, z)", 0), ("y = Min (x, z)", u64::MAX)] {
        let inputs = [("x", x.clone()), ("z", z.clone())];
        assert_eq!(signs(greatest, &pair(nodes), &inputs), [false, false, false, true], "{nodes}");
        assert_eq!(signs(!greatest, &pair(nodes), &inputs), [true, true, false, true], "{nodes}");
    }
    // The operator compares with its zero, or with others of the operand.
    let one = |nodes: &str| format!("g (float[1, 1, 4] x) => (y) {{ {nodes} }}");
    let x = || Value::from(Tensor::from_slice([1, 1, 4], &[-0.0_f32, -1.0, 0.0, -0.0]).unwrap());
    for (nodes, ascending, descending) in [
        ("y = Relu (x)", [false; 4].as_slice(), [true, false, false, true].as_slice()),
        ("y = ReduceMax <keepdims = 0> (x)", &[false], &[true]),
        ("y = GlobalMaxPool (x)", &[false], &[true]),
        ("y = MaxPool <kernel_shape = [2]> (x)", &[true, false, false], &[true, false, true]),
    ] {
        assert_eq!(signs(0, &one(nodes), &[("x", x())]), ascending, "{nodes}");
        assert_eq!(signs(u64::MAX, &one(nodes), &[("x", x())]), descending, "{nodes}");
    }
    // Each node has its own bit.
    let graph =
        "g (float[1] x, float[1] z) => (y) { a = Max (x, z) b = Max (z, x) y = Concat <axis = 0> (a, b) }";
    let inputs = [("x", floats(&[0.0])), ("z", floats(&[-0.0]))];
    assert_eq!(signs(0b10, graph, &inputs), [false, true]);
}
