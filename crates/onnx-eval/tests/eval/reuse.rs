//! Memory: results in the memory of operands, and nodes with constant operands that run late.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use std::sync::Mutex;

use onnx_eval::{EvalOptions, Evaluator, Failure, Limits, NodeRun, Observer, Perturbation, Value};
use onnx_ir::{Model, NodeId};
use onnx_types::tensor::Tensor;

fn parse(graph: &str) -> Model {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21]>\n{graph}");
    onnx_text::parse_model(&text, &onnx_text::ParseOptions::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn run(model: &Model, inputs: &[(&str, Tensor)], options: &EvalOptions<'_>) -> Result<Vec<Value>, Failure> {
    let inputs: Vec<_> = inputs.iter().map(|(name, tensor)| (*name, Value::from(tensor.clone()))).collect();
    Evaluator::new(model, options)?.run(&inputs)
}

/// Options with which no operand is overwritten, and results are the same.
fn without_reuse() -> EvalOptions<'static> {
    EvalOptions::default().with_perturbation(Perturbation { seed: 0, ulps: 0, arithmetic: false })
}

fn numbers(dims: &[i64], scale: f32) -> Tensor {
    let count: i64 = dims.iter().product();
    let elements: Vec<f32> = (0..count).map(|at| (at % 97 - 48) as f32 * scale).collect();
    Tensor::from_slice(dims.iter().copied(), &elements).unwrap()
}

#[track_caller]
fn check(graph: &str) {
    let model = parse(graph);
    let inputs =
        [("x", numbers(&[40, 50], 0.5)), ("row", numbers(&[50], 0.25)), ("column", numbers(&[40, 1], 2.0))];
    let expected = run(&model, &inputs, &without_reuse()).unwrap();
    let found = run(&model, &inputs, &EvalOptions::default()).unwrap();
    assert_eq!(found, expected);
    // A second run begins with the same weights.
    assert_eq!(run(&model, &inputs, &EvalOptions::default()).unwrap(), expected);
}

const INPUTS: &str = "float[40,50] x, float[50] row, float[40,1] column";

#[test]
fn results_are_equal_if_operands_are_overwritten() {
    for body in [
        "a = Neg (x) b = Relu (a) c = Exp (b) y = Clip (c)",
        "a = Neg (x) b = Add (a, row) c = Sub (column, b) d = Mul (row, c) y = Div (d, column)",
        // Both operands end here, and one operand twice.
        "a = Neg (x) b = Abs (x) c = Sub (a, b) y = Mul (c, c)",
        "a = Neg (x) b = Abs (x) c = Sub (b, a) d = Max (c, x) e = Neg (c) y = Add (d, e)",
        // Other tensors with the same bytes.
        "a = Neg (x) f = Flatten <axis = 0> (a) b = Abs (a) g = Flatten <axis = 0> (b) y = Sub (f, g)",
        "a = Neg (x) b = Identity (a) c = Abs (a) y = Sub (b, c)",
        "a = Neg (x) s = SequenceConstruct (a, a) b = Abs (a) zero = Constant <value_int = 0> () c = SequenceAt (s, zero) y = Sub (b, c)",
        "a = Neg (x) o = Optional (a) b = Abs (a) c = OptionalGetElement (o) y = Sub (b, c)",
        // A broadcast operand is not overwritten.
        "a = Expand (row, s) b = Neg (row) y = Add (a, b)",
        // Comparisons have results of another type.
        "a = Neg (x) b = Abs (x) c = Greater (a, b) d = Cast <to = 1> (c) y = Add (d, d)",
    ] {
        check(&format!("g ({INPUTS}) => (y) <int64[2] s = {{40, 50}}> {{ {body} }}"));
    }
}

#[test]
fn values_that_something_else_uses_are_not_overwritten() {
    // An output, a weight, a value that a nested graph uses, states of a loop, and arguments of a function.
    check(&format!("g ({INPUTS}) => (a, b, y) {{ a = Neg (x) b = Abs (a) y = Relu (b) }}"));
    let weight: Vec<String> = (0..2000).map(|at| at.to_string()).collect();
    let weight = weight.join(", ");
    check(&format!(
        "g ({INPUTS}) => (y) <float[40,50] w = {{{weight}}}> {{ a = Neg (w) b = Abs (w) y = Add (a, b) }}"
    ));
    check(&format!(
        "g ({INPUTS}) => (y, z) {{
            a = Neg (x)
            t = Constant <value = bool {{1}}> ()
            n = Constant <value_int = 3> ()
            y, z = Loop (n, t, a) <body = b (int64 i, bool c, float[40,50] s) => (bool d, float[40,50] u, float[40,50] v) {{
                d = Identity (c)
                p = Add (s, a)
                q = Exp (row)
                u = Mul (p, q)
                v = Neg (u)
            }}>
        }}"
    ));
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"my\": 1]>
        g (float[40,50] x) => (y) { a = Neg (x) b = my.f (a, a) y = Add (b, x) }
        <domain: \"my\", opset_import: [\"\": 21]>
        f (p, q) => (r) { s = Abs (p) t = Relu (q) r = Sub (s, t) }";
    let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default()).unwrap();
    let inputs = [("x", numbers(&[40, 50], 0.5))];
    let expected = run(&model, &inputs, &without_reuse()).unwrap();
    assert_eq!(run(&model, &inputs, &EvalOptions::default()).unwrap(), expected);
}

