//! Every version of every standard operator has a rule.

use onnx_shape_infer::uncovered;

#[test]
fn every_schema_has_a_rule() {
    let without: Vec<String> = uncovered().map(|id| id.schema().to_string()).collect();
    assert!(without.is_empty(), "no rule: {}", without.join(", "));
}
