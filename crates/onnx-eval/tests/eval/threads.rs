//! Results have the same bits for every number of threads, limits and interrupts hold.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use onnx_eval::{EvalOptions, Evaluator, FailureKind, Limits, Value};
use onnx_types::tensor::Tensor;
use onnx_types::{Execution, Interrupt};

/// Numbers whose sums are rounded.
fn numbers(dims: &[i64], seed: u64) -> Tensor {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let elements: Vec<f32> = (0..dims.iter().product()).map(|_| next()).collect();
    Tensor::from_slice(dims.iter().copied(), &elements).unwrap()
}

/// Runs a node on tensors named `a`, `b`, … with 1 and more threads.
#[track_caller]
fn check(node: &str, shapes: &[&[i64]]) {
    let names = ["a", "b", "c", "d"];
    let named: Vec<(&str, &[i64])> = names.into_iter().zip(shapes.iter().copied()).collect();
    let declared: Vec<String> = named.iter().map(|(name, dims)| format!("float{dims:?} {name}")).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 23]>\ng ({}) => (y) {{ y = {node} }}",
        declared.join(", ")
    );
    let model = onnx_text::parse_model(&text, &onnx_text::ParseOptions::default()).unwrap();
    let inputs: Vec<(&str, Value)> =
        named.iter().enumerate().map(|(at, (name, dims))| (*name, numbers(dims, at as u64).into())).collect();
    let run = |threads| {
        let options = EvalOptions::default().with_threads(threads);
        Evaluator::new(&model, &options)
            .unwrap()
            .run(&inputs)
            .unwrap_or_else(|failure| panic!("{failure}\n{text}"))
    };
    let bits = |values: &[Value]| values[0].tensor().unwrap().bytes(&onnx_types::tensor::NoData).unwrap();
    let expected = bits(&run(1));
    for threads in [0, 2, 3, 5, 16] {
        assert!(bits(&run(threads)) == expected, "{threads} threads\n{text}");
    }
}

#[test]
fn products_do_not_depend_on_threads() {
    // Rows, columns and sums beyond the blocks of the kernel, and parts that are not full.
    for [rows, depth, columns] in [
        [300, 70, 90],
        [65, 300, 129],
        [1, 700, 900],
        [700, 600, 1],
        [33, 257, 513],
        [129, 1, 4099],
        [17, 4097, 17],
    ] {
        check("MatMul (a, b)", &[&[rows, depth], &[depth, columns]]);
        check("Gemm <transA = 1, transB = 1, alpha = 0.5> (a, b)", &[&[depth, rows], &[columns, depth]]);
    }
    check("MatMul (a, b)", &[&[3, 1, 40, 65], &[5, 65, 50]]);
    check("MatMul (a, b)", &[&[600, 8, 20], &[600, 20, 9]]);
    check("MatMul (a, b)", &[&[2, 100, 65], &[2, 65, 90]]);
    check("Attention (a, b, c)", &[&[1, 2, 70, 33], &[1, 2, 90, 33], &[1, 2, 90, 17]]);
}

#[test]
fn convolutions_do_not_depend_on_threads() {
    check("Conv <pads = [1,1,1,1]> (a, b, c)", &[&[1, 9, 30, 31], &[13, 9, 3, 3], &[13]]);
    check("Conv <strides = [2,1]> (a, b)", &[&[2, 16, 33, 30], &[32, 16, 3, 2]]);
    check("Conv (a, b)", &[&[2, 33, 20, 21], &[40, 33, 1, 1]]);
    // As many groups as channels, some groups, and one batch more than threads.
    check("Conv <group = 37, pads = [1,1,1,1]> (a, b)", &[&[1, 37, 40, 41], &[37, 1, 3, 3]]);
    check("Conv <group = 3, pads = [1,1,1,1]> (a, b)", &[&[3, 6, 40, 41], &[9, 2, 3, 3]]);
    check("Conv <group = 2> (a, b)", &[&[3, 10, 30, 31], &[14, 5, 3, 3]]);
    check("Conv <pads = [2, 2]> (a, b)", &[&[1, 40, 500], &[64, 40, 5]]);
}

#[test]
fn functions_of_elements_do_not_depend_on_threads() {
    for node in ["Exp (a)", "Erf (a)", "Neg (a)", "Gelu (a)", "Clip (a)"] {
        check(node, &[&[7, 100_003]]);
    }
    // The second node overwrites the result of the first.
    check("Tanh (s) s = Exp (a)", &[&[300_001]]);
    check("LSTM <hidden_size = 70> (a, b, c)", &[&[30, 5, 60], &[1, 280, 60], &[1, 280, 70]]);
}

/// Whole numbers from `low` to `high`, in a fixed sequence.
struct Sizes(u64);

impl Sizes {
    fn next(&mut self, low: i64, high: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + ((self.0 >> 33) % (high - low + 1).unsigned_abs()).cast_signed()
    }
}

#[test]
fn results_of_any_sizes_do_not_depend_on_threads() {
    let mut sizes = Sizes(17);
    for round in 0..6 {
        let mut size = |low, high| sizes.next(low, high);
        let [rows, depth, columns, batch] = [size(1, 150), size(1, 300), size(1, 150), size(1, 9)];
        check("MatMul (a, b)", &[&[batch, rows, depth], &[batch, depth, columns]]);
        check("MatMul (a, b)", &[&[batch, rows, depth], &[depth, columns]]);
        let (a, b) = ([depth, rows], [depth, columns]);
        check("Gemm <transA = 1, beta = 0.3> (a, b, c)", &[&a, &b, &[rows, 1]]);
        let (groups, inputs, outputs) = (size(1, 5), size(1, 5), size(1, 7));
        let [height, width, kernel] = [size(5, 40), size(5, 40), size(1, 4)];
        let node =
            format!("Conv <group = {groups}, pads = [1,0,0,1], strides = [1,{}]> (a, b)", 1 + round % 2);
        let weights = [groups * outputs, inputs, kernel, kernel];
        check(&node, &[&[batch, groups * inputs, height, width], &weights]);
        let count = size(1 << 15, 1 << 18);
        check("Sigmoid (s) s = Softplus (a)", &[&[count]]);
        check("ReduceSum (a)", &[&[7, count / 7]]);
        check("Softmax (a)", &[&[size(1, 2000), size(1, 100)]]);
        let (heads, steps, width) = (size(1, 6), size(1, 90), size(1, 40));
        let head = [batch, heads, steps, width];
        check("Attention <is_causal = 1> (a, b, c)", &[&head, &head, &head]);
    }
}

#[test]
fn limits_and_interrupts_hold() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>
        g (float[200,200] a) => (y) { y = MatMul (a, a) }";
    let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default()).unwrap();
    let run = |options: EvalOptions<'_>| {
        let options = options.with_threads(4);
        let a = Value::from(numbers(&[200, 200], 1));
        Evaluator::new(&model, &options).unwrap().run(&[("a", a)]).unwrap_err()
    };
    let failure = run(EvalOptions::default().with_limits(Limits::default().with_run_steps(1_000_000)));
    assert_eq!(failure.limit(), Some("run_steps"));
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let execution = Execution::default().with_interrupt(interrupt);
    assert_eq!(run(EvalOptions::default().with_execution(execution)).kind(), FailureKind::Stopped);
}
