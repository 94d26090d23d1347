//! Every version of every standard operator has a rule, and so has every operator that onnxruntime adds.

use onnx_shape_infer::{contrib, uncovered};

#[test]
fn every_schema_has_a_rule() {
    let without: Vec<String> = uncovered().map(|id| id.schema().to_string()).collect();
    assert!(without.is_empty(), "no rule: {}", without.join(", "));
}

#[test]
fn every_schema_of_onnxruntime_has_a_rule() {
    let without: Vec<String> = contrib::uncovered().map(ToString::to_string).collect();
    assert!(without.is_empty(), "no rule: {}", without.join(", "));
}
