//! The example programs, run on small models.
#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests fail by panicking")]

#[allow(dead_code, unreachable_pub, reason = "`main` is not called, and nothing is exported")]
#[path = "../examples/half_precision.rs"]
mod half_precision;
#[allow(dead_code, unreachable_pub, reason = "`main` is not called, and nothing is exported")]
#[path = "../examples/memory_plan.rs"]
mod memory_plan;
#[allow(dead_code, unreachable_pub, reason = "`main` is not called, and nothing is exported")]
#[path = "../examples/quantize.rs"]
mod quantize;
#[allow(dead_code, unreachable_pub, reason = "`main` is not called, and nothing is exported")]
#[path = "../examples/service.rs"]
mod service;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use onnxkit::codec::{EncodeOptions, encode};
use onnxkit::eval::{EvalOptions, Evaluator};
use onnxkit::ir::Model;
use onnxkit::pass::{FeedOptions, Verdict, feeds};
use onnxkit::schema::op;
use onnxkit::text::{ParseOptions, parse_model};
use onnxkit::types::ElemType;
use onnxkit::types::tensor::NoData;

const ATTENTION: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[B,S,4] x, bool c) => (float[B,S,4] y, float[B,S,S] p) <
    float[4,4] q = {0.5, -0.25, 1, 0.75, -0.5, 0.25, 0.1, 0.3, 0.9, -0.8, 0.4, 0.2, 0.6, -0.1, 0.35, 0.7},
    float[4] scale = {1, 1.5, 0.5, 1}, float[4] bias = {0, 0.1, -0.1, 0.25}
> {
    n = LayerNormalization (x, scale, bias)
    a = MatMul (n, q)
    t = Transpose <perm = [0, 2, 1]> (n)
    s = MatMul (a, t)
    p = Softmax (s)
    o = MatMul (p, n)
    y = If (c) <then_branch = t () => (float[B,S,4] r) { r = Relu (o) },
                else_branch = e () => (float[B,S,4] k) { k = Sigmoid (o) }>
}"#;

fn model(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

/// The greatest difference of the results, in relation to the greatest number.
fn difference(before: &Model, after: &Model) -> f64 {
    after.verify_sorted().unwrap();
    let feeds = feeds(before, &FeedOptions::default()).unwrap();
    let run = |model: &Model| {
        Evaluator::new(model, &EvalOptions::default()).unwrap().run(&feeds.by_name()).unwrap()
    };
    let mut worst = 0.0_f64;
    for (a, b) in run(before).iter().zip(&run(after)) {
        let [a, b] = [a, b].map(|value| value.tensor().unwrap().to_vec::<f32>(&NoData).unwrap());
        let scale = a.iter().fold(f32::MIN_POSITIVE, |scale, number| scale.max(number.abs()));
        assert_eq!(a.len(), b.len());
        worst = a.iter().zip(&b).fold(worst, |worst, (a, b)| worst.max(f64::from((a - b).abs() / scale)));
    }
    worst
}

fn count(model: &Model, op: onnxkit::types::Symbol) -> usize {
    model.all_graphs().flat_map(|graph| model.nodes(graph)).filter(|&node| model.node(node).is(op)).count()
}

#[test]
fn half_precision_changes_operators_and_keeps_the_interface() {
    let before = model(ATTENTION);
    let (after, verdict) = half_precision::half_precision(&before, &NoData).unwrap();
    assert!(matches!(verdict, Verdict::Tested { .. }), "{verdict}");
    let halves = after.initializers(after.main_graph());
    let halves = halves.filter(|&value| after.constant_tensor(value).unwrap().elem() == ElemType::Float16);
    assert_eq!(halves.count(), 3);
    // One cast of `x`, and those of two outputs and of both branches.
    assert_eq!(count(&after, op::CAST), 4);
    let worst = difference(&before, &after);
    assert!(worst > 0.0 && worst < 5e-3, "{worst}");
}

#[test]
fn quantization_is_as_exact_as_8_bits_are() {
    let before = model(
        r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N,2,6,6] x) => (float[N,3] y) <
        float[2,2,3,3] w = {
            0.5, -0.25, 1, 0.75, -0.5, 0.25, 0.1, 0.3, 0.9, 0.4, -0.2, 0.8, 0.7, -0.6, 0.15, 0.05, 0.35, -0.9,
            0.5, 0.25, -1, 0.75, -0.5, 0.25, 0.1, -0.3, 0.9, 0.2, -0.7, 1.5, 0.6, 0.5, 0.3, 0.1, -0.4, 0.8
        }
    > {
        c = Conv (x, w)
        r = Relu (c)
        f = Flatten (r)
        k = Constant <value_floats = [0.3, -0.2, 0.1]> ()
        shape = Constant <value_ints = [32, 3]> ()
        e = Expand (k, shape)
        y = MatMul (f, e)
    }"#,
    );
    let mut after = before.clone();
    assert_eq!(quantize::quantize_model(&mut after, &NoData).unwrap(), 2);
    assert_eq!((count(&after, op::QUANTIZE_LINEAR), count(&after, op::DEQUANTIZE_LINEAR)), (2, 4));
    let worst = difference(&before, &after);
    assert!(worst > 0.0 && worst < 3e-2, "{worst}");
}

#[test]
fn plans_have_a_peak_and_places_that_do_not_overlap() {
    let model = model(
        r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N,4] x) => (float[N,4] y) {
        a = Exp (x)
        b = Concat <axis = 1> (a, a)
        c = Neg (b)
        d, e = Split <axis = 1, num_outputs = 2> (c)
        y = Add (d, e)
    }"#,
    );
    let plan = memory_plan::plan(&model, &NoData).unwrap();
    assert_eq!((plan.peak, plan.unknown), (vec!["64*N".to_owned()], Vec::<String>::new()));
    assert_eq!(plan.sizes, [("N".to_owned(), 2)]);
    assert_eq!(plan.bytes, 160);
    let place = |name| plan.places[&model.find_value(model.main_graph(), name).unwrap()];
    // `c` does not fit into the place of `a`, but `d` does.
    assert_eq!((place("a"), place("b"), place("c"), place("d")), ((0, 32), (32, 64), (96, 64), (0, 32)));
}

#[test]
fn the_service_answers_every_upload() {
    let valid = encode(&model(ATTENTION), &EncodeOptions::default()).unwrap().into_bytes();
    let uploads: Vec<Vec<u8>> = (0..1000)
        .map(|index| match index % 4 {
            0 => b"not a model".to_vec(),
            1 => valid[..valid.len() / 2].to_vec(),
            _ => valid.to_vec(),
        })
        .collect();
    let hour = Duration::from_secs(3600);
    let answers = service::serve(uploads.clone(), hour, 4, &Arc::default());
    let examined = service::Answer::Examined { nodes: 9, errors: Vec::new() };
    let is_examined = |index: &usize| answers[*index] == examined;
    assert_eq!((0..1000).filter(is_examined).collect::<Vec<_>>().len(), 500);
    assert!((0..1000).filter(|index| index % 4 > 1).all(|index| is_examined(&index)));
    assert!(!answers.contains(&service::Answer::Late));
    // Without time, or after the switch, nothing is answered but that.
    for (deadline, stop) in [(Duration::ZERO, false), (hour, true)] {
        let stop = Arc::new(AtomicBool::new(stop));
        let late = service::serve(uploads.clone(), deadline, 4, &stop);
        assert!(late[2] == service::Answer::Late && late[999] == service::Answer::Late);
        assert!(late.iter().all(|answer| !matches!(answer, service::Answer::Examined { .. })));
    }
}
