//! Runs of models: control flow, functions, limits and failures.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use onnx_eval::{EvalOptions, EvalPack, Evaluator, Failure, FailureKind, Value, run_node};
use onnx_ir::Model;
use onnx_schema::{Pack, Registry};
use onnx_types::tensor::{NoData, Payload, Tensor};
use onnx_types::{Execution, Interrupt, Limits};

fn parse(text: &str) -> Model {
    onnx_text::parse_model(text, &onnx_text::ParseOptions::default()).unwrap()
}

fn in_main(graph: &str) -> Model {
    parse(&format!("<ir_version: 10, opset_import: [\"\": 21, \"my\": 1]>\n{graph}"))
}

fn run_with(
    model: &Model,
    inputs: &[(&str, Tensor)],
    options: &EvalOptions<'_>,
) -> Result<Vec<Value>, Failure> {
    let inputs: Vec<_> = inputs.iter().map(|(name, tensor)| (*name, Value::from(tensor.clone()))).collect();
    Evaluator::new(model, options)?.run(&inputs)
}

/// Runs a model and compares its first output, whose elements are integers or floats, with the expected numbers.
#[track_caller]
fn check(graph: &str, inputs: &[(&str, Tensor)], dims: &[i64], expected: &[f64]) {
    let model = in_main(graph);
    let outputs = run_with(&model, inputs, &EvalOptions::default()).unwrap_or_else(|failure| {
        panic!("{failure} {:?}", failure.diagnostic().notes);
    });
    let tensor = outputs[0].tensor().unwrap();
    assert_eq!(tensor.dims(), dims);
    let found: Vec<f64> = tensor.iter_f64(&NoData).unwrap().collect();
    assert_eq!(found, expected);
}

/// The failure of a run.
#[track_caller]
fn fails(model: &Model, inputs: &[(&str, Tensor)], options: &EvalOptions<'_>, kind: FailureKind) -> String {
    let failure = run_with(model, inputs, options).unwrap_err();
    assert_eq!(failure.kind(), kind, "{failure}");
    failure.diagnostic().message.clone()
}

#[test]
fn branches_capture_values_around_them() {
    let graph = "g (bool c, float[2] x) => (float[2] y) {
        two = Constant <value_float = 2.0> ()
        y = If (c) <
            then_branch = t () => (float[2] a) { a = Mul (x, two) },
            else_branch = e () => (float[2] b) { b = Neg (x) }
        >
    }";
    let x = || Tensor::vector(&[1.0_f32, -3.0]);
    check(graph, &[("c", Tensor::scalar(true)), ("x", x())], &[2], &[2.0, -6.0]);
    check(graph, &[("c", Tensor::scalar(false)), ("x", x())], &[2], &[-1.0, 3.0]);
}

const LOOP: &str = "g (int64 n, int64 start) => (int64[n] scan, int64 last) {
    go = Constant <value = bool {1}> ()
    last, scan = Loop (n, go, start) <body = b (int64 i, bool c, int64 s) => (bool d, int64 t, int64 o) {
        d = Identity (c)
        t = Add (s, i)
        o = Mul (t, t)
    }>
}";

#[test]
fn loops_stack_what_each_iteration_gives() {
    let inputs = |n: i64| [("n", Tensor::scalar(n)), ("start", Tensor::scalar(1_i64))];
    check(LOOP, &inputs(4), &[4], &[1.0, 4.0, 16.0, 49.0]);
    // No iteration: the initial state, and no slices.
    check(LOOP, &inputs(0), &[0], &[]);
    check(LOOP, &inputs(-1), &[0], &[]);
}

#[test]
fn scans_run_in_both_directions() {
    let graph = "g (float[2, 3] x) => (float[3, 2] y) {
        zero = Constant <value = float[2] {0, 0}> ()
        last, y = Scan (zero, x) <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], body =
            b (float[2] s, float[2] e) => (float[2] t, float[2] o) {
                t = Add (s, e)
                o = Identity (t)
            }
        >
    }";
    let x = Tensor::from_slice([2, 3], &[1.0_f32, 2.0, 3.0, 10.0, 20.0, 30.0]).unwrap();
    check(graph, &[("x", x)], &[3, 2], &[3.0, 30.0, 5.0, 50.0, 6.0, 60.0]);
}

