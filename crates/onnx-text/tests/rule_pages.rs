//! The examples on the pages of the parser's rules are tests: *Wrong* raises what its comments say, where they say it, and
//! *Right* raises nothing.
#![forbid(unsafe_code)]
#![allow(clippy::panic, reason = "helpers of tests may fail")]

use onnx_check::{CheckOptions, check};
use onnx_diag::Rule;
use onnx_filetest::expect::Finding;
use onnx_filetest::pages::{examples_hold, pages_are_complete};
use onnx_text::{ParseOptions, parse_model, rules};

/// All diagnostics of the parser for a text, and of the checker if it has no errors.
fn findings(_: &Rule, text: &str) -> Vec<Finding> {
    let sink = match parse_model(text, &ParseOptions::default()) {
        Ok(model) => check(&model, &CheckOptions::default()),
        Err(error) => error.into_findings(),
    };
    sink.diagnostics().iter().map(Finding::new).collect()
}

#[test]
fn examples_of_rule_pages_hold() {
    if let Err(report) = examples_hold(rules::ALL.iter().copied(), findings) {
        panic!("\n{report}");
    }
}

#[test]
fn every_rule_has_a_page() {
    assert_eq!(pages_are_complete(rules::ALL.iter().copied()), Ok(()));
}
