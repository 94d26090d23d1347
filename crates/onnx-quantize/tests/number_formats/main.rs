//! Models in other number formats: results are valid, have the expected form, and compute nearly the same.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use onnx_check::{CheckOptions, check};
use onnx_diag::Severity;
use onnx_ir::Model;
use onnx_shape_infer::{InferOptions, infer};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

mod activations;
mod constants;
mod counts;
mod expanded;
mod forms;
mod fusible;
mod generated;
mod held;
mod inputs;
mod interrupts;
mod narrow;
mod precision;
mod public_reports;
mod staying;
mod weights;

fn model(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

fn text_of(model: &Model) -> String {
    print_model(model, &PrintOptions::full()).unwrap().text
}

/// The messages of the errors of a model, with all types inferred.
fn errors(model: &Model) -> Vec<String> {
    let checked = check(model, &CheckOptions::default());
    let inferred = infer(model, &InferOptions::default().with_check_types(true));
    let all = checked.diagnostics().iter().chain(inferred.findings().diagnostics());
    all.filter(|found| found.severity == Severity::Error).map(|found| found.message.clone()).collect()
}

#[track_caller]
fn assert_is_valid(model: &Model) {
    model.verify().unwrap();
    let errors = errors(model);
    assert!(errors.is_empty(), "{errors:?}\n{}", text_of(model));
}