#[test]
fn functions_take_attributes_and_defaults() {
    let text = |call: &str| {
        format!(
            "g (float[1] x) => (float[1] y) {{ y = {call} }}
            <domain: \"my\", opset_import: [\"\": 21]> Scale <factor: float = 3.0> (a) => (b) {{
                f = Constant <value_float: float = @factor> ()
                b = Mul (a, f)
            }}
            <domain: \"my\", opset_import: [\"\": 21, \"my\": 1]> Outer <by> (a) => (b) {{
                b = my.Scale <factor: float = @by> (a)
            }}"
        )
    };
    let x = || [("x", Tensor::vector(&[2.0_f32]))];
    check(&text("my.Scale <factor = 5.0> (x)"), &x(), &[1], &[10.0]);
    check(&text("my.Scale (x)"), &x(), &[1], &[6.0]);
    check(&text("my.Outer <by = 7.0> (x)"), &x(), &[1], &[14.0]);
}

#[test]
fn functions_may_be_called_without_an_optional_input() {
    let graph = "g (float[2] x) => (float[2] y) { y = my.F (x) }
        <domain: \"my\", opset_import: [\"\": 21]> F (a, low) => (b) { b = Clip (a, low) }";
    check(graph, &[("x", Tensor::vector(&[-1.0_f32, 2.0]))], &[2], &[-1.0, 2.0]);
}

#[test]
fn a_function_that_calls_itself_is_a_cycle() {
    let functions = [
        "<domain: \"my\", opset_import: [\"\": 21, \"my\": 1]> F (a) => (b) { b = my.F (a) }",
        "<domain: \"my\", opset_import: [\"\": 21, \"my\": 1]> F (a) => (b) { b = my.G (a) }
        <domain: \"my\", opset_import: [\"\": 21, \"my\": 1]> G (a) => (b) {
            c = Constant <value = bool {1}> ()
            b = If (c) <then_branch = t () => (d) { d = my.F (a) }, else_branch = e () => (f) { f = Neg (a) }>
        }",
    ];
    for (functions, name) in functions.into_iter().zip(["F", "F"]) {
        let model = in_main(&format!("g (float x) => (float y) {{ y = my.F (x) }} {functions}"));
        let inputs = [("x", Tensor::scalar(1.0_f32))];
        let failure = run_with(&model, &inputs, &EvalOptions::default()).unwrap_err();
        assert_eq!((failure.kind(), failure.diagnostic().rule.code), (FailureKind::Model, 5007));
        let expected = format!("the function `{name}` calls itself, directly or through others");
        assert_eq!(failure.diagnostic().message, expected);
    }
}

/// A function that chooses one of two graphs of its call.
const CHOOSE: &str = "
    <domain: \"my\", opset_import: [\"\": 21, \"my\": 1]> Choose <yes, no> (c) => (r) {
        r = If (c) <then_branch: graph = @yes, else_branch: graph = @no>
    }
    <domain: \"my\", opset_import: [\"\": 21, \"my\": 1]> Not <yes, no> (c, s) => (r) {
        n = Not (c)
        t = my.Choose <yes: graph = @no, no: graph = @yes> (c)
        u = my.Choose <yes: graph = inner () => (v) { v = Mul (s, s) }, no: graph = @no> (n)
        r = Add (t, u)
    }";

