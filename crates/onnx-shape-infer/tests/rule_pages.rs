//! The examples on the pages of the rules of inference are tests: *Wrong* raises what its comments say, where they say it,
//! and *Right* raises nothing.
#![forbid(unsafe_code)]
#![allow(clippy::panic, reason = "helpers of tests may fail")]

use onnx_diag::{Rule, Sink};
use onnx_filetest::expect::Finding;
use onnx_filetest::pages::examples_hold;
use onnx_ir::Model;
use onnx_shape_infer::{InferOptions, fault, infer};
use onnx_text::{ParseOptions, parse_model};

fn findings(_: &Rule, text: &str) -> Vec<Finding> {
    let sink = match parse_model(text, &ParseOptions::default()) {
        Ok(model) => inferred(&model, text),
        Err(error) => error.into_findings(),
    };
    sink.diagnostics().iter().map(Finding::new).collect()
}

/// What inference finds, with everything it can be asked for.
fn inferred(model: &Model, text: &str) -> Sink {
    let mut options = InferOptions::default();
    options.check_types = true;
    let inference = infer(model, &options);
    let mut sink = inference.findings().clone();
    // Shapes of inputs are given in the first line.
    if let Some(shapes) = text.lines().next().and_then(|line| line.strip_prefix("# shapes: ")) {
        match onnx_filetest::given::check(model, &inference, shapes) {
            Ok(found) => sink.merge(found),
            Err(error) => panic!("{shapes}: {error}"),
        }
    }
    sink
}

#[test]
fn examples_of_rule_pages_hold() {
    if let Err(report) = examples_hold(fault::RULES.iter().copied(), findings) {
        panic!("\n{report}");
    }
}
