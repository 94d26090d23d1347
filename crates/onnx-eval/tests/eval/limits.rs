//! Limits hold whatever a loop repeats: kept values, weights of its body, nested values.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use onnx_eval::{EvalOptions, Evaluator, Failure, Value};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Limits;
use onnx_types::tensor::Tensor;

fn run(text: &str, inputs: &[(&str, Tensor)], limits: &Limits) -> Result<Vec<Value>, Failure> {
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let options = EvalOptions::default().with_limits(*limits);
    let inputs: Vec<(&str, Value)> =
        inputs.iter().map(|(name, value)| (*name, value.clone().into())).collect();
    Evaluator::new(&model, &options)?.run(&inputs)
}

fn count(count: i64) -> (&'static str, Tensor) {
    ("n", Tensor::from_slice([], &[count]).unwrap())
}

/// A graph with a loop of `n` iterations.
fn repeated(inputs: &str, results: &str, operands: &str, body: &str, rest: &str) -> String {
    format!(
        r#"<ir_version: 10, opset_import: ["": 18]>
        g (int64 n{inputs}) => ({results}) <bool t = {{1}}> {{
            r = Loop (n, t{operands}) <body = {body}>
            {rest}
        }}"#
    )
}

#[test]
fn values_that_a_loop_collects_are_live() {
    let body = "b (int64 i, bool c) => (bool d, float[K] s) { d = Identity (c) s = Add (x, x) }";
    let text = repeated(", float[K] x", "float[M, K] r", "", body, "");
    let x = ("x", Tensor::from_slice([1000], &[1.0_f32; 1000]).unwrap());
    // 4 kB of each iteration, stacked at the end.
    let limits = Limits { run_bytes: 100_000, ..Limits::default() };
    assert_eq!(
        run(&text, &[count(1_000_000_000), x.clone()], &limits).unwrap_err().limit(),
        Some("run_bytes")
    );
    assert!(run(&text, &[count(10), x], &limits).is_ok());
}

#[test]
fn collected_values_are_released() {
    // Two loops, each of which fits.
    let body = |name| {
        format!("{name} (int64 i, bool c) => (bool d, float[K] s) {{ d = Identity (c) s = Add (x, x) }}")
    };
    let rest = format!("m = ReduceMax (r) q = Loop (n, t) <body = {}> o = ReduceMax (q)", body("b2"));
    let text = repeated(", float[K] x", "float[a,b] m, float[a,b] o", "", &body("b"), &rest);
    let x = ("x", Tensor::from_slice([1000], &[1.0_f32; 1000]).unwrap());
    let limits = Limits { run_bytes: 130_000, ..Limits::default() };
    assert!(run(&text, &[count(12), x], &limits).is_ok());
}

#[test]
fn weights_of_a_repeated_graph_are_work() {
    let weights: String = (0..2000)
        .map(|index| format!("{}int64 k{index} = {{1}}", if index == 0 { "" } else { ", " }))
        .collect();
    let body = format!(
        "b (int64 i, bool c, int64 v) => (bool d, int64 w) <{weights}> {{ d = Identity (c) w = Identity (v) }}"
    );
    let text = repeated(", int64 y", "int64 r", ", y", &body, "");
    let y = ("y", Tensor::from_slice([], &[1_i64]).unwrap());
    let limits = Limits { run_steps: 1_000_000, ..Limits::default() };
    // Without the weights, an iteration is some 200 steps.
    assert_eq!(run(&text, &[count(1000), y.clone()], &limits).unwrap_err().limit(), Some("run_steps"));
    assert!(run(&text, &[count(100), y], &limits).is_ok());
}

#[test]
fn an_optional_is_not_nested() {
    let body = "b (int64 i, bool c, optional(float) v) => (bool d, optional(float) w) { d = Identity (c) w = Optional (v) }";
    let text = repeated(", float x", "bool h", ", x", body, "h = OptionalHasElement (r)");
    let x = ("x", Tensor::from_slice([], &[1.0_f32]).unwrap());
    assert!(run(&text, &[count(1), x.clone()], &Limits::default()).is_ok());
    let failure = run(&text, &[count(1_000_000), x], &Limits::default()).unwrap_err();
    assert!(failure.to_string().contains("optional already"), "{failure}");
}

/// A model with one node, whose operands have no elements.
#[track_caller]
fn fails_by(
    limits: &Limits,
    version: i64,
    graph: &str,
    dims: &[(&'static str, &[i64])],
) -> Option<&'static str> {
    let text = format!(r#"<ir_version: 10, opset_import: ["": {version}]> {graph}"#);
    let empty = |&(name, dims): &(&'static str, &[i64])| {
        let count = dims.iter().product::<i64>() as usize;
        (name, Tensor::from_slice(dims.to_vec(), &vec![1.0_f32; count]).unwrap())
    };
    let inputs: Vec<(&str, Tensor)> = dims.iter().map(empty).collect();
    run(&text, &inputs, limits).unwrap_err().limit()
}

#[test]
fn heads_without_elements_are_work() {
    let short = Limits { run_steps: 10_000, ..Limits::default() };
    for (heads, limits, limit) in
        [(1_i64 << 62, Limits::default(), "run_elements"), (1 << 20, short, "run_steps")]
    {
        let graph = format!(
            "g (float[1,1,0] q, float[1,1,2] k) => (float[a,b,c] y)
            {{ y = Attention <q_num_heads = {heads}, kv_num_heads = 1> (q, k, k) }}"
        );
        let dims: [(&str, &[i64]); 2] = [("q", &[1, 1, 0]), ("k", &[1, 1, 2])];
        assert_eq!(fails_by(&limits, 23, &graph, &dims), Some(limit));
        let graph = format!(
            "g (float[1,0,0] q, float[1,1,0] k) => (float[a,b,c] y)
            {{ y = Attention <q_num_heads = {heads}, kv_num_heads = {heads}> (q, k, k) }}"
        );
        let dims: [(&str, &[i64]); 2] = [("q", &[1, 0, 0]), ("k", &[1, 1, 0])];
        assert_eq!(fails_by(&limits, 23, &graph, &dims), Some(limit));
    }
}

#[test]
fn groups_and_blocks_without_elements_are_work() {
    let groups = "g (float[1,0,1] x, float[0,0,1] w) => (float[a,b,c] y)
        { y = ConvTranspose <group = 4611686018427387904> (x, w) }";
    let dims: [(&str, &[i64]); 2] = [("x", &[1, 0, 1]), ("w", &[0, 0, 1])];
    assert_eq!(fails_by(&Limits::default(), 18, groups, &dims), Some("run_elements"));
    let blocks =
        "g (float[1,0,8,8] x) => (float[a,b,c,d] y) { y = DepthToSpace <blocksize = 4294967295> (x) }";
    let dims: [(&str, &[i64]); 1] = [("x", &[1, 0, 8, 8])];
    assert_eq!(fails_by(&Limits::default(), 18, blocks, &dims), Some("run_elements"));
}