#[test]
fn functions_run_graphs_of_their_calls() {
    let run = |body: &str, c: bool, expected: [f64; 2]| {
        let graph = format!("g (bool c, float[2] x) => (float[2] y) {{ {body} }} {CHOOSE}");
        let x = Tensor::vector(&[1.0_f32, -3.0]);
        check(&graph, &[("c", Tensor::scalar(c)), ("x", x)], &[2], &expected);
    };
    // The graphs use values around the call, and their nodes other ones than those of the function.
    let direct = "two = Constant <value_float = 2.0> ()
        y = my.Choose <yes: graph = t () => (a) { m = Mul (x, two) a = Add (m, two) },
                       no: graph = e () => (b) { b = Neg (x) }> (c)";
    run(direct, true, [4.0, -4.0]);
    run(direct, false, [-1.0, 3.0]);
    // References are passed on, and a graph of a function uses the values of the function.
    let passed = "y = my.Not <yes: graph = t () => (a) { a = Abs (x) }, no: graph = e () => (b) { b = Neg (x) }> (c, x)";
    run(passed, true, [-2.0, 6.0]);
    run(passed, false, [2.0, 12.0]);
    // A graph of a call calls the function again.
    let nested = "y = my.Choose <
            yes: graph = t () => (a) {
                a = my.Choose <yes: graph = t2 () => (p) { p = Add (x, x) }, no: graph = e2 () => (q) { q = Neg (x) }> (c)
            },
            no: graph = e () => (b) { b = Identity (x) }> (c)";
    run(nested, true, [2.0, -6.0]);
    run(nested, false, [1.0, -3.0]);
}

#[test]
fn loops_take_their_body_from_the_call() {
    let graph = "g (float x, int64 n) => (float y) {
            t = Constant <value = bool {1}> ()
            y = my.Repeat <body: graph = b (int64 i, bool c, float s) => (bool d, float r) {
                d = Identity (c)
                r = Add (s, x)
            }> (n, t, x)
        }
        <domain: \"my\", opset_import: [\"\": 21]> Repeat <body> (n, c, s) => (r) {
            r = Loop <body: graph = @body> (n, c, s)
        }";
    check(graph, &[("x", Tensor::scalar(2.0_f32)), ("n", Tensor::scalar(3_i64))], &[], &[8.0]);
}

#[test]
fn nodes_in_any_order_run_and_cycles_fail() {
    check(
        "g (float x) => (float z) {
            z = Neg (y)
            y = Abs (x)
        }",
        &[("x", Tensor::scalar(-2.0_f32))],
        &[],
        &[-2.0],
    );
    let model = in_main(
        "g (float x) => (float z) {
        z = Add (x, y)
        y = Neg (z)
    }",
    );
    let message =
        fails(&model, &[("x", Tensor::scalar(1.0_f32))], &EvalOptions::default(), FailureKind::Model);
    assert_eq!(message, "nodes need each other's outputs: #0 Add <- #1 Neg <- #0 Add");
}

#[test]
fn repeated_elements_cost_nothing_until_they_are_read() {
    let graph = "g (int64[2] shape) => (int64[2] s) {
        x = ConstantOfShape (shape)
        y = Identity (x)
        s = Shape (y)
    }";
    let model = in_main(graph);
    let limits = Limits { run_bytes: 1000, ..Limits::default() };
    let shape = [("shape", Tensor::vector(&[30_000_i64, 30_000]))];
    let outputs = run_with(&model, &shape, &EvalOptions::default().with_limits(limits)).unwrap();
    assert_eq!(outputs[0].tensor().unwrap().to_vec::<i64>(&NoData).unwrap(), [30_000, 30_000]);
}

#[test]
fn exhausted_memory_is_not_a_limit() {
    let graph = "g () => (float[N, M] y) {
        shape = Constant <value_ints = [1099511627776, 1024]> ()
        x = ConstantOfShape (shape)
        y = Neg (x)
    }";
    // 4 PiB, which no system provides.
    let limits =
        Limits::default().with_run_elements(u64::MAX).with_run_bytes(u64::MAX).with_run_steps(u64::MAX);
    let limits = Limits { splat_bytes: u64::MAX, ..limits };
    let options = EvalOptions::default().with_limits(limits);
    let message = fails(&in_main(graph), &[], &options, FailureKind::Memory);
    assert!(!message.contains("raise the limit"), "{message}");
}