#[test]
fn inputs_of_the_caller_are_not_overwritten() {
    let model = parse("g (float[2000] x) => (y) { a = Neg (x) y = Exp (a) }");
    let x = numbers(&[2000], 0.125);
    // A result of a run is an input of the next one, and its memory is that of a vector.
    let made = run(&model, &[("x", x)], &EvalOptions::default()).unwrap();
    let given = made[0].tensor().unwrap().as_ref().clone();
    let copy = given.to_vec::<f32>(&onnx_types::tensor::NoData).unwrap();
    run(&model, &[("x", given.clone())], &EvalOptions::default()).unwrap();
    assert_eq!(given.to_vec::<f32>(&onnx_types::tensor::NoData).unwrap(), copy);
}

#[test]
fn an_overwritten_operand_takes_no_more_memory() {
    let model = parse("g (float[100000] x) => (y) { c = Neg (x) d = Exp (c) y = Add (c, d) }");
    let x = [("x", numbers(&[100_000], 0.0625))];
    // Two of three tensors of 400 kB.
    let limits = Limits::default().with_run_bytes(900_000);
    let expected = run(&model, &x, &without_reuse()).unwrap();
    assert_eq!(run(&model, &x, &EvalOptions::default().with_limits(limits)).unwrap(), expected);
    let failure = run(&model, &x, &without_reuse().with_limits(limits)).unwrap_err();
    assert_eq!(failure.limit(), Some("run_bytes"));
}

#[test]
fn a_failure_names_the_types_of_overwritten_operands() {
    let model = parse(
        "g (int64[2000] x) => (y) { a = Neg (x) b = Add (a, a) c = Sub (b, b) d = Abs (a) y = Div (d, c) }",
    );
    let x = Tensor::vector(&[1_i64; 2000]);
    let failure = run(&model, &[("x", x)], &EvalOptions::default()).unwrap_err();
    assert_eq!(failure.diagnostic().message, "an integer is divided by zero");
    let notes = format!("{:?}", failure.diagnostic().notes);
    assert!(notes.contains("the inputs are int64[2000], int64[2000]"), "{notes}");
}

/// The outputs of the nodes in the order in which they run, and the most memory.
#[derive(Default)]
struct Log(Mutex<(Vec<NodeId>, u64)>);

impl Observer for Log {
    fn end(&self, run: &NodeRun<'_>) {
        let mut log = self.0.lock().unwrap();
        log.0.push(run.node);
        log.1 = log.1.max(run.live_bytes);
    }
}

fn order(graph: &str, inputs: &[(&str, Tensor)]) -> (Vec<String>, u64) {
    let model = parse(graph);
    let log = Log::default();
    run(&model, inputs, &EvalOptions::default().with_observer(&log)).unwrap();
    let (nodes, most) = log.0.into_inner().unwrap();
    let name = |node| {
        let output = model.node(node).output(0).unwrap();
        model.str(model.value(output).name()).to_owned()
    };
    (nodes.into_iter().map(name).collect(), most)
}

#[test]
fn constant_nodes_run_before_their_first_use() {
    let weights =
        "<uint8[4096] p = {1}, uint8[4096] q = {2}, float s = {0.5}, int64[1] n = {4096}, uint8[1] v = {3}>";
    let weights = weights.replace("uint8[4096] p = {1}, uint8[4096] q = {2}, ", "");
    let graph = format!(
        "g (float[4096] x) => (y, unused) {weights} {{
            p = Expand (v, n)
            dp = DequantizeLinear (p, s)
            q = Expand (v, n)
            dq = DequantizeLinear (q, s)
            unused = Neg (s)
            a = Add (x, dp)
            b = Abs (a)
            c = Mul (b, dq)
            y = Add (c, dp)
        }}"
    );
    let (order, most) = order(&graph, &[("x", numbers(&[4096], 1.0))]);
    assert_eq!(order, ["p", "dp", "a", "b", "q", "dq", "c", "y", "unused"]);
    // At most three tensors of 16 kB at one time: `x` or `a`, `dp` and `dq`, and a result.
    assert!(most < 4 * 16_384 + 4096 + 2048, "{most}");
}

#[test]
fn constant_nodes_of_nested_graphs_and_shared_ones_run_once() {
    let graph = "g (bool k, float[2] x) => (y, z) <float[2] w = {1, 2}> {
        a = Neg (w)
        b = Abs (a)
        c = Exp (b)
        z = Neg (x)
        y = If (k) <
            then_branch = t () => (o) { e = Abs (w) o = Add (e, c) },
            else_branch = f () => (r) { r = Add (x, a) }
        >
    }";
    let inputs = [("k", Tensor::scalar(true)), ("x", Tensor::vector(&[1.0_f32, 2.0]))];
    assert_eq!(order(graph, &inputs).0, ["z", "a", "b", "c", "e", "o", "y"]);
}
