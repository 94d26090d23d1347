//! The examples on the pages of rules are tests: *Wrong* raises what its comments say, where they say it, and *Right*
//! raises nothing.
#![forbid(unsafe_code)]
#![allow(clippy::panic, reason = "helpers of tests may fail")]

use onnx_check::{CheckOptions, ExternalFiles, RULES, check};
use onnx_diag::{Rule, Sink};
use onnx_filetest::expect::Finding;
use onnx_filetest::pages::{examples, examples_hold, pages_are_complete};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::tensor::MemoryData;

/// The rules that are heard when recommendations are asked for.
const RECOMMENDATIONS: &[&str] = &[
    "metadata-key-not-reverse-dns",
    "model-domain-missing",
    "producer-missing",
    "opset-domain-not-reverse-dns",
];

/// Everything that the parser and the checker report for a text. Its directory contains a file `weights.bin` of 2 MiB,
/// for rules about external data.
fn report(rule: &Rule, text: &str) -> Sink {
    let mut files = MemoryData::new();
    files.insert("weights.bin", vec![0; 2 << 20]);
    let options = CheckOptions::default()
        .with_elements(true)
        .with_external(ExternalFiles::new(files).with_digests())
        // These are optional, and would be on every other page.
        .with_recommendations(RECOMMENDATIONS.contains(&rule.slug));
    match parse_model(text, &ParseOptions::default()) {
        Ok(model) => check(&model, &options),
        Err(error) => error.into_findings(),
    }
}

fn findings(rule: &Rule, text: &str) -> Vec<Finding> {
    report(rule, text).diagnostics().iter().map(Finding::new).collect()
}

#[test]
fn examples_of_rule_pages_hold() {
    if let Err(report) = examples_hold(RULES, findings) {
        panic!("\n{report}");
    }
}

/// The file of the loci of the wrong examples.
const LOCI: &str = "tests/rule_loci.txt";

/// The locus of each diagnostic of a wrong example. `BLESS=1` writes the file.
#[test]
fn wrong_examples_are_reported_at_their_loci() {
    let mut loci = String::new();
    for rule in RULES {
        for example in examples(rule.explain).iter().filter(|example| example.heading == "Wrong") {
            for found in report(rule, &example.text).diagnostics() {
                loci.push_str(&format!("{} {}\n", found.rule.id(), found.locus));
            }
        }
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(LOCI, &loci).unwrap();
    }
    let expected = std::fs::read_to_string(LOCI).unwrap();
    for (found, expected) in loci.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(loci.lines().count(), expected.lines().count());
}

/// The rules whose examples would be too long to read: a chain of more than 100 functions, 10,000 of them, and 2 GiB.
const TOO_LONG: &[&str] = &["function-calls-too-deep", "model-too-large", "too-many-functions"];

#[test]
fn every_rule_has_both_examples() {
    // Operator set documents are not models; their pages are tested with the other tests of such documents.
    for rule in RULES.into_iter().filter(|rule| !rule.explain.contains("```textproto")) {
        let examples = examples(rule.explain);
        let has = |wanted: &str| examples.iter().any(|example| example.heading == wanted);
        assert_eq!(has("Wrong") && has("Right"), !TOO_LONG.contains(&rule.slug), "{}", rule.slug);
    }
}

#[test]
fn every_rule_has_a_page() {
    assert_eq!(pages_are_complete(RULES), Ok(()));
}