#[test]
fn limits_hold() {
    let check = |graph: &str, limits: Limits, name: &str| {
        let model = in_main(graph);
        let message = fails(&model, &[], &EvalOptions::default().with_limits(limits), FailureKind::Limit);
        assert_eq!(message, format!("the run costs too much: raise the limit `{name}` to allow it"));
    };
    let filled = "g () => (float[N, M] y) {
        shape = Constant <value_ints = [1000, 1000]> ()
        x = ConstantOfShape (shape)
        y = Neg (x)
    }";
    check(filled, Limits { run_elements: 999_999, ..Limits::default() }, "run_elements");
    check(filled, Limits { run_bytes: 3_999_999, ..Limits::default() }, "run_bytes");
    check(filled, Limits { run_steps: 999_999, ..Limits::default() }, "run_steps");
    let huge = "g () => (float[N, M] y) {
        shape = Constant <value_ints = [4611686018427387904, 4]> ()
        y = ConstantOfShape (shape)
    }";
    check(huge, Limits::default(), "run_elements");
    let endless = "g () => (int64 y) {
        zero = Constant <value_int = 0> ()
        y = Loop (, , zero) <body = b (int64 i, bool c, int64 s) => (bool d, int64 t) {
            d = Identity (c)
            t = Identity (s)
        }>
    }";
    check(endless, Limits { run_steps: 1_000_000, ..Limits::default() }, "run_steps");
}

#[test]
fn a_run_can_be_cancelled() {
    let model = in_main("g (float x) => (float y) { y = Neg (x) }");
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let options = EvalOptions::default().with_execution(Execution::default().with_interrupt(interrupt));
    fails(&model, &[("x", Tensor::scalar(1.0_f32))], &options, FailureKind::Stopped);
}

#[test]
fn inputs_are_compared_with_their_declarations() {
    let model = in_main("g (float[2, N] x) => (float[2, N] y) { y = Neg (x) }");
    let of = |dims: &[i64]| Tensor::splat(dims.iter().copied(), 1.0_f32).unwrap();
    let check = |inputs: &[(&str, Tensor)], message: &str| {
        assert_eq!(fails(&model, inputs, &EvalOptions::default(), FailureKind::Input), message);
    };
    check(&[], "input `x` has no value");
    check(&[("z", of(&[2, 2]))], "the model has no input `z`");
    check(&[("x", of(&[2]))], "input `x`: declared with rank 2, given with rank 1");
    check(&[("x", of(&[3, 2]))], "input `x`: axis 0 is declared with size 2, given with 3");
    check(&[("x", Tensor::vector(&[1_i64]))], "input `x`: declared as a tensor of float, given one of int64");
}

#[test]
fn sizes_are_vectors() {
    for node in ["ConstantOfShape (s)", "Reshape (x, s)", "Expand (x, s)", "Tile (x, s)"] {
        for dims in [vec![], vec![1_i64, 1]] {
            let text = format!("g (float[1] x, int64{dims:?} s) => (float[N] y) {{ y = {node} }}");
            let text = text.replace("int64[]", "int64");
            let size = Tensor::from_slice(dims.clone(), &[1_i64]).unwrap();
            let inputs = [("x", Tensor::vector(&[1.0_f32])), ("s", size)];
            let message = fails(&in_main(&text), &inputs, &EvalOptions::default(), FailureKind::Operator);
            assert!(
                message.ends_with(&format!("has rank {}, and must have rank 1", dims.len())),
                "{message}"
            );
        }
    }
}

#[test]
fn failures_name_the_node_and_its_operands() {
    let model = in_main("g (float[2] x, float[3] y) => (float[2] z) { z = Add (x, y) }");
    let inputs = [("x", Tensor::vector(&[1.0_f32; 2])), ("y", Tensor::vector(&[1.0_f32; 3]))];
    let failure = run_with(&model, &inputs, &EvalOptions::default()).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "graph \"g\" / node #0 Add: sizes 2 and 3 of [[2], [3]] do not broadcast"
    );
    assert_eq!(failure.diagnostic().notes, ["the inputs are float[2], float[3]"]);
    let model = in_main(
        "g (float[2,3] x, int64[2] shape) => (float[N, M] y) { y = Reshape <allowzero = 1> (x, shape) }",
    );
    let shape = Tensor::vector(&[4_i64, -7]);
    let inputs = [("x", Tensor::from_slice([2, 3], &[0.0_f32; 6]).unwrap()), ("shape", shape)];
    let failure = run_with(&model, &inputs, &EvalOptions::default()).unwrap_err();
    let notes = ["the inputs are float[2,3], int64[2] {4, -7}", "the attributes are `allowzero` = 1"];
    assert_eq!(failure.diagnostic().notes, notes);
    assert_eq!(failure.node(), model.nodes(model.main_graph()).next());
}

