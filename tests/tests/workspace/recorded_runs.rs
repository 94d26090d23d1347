//! The evaluator computes what onnxruntime or numpy computed, as recorded by `tests/conformance/runs.py`: operators without
//! official tests, element types other than `float`, and operators of `com.microsoft`.

use std::path::Path;

use onnx_tests::conformance::data::Data;
use onnx_tests::conformance::runner::Suite as _;
use onnx_tests::conformance::suites::backend::BackendSuite;

/// Where the evaluator differs, and why it is right.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "ai.onnx.ml/forest_average",
        "the text adds base values to every target, onnxruntime to those with a vote",
    ),
    ("ai.onnx.ml/forest_max", "the text adds base values to every target, onnxruntime to those with a vote"),
    ("ai.onnx.ml/forest_min", "the text adds base values to every target, onnxruntime to those with a vote"),
    ("ai.onnx.ml/forest_neq", "a missing value takes the false branch by default, also at `BRANCH_NEQ`"),
    ("ai.onnx.ml/forest_sum", "the text adds base values to every target, onnxruntime to those with a vote"),
    (
        "com.microsoft/qleaky_int8",
        "onnxruntime rounds the number before it is quantized, to a code that is not the nearest",
    ),
    (
        "com.microsoft/qleaky_uint8",
        "onnxruntime rounds the number before it is quantized, to a code that is not the nearest",
    ),
    (
        "onnx/ln_float16",
        "the first stage is rounded to the type of the data, as in the function body; onnxruntime stays in `float`",
    ),
];

#[test]
fn the_evaluator_computes_what_was_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/runs.tar.zst");
    let suite = BackendSuite::default();
    let mut cases = Vec::new();
    let data = Data { backend: Some(path), ..Data::default() };
    suite
        .cases(&data, &mut |case| {
            cases.push(case);
            Ok(())
        })
        .unwrap();
    assert!(cases.len() > 500, "only {} cases are recorded", cases.len());
    let (mut wrong, mut different) = (Vec::new(), Vec::new());
    for case in &cases {
        let outcome = suite.check(case);
        let is_missing = outcome.counts.iter().any(|count| count == "missing");
        match outcome.failures.first() {
            None if !is_missing => {}
            Some(failure)
                if failure.kind == "different" && DIFFERENT.iter().any(|(id, _)| *id == case.id) =>
            {
                different.push(case.id.as_str());
            }
            _ => wrong.push(format!("{}: {:?} {:?}", case.id, outcome.failures, outcome.remarks)),
        }
    }
    different.sort_unstable();
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(different, DIFFERENT.iter().map(|(id, _)| *id).collect::<Vec<_>>());
}
