//! Rules of all kinds of defects, and right ones next to them: what the test of a rule says about each.

use onnx_rewrite::{ExamineOptions, Examined, RuleSet, examine};

const WRONG: &str = include_str!("corpus/wrong.onnxrules");
const RIGHT: &str = include_str!("corpus/right.onnxrules");

/// The results of testing the rules of a file as `onnx check --prove` does, or less thoroughly.
fn examined(text: &str) -> Vec<Examined> {
    let rules = RuleSet::parse(text).unwrap();
    examine(&rules, &ExamineOptions::default().with_edits(40).with_attempts(1200))
}

/// No wrong rule is fine: it is refuted, or reported as not tested.
#[test]
fn no_wrong_rule_is_accepted() {
    let results = examined(WRONG);
    assert!(results.len() >= 60, "{}", results.len());
    let accepted: Vec<&str> =
        results.iter().filter(|result| result.is_fine()).map(|result| result.rule.as_str()).collect();
    assert!(accepted.is_empty(), "{accepted:?}");
    let refuted = results.iter().filter(|result| !result.failures.is_empty()).count();
    assert!(refuted * 10 >= results.len() * 9, "only {refuted} of {} are refuted", results.len());
}

#[test]
fn no_right_rule_is_refuted() {
    let results = examined(RIGHT);
    assert!(results.len() >= 30, "{}", results.len());
    for result in results {
        assert!(result.failures.is_empty(), "{result:#?}");
    }
}