#[test]
fn missing_kernels_are_no_failures_of_operators() {
    let model = in_main("g (float[2] x) => (float[2] y) { y = my.Twice (x) }");
    let inputs = [("x", Tensor::vector(&[1.0_f32, 2.0]))];
    fails(&model, &inputs, &EvalOptions::default(), FailureKind::Missing);
    let missing: Vec<String> = without_kernel(&model, &EvalOptions::default());
    assert_eq!(missing, ["no kernel computes `my.Twice` (version 1 of the operator set)"]);
    let pack = Pack::new().with_kernel("my", "Twice", |cx| {
        let x = cx.tensor(0)?;
        let doubled: Vec<f32> = cx.read::<f32>(&x)?.iter().map(|x| x + x).collect();
        cx.put(0, x.elem, &x.dims, doubled)
    });
    let registry = Registry::standard().with(pack).unwrap();
    let options = EvalOptions::default().with_registry(&registry);
    let outputs = run_with(&model, &inputs, &options).unwrap();
    assert_eq!(outputs[0].tensor().unwrap().to_vec::<f32>(&NoData).unwrap(), [2.0, 4.0]);
    assert!(without_kernel(&model, &options).is_empty());
}

#[test]
fn missing_kernels_are_found_in_nested_graphs_and_called_functions() {
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"f\": 1, \"my\": 1]>
        g (bool c, float[2] x) => (float[2] y) {
            y = If (c) <
                then_branch = t () => (float[2] a) { a = my.One (x) },
                else_branch = e () => (float[2] b) { b = f.Called (x) }
            >
        }
        <domain: \"f\", opset_import: [\"my\": 1]> Called (x) => (y) { y = my.Two (x) }
        <domain: \"f\", opset_import: [\"my\": 1]> Unused (x) => (y) { y = my.Three (x) }";
    let model = parse(text);
    let mut missing = without_kernel(&model, &EvalOptions::default());
    missing.sort();
    assert_eq!(
        missing,
        [
            "no kernel computes `my.One` (version 1 of the operator set)",
            "no kernel computes `my.Two` (version 1 of the operator set)"
        ]
    );
}

fn without_kernel(model: &Model, options: &EvalOptions<'_>) -> Vec<String> {
    Evaluator::new(model, options).unwrap().without_kernel().map(|(_, message)| message).collect()
}

#[test]
fn a_single_node_runs_with_constants_around_it() {
    let model = in_main(
        "g (bool c) => (float[2] y) <float[2] w = {1, 2}> {
            y = If (c) <
                then_branch = t () => (float[2] a) { a = Neg (w) },
                else_branch = e () => (float[2] b) { b = Identity (w) }
            >
        }",
    );
    let node = model.nodes(model.main_graph()).next().unwrap();
    let outputs =
        run_node(&model, node, &[Some(Tensor::vector(&[true]).into())], &EvalOptions::default()).unwrap();
    let y = outputs[0].as_ref().and_then(Value::tensor).unwrap();
    assert_eq!(y.to_vec::<f32>(&NoData).unwrap(), [-1.0, -2.0]);
    assert!(matches!(y.payload(), Payload::Raw(_)));
}

#[test]
fn integers_wrap_and_narrow_floats_are_rounded_once() {
    check(
        "g () => (int8 z) {
        x = Constant <value = int8 {100}> ()
        z = Add (x, x)
    }",
        &[],
        &[],
        &[-56.0],
    );
    // 2048 + 1 is a tie between 2048 and 2050 in float16, and goes to the even one. The texts have the bits of the numbers.
    check(
        "g () => (float16 z) {
        x = Constant <value = float16 {26624}> ()
        y = Constant <value = float16 {15360}> ()
        z = Add (x, y)
    }",
        &[],
        &[],
        &[2048.0],
    );
    // The sum of the fraction bits below the tie decides: 1 + 2^-11 + 2^-30 is above it.
    check(
        "g (double x) => (float16 z) { z = Cast <to = 10> (x) }",
        &[("x", Tensor::scalar(1.0 + 2.0_f64.powi(-11) + 2.0_f64.powi(-30)))],
        &[],
        &[1.0 + 2.0_f64.powi(-10)],
    );
}

