//! Models in other number formats: results are valid, have the expected form, and compute nearly the same.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use onnx_check::{CheckOptions, check};
use onnx_diag::Severity;
use onnx_ir::{Model, NodeId};
use onnx_quantize::{
    GeneratedSamples, MeasureOptions, MeasuredOutput, Method, StaticOptions, StaticReport, calibrate,
    measure_on, quantize_static,
};
use onnx_shape_infer::{InferOptions, infer};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::ElemType;

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
mod runtime_view;
mod scales;
mod staying;
mod weights;

/// The nodes that are called `keep`.
fn kept(model: &Model) -> Vec<NodeId> {
    let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
    nodes.filter(|&node| model.str(model.node(node).name()) == "keep").collect()
}

/// A model that is quantized statically on generated inputs, except for the nodes that are called `keep`, with its report and how its
/// outputs differ.
fn quantized(
    text: &str,
    to: ElemType,
    options: &StaticOptions<'_>,
) -> (Model, StaticReport, Vec<MeasuredOutput>) {
    let source = model(text);
    let except = kept(&source);
    let options = options.clone().with_except(&except);
    let settings = MeasureOptions::default();
    let samples = GeneratedSamples::new(&source, 4, &settings);
    let ranges = calibrate(&source, to, Method::MinMax, &samples, &options).unwrap();
    let mut result = source.clone();
    let report = quantize_static(&mut result, to, &ranges, None, &options).unwrap();
    assert_is_valid(&result);
    let outputs = measure_on(&source, &result, &samples, &settings).unwrap();
    (result, report, outputs)
}

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
