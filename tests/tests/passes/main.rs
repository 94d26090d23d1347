//! Passes over generated models: edits that are correct by construction are never refuted.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod fixed_point;
mod inference;

use onnx_ir::{Model, NodeId};
use onnx_pass::passes::{Report, unique_subexpressions};
use onnx_pass::{Exactness, Level, PassCx, PassOptions};
use onnx_schema::Registry;
use onnx_tests::conformance::data::Data;
use onnx_tests::conformance::runner::{Options, run as run_suite};
use onnx_tests::conformance::suites::simplify::SimplifySuite;

/// The edits and the refusals of a pass on a generated model, which must be in order afterwards.
fn run(seed: u64, pass: impl FnOnce(&mut PassCx<'_>) -> Report) -> (usize, usize) {
    let mut model = onnx_smith::from_seed(seed, &onnx_smith::SmithOptions::default()).model;
    let mut cx = PassCx::new(&mut model, PassOptions::default().with_untested(true));
    let report = pass(&mut cx);
    drop(cx);
    assert_eq!(model.verify_sorted(), Ok(()), "seed {seed}");
    let refuted: Vec<String> = report
        .refusals
        .iter()
        .filter(|refusal| refusal.level != Level::Structure)
        .map(ToString::to_string)
        .collect();
    assert_eq!(refuted, Vec::<String>::new(), "seed {seed}");
    (report.edits, report.refusals.len())
}

#[test]
fn calls_of_generated_models_are_inlined() {
    let mut edits = 0;
    for seed in 0..200 {
        let is_call =
            |model: &Model, node: NodeId| model.callee(node, Registry::STANDARD).function().is_some();
        let (done, _) = run(seed, |cx| {
            cx.rewrite_nodes("inline", Exactness::Exact, is_call, |patch, node| patch.inline_call(node))
        });
        edits += done;
    }
    println!("{edits} calls inlined");
    assert!(edits > 40, "{edits}");
}

#[test]
fn neighbours_of_generated_models_become_functions() {
    let (mut edits, mut refused) = (0, 0);
    for seed in 0..120 {
        let (done, not_done) = run(seed, |cx| {
            let mut count = 0;
            let is_pair = |model: &Model, node: NodeId| {
                model.graph(model.main_graph()).node_count() < 60 && model.input_producer(node, 0).is_some()
            };
            cx.rewrite_nodes("outline", Exactness::Exact, is_pair, |patch, node| {
                count += 1;
                let producer = patch.model().input_producer(node, 0).ok_or("it has no producer")?;
                patch.outline(&[producer, node], "outlined", &format!("f{count}")).map(|_| ())
            })
        });
        edits += done;
        refused += not_done;
    }
    println!("{edits} pairs outlined, {refused} refused");
    assert!(edits > 40, "{edits}");
}

#[test]
fn equal_nodes_of_generated_models_are_merged() {
    let mut edits = 0;
    for seed in 0..200 {
        edits += run(seed, unique_subexpressions).0;
    }
    println!("{edits} nodes merged");
    assert!(edits > 2, "{edits}");
}

#[test]
fn simplification_preserves_what_models_compute() {
    let data = Data { count: Some(40), ..Data::default() };
    let options = Options { jobs: 2, only: None };
    let report = run_suite(&SimplifySuite::default(), &data, &options).unwrap();
    assert_eq!(report.unexplained(), Ok(0), "{}", report.listing(10));
    // Models that nothing edits would prove nothing.
    assert!(report.count("recorded runs equal") >= 120, "{}", report.count("recorded runs equal"));
    assert!(report.count("probes with the listed nodes") >= 58);
    assert!(report.count("edits tested") > 100, "{}", report.count("edits tested"));
}