#[test]
fn a_scan_output_of_no_iteration_has_a_declared_type() {
    let graph = |outputs: &str, inner: &str| {
        in_main(&format!(
            "g (int64 n, float[2] x) => ({outputs}) {{
                go = Constant <value = bool {{1}}> ()
                scan = Loop (n, go) <body = b (int64 i, bool c) => (bool d, {inner}) {{
                    d = Identity (c)
                    o = Neg (x)
                }}>
            }}"
        ))
    };
    let dims = |model: &Model| {
        let inputs = [("n", Tensor::scalar(0_i64)), ("x", Tensor::vector(&[1.0_f32, 2.0]))];
        let outputs = run_with(model, &inputs, &EvalOptions::default())?;
        let scan = outputs[0].tensor().unwrap();
        Ok::<_, Failure>((scan.elem(), scan.dims().to_vec()))
    };
    let float = onnx_types::ElemType::Float;
    // Of the body, of the `Loop`, of the `Loop` without sizes, and of neither.
    assert_eq!(dims(&graph("scan", "float[2] o")).unwrap(), (float, vec![0, 2]));
    assert_eq!(dims(&graph("float[N, 2] scan", "o")).unwrap(), (float, vec![0, 2]));
    assert_eq!(dims(&graph("float[N, M] scan", "o")).unwrap(), (float, vec![0, 0]));
    assert_eq!(dims(&graph("scan", "o")).unwrap_err().kind(), FailureKind::Missing);
}

#[test]
fn inputs_that_are_no_valid_tensors_are_refused() {
    let model = in_main("g (float[a,b,c] x) => (float[a,b,c] y) { y = Identity (x) }");
    let tensor = |dims: [i64; 3], bytes: usize| {
        let payload = Payload::Raw(vec![0; bytes].into());
        Tensor::from_parts(onnx_types::ElemType::Float.code(), dims.into_iter().collect(), payload)
    };
    let options = EvalOptions::default();
    // The product exceeds the range before the zero ends it.
    let message = fails(&model, &[("x", tensor([4, i64::MAX, 0], 0))], &options, FailureKind::Input);
    assert!(message.contains("more elements than 64 bits"), "{message}");
    let message = fails(&model, &[("x", tensor([1, 1, 2], 4))], &options, FailureKind::Input);
    assert!(message.contains("8 bytes"), "{message}");
    assert!(run_with(&model, &[("x", tensor([0, 5, 4], 0))], &options).is_ok());
}

/// What each graph receives, by the names of its inputs.
struct Entered<'m>(&'m Model, std::sync::Mutex<Vec<String>>);

impl onnx_eval::Observer for Entered<'_> {
    fn enter(&self, inputs: &[onnx_ir::ValueId], values: &[Option<Value>]) {
        let named = inputs.iter().zip(values).map(|(&input, value)| {
            let value = value
                .as_ref()
                .map(|value| value.tensor().unwrap().to_vec::<i64>(&NoData).unwrap_or_default());
            format!("{} {value:?}", self.0.str(self.0.value(input).name()))
        });
        self.1.lock().unwrap().push(named.collect::<Vec<_>>().join(", "));
    }
}

#[test]
fn observers_see_what_graphs_receive() {
    let model = in_main(
        r#"g (int64[1] x) => (y) <int64 n = {2}> {
            y = Loop (n, , x) <body = b (int64 i, bool c, int64[1] s) => (bool d, int64[1] t) {
                d = Identity (c)
                t = my.f (s)
            }>
        }
        <domain: "my", opset_import: ["": 21]> f (p, q) => (r) { r = Add (p, p) }"#,
    );
    let entered = Entered(&model, std::sync::Mutex::default());
    let x = [("x", Tensor::vector(&[3_i64]))];
    run_with(&model, &x, &EvalOptions::default().with_observer(&entered)).unwrap();
    let calls = ["x Some([3])", "i Some([0]), c Some([]), s Some([3])", "p Some([3]), q None"];
    let found = entered.1.into_inner().unwrap();
    assert_eq!(found[..3], calls);
    assert_eq!(found[3..], ["i Some([1]), c Some([]), s Some([6])", "p Some([6]), q None"]);
}
