//! The pages of the rules of decoding. Their examples are bytes, which are tested where they are decoded.
#![forbid(unsafe_code)]

use onnx_filetest::pages::{examples, pages_are_complete};

#[test]
fn every_rule_has_a_page() {
    let rules = || onnx_codec::rules::ALL.iter().copied();
    assert_eq!(pages_are_complete(rules()), Ok(()));
    // A text cannot contain what these rules report.
    assert!(rules().all(|rule| examples(rule.explain).is_empty()));
}
