//! The examples on the pages of rules are tests: *Wrong* raises what its comments say, where they say it, and *Right*
//! raises nothing.
#![forbid(unsafe_code)]
#![allow(clippy::panic, reason = "helpers of tests may fail")]

use onnx_check::{CheckOptions, ExternalFiles, check};
use onnx_diag::{Rule, Sink};
use onnx_ir::Model;
use onnx_shape_infer::{Options, infer};
use onnx_tests::filetests::expect::{Finding, Strictness, compare, expectations};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::tensor::MemoryData;

/// The rules that are heard when recommendations are asked for.
const RECOMMENDATIONS: &[&str] = &[
    "metadata-key-not-reverse-dns",
    "model-domain-missing",
    "producer-missing",
    "opset-domain-not-reverse-dns",
];

/// Everything that parser and checker find in a text. Beside it is a file `weights.bin` of 64 KiB, for rules about such.
fn findings(rule: &Rule, text: &str) -> Vec<Finding> {
    let mut files = MemoryData::new();
    files.insert("weights.bin", vec![0; 64 << 10]);
    let options = CheckOptions {
        data: true,
        external: Some(ExternalFiles::new(files).with_digests()),
        // These are asked for, and would be on every other page.
        recommendations: RECOMMENDATIONS.contains(&rule.slug),
        ..CheckOptions::default()
    };
    let is_of_inference = onnx_shape_infer::fault::RULES.iter().any(|other| other.code == rule.code);
    let sink = match parse_model(text, &ParseOptions::default()) {
        Ok(model) if is_of_inference => inferred(&model, text),
        Ok(model) => check(&model, &options),
        Err(error) => error.into_findings(),
    };
    sink.diagnostics().iter().map(Finding::new).collect()
}

/// What inference finds, with everything it can be asked for.
fn inferred(model: &Model, text: &str) -> Sink {
    let mut options = Options::default();
    options.check_types = true;
    let inference = infer(model, &options);
    let mut sink = inference.findings().clone();
    // Shapes of inputs are given in the first line.
    if let Some(shapes) = text.lines().next().and_then(|line| line.strip_prefix("# shapes: ")) {
        match onnx_tests::filetests::given::check(model, &inference, shapes) {
            Ok(found) => sink.merge(found),
            Err(error) => panic!("{shapes}: {error}"),
        }
    }
    sink
}

/// The ONNX texts on a page, each with the heading it stands under.
fn examples(page: &str) -> Vec<(&str, String)> {
    let mut examples = Vec::new();
    let mut heading = "";
    let mut open: Option<String> = None;
    for line in page.lines() {
        match &mut open {
            Some(text) if line.starts_with("```") => {
                examples.push((heading, std::mem::take(text)));
                open = None;
            }
            Some(text) => {
                text.push_str(line);
                text.push('\n');
            }
            None if line == "```onnx" => open = Some(String::new()),
            None => heading = line.strip_prefix("## ").unwrap_or(heading),
        }
    }
    examples
}

fn faults(rule: &Rule) -> String {
    let mut faults = String::new();
    for (heading, text) in examples(rule.explain) {
        let result = expectations(&text).and_then(|expected| {
            if expected.is_empty() == (heading == "Wrong") {
                return Err("only *Wrong* marks lines, and it marks at least one".to_owned());
            }
            compare(&expected, &findings(rule, &text), Strictness::Loose)
        });
        if let Err(report) = result {
            faults.push_str(&format!("{} {}: {heading}\n{report}\n", rule.id(), rule.slug));
        }
    }
    faults
}

#[test]
fn examples_hold() {
    let rules = onnx_text::rules::ALL.iter().chain(onnx_codec::rules::ALL).copied().chain(onnx_check::RULES);
    let rules = rules.chain(onnx_shape_infer::fault::RULES.iter().copied());
    let faults: String = rules.map(faults).collect();
    assert!(faults.is_empty(), "\n{faults}");
}

/// The rules whose examples would be too long to read: a chain of more than 100 functions, 10,000 of them, and 2 GiB.
const TOO_LONG: &[&str] = &["function-calls-too-deep", "model-too-large", "too-many-functions"];

#[test]
fn every_rule_of_the_checker_has_both_examples() {
    // Operator set documents are no models; their pages are proved beside the other tests of such documents.
    for rule in onnx_check::RULES.into_iter().filter(|rule| !rule.explain.contains("```textproto")) {
        let examples = examples(rule.explain);
        let has = |wanted: &str| examples.iter().any(|(heading, _)| *heading == wanted);
        assert_eq!(has("Wrong") && has("Right"), !TOO_LONG.contains(&rule.slug), "{}", rule.slug);
    }
}

#[test]
fn every_rule_has_a_page() {
    let rules = onnx_text::rules::ALL.iter().chain(onnx_codec::rules::ALL).copied().chain(onnx_check::RULES);
    for rule in rules {
        assert!(rule.explain.starts_with(&format!("# {}\n", rule.slug)), "{}", rule.slug);
        for heading in ["What", "Why", "Wrong", "Right", "Spec"] {
            assert!(rule.explain.contains(&format!("\n## {heading}\n")), "{}: {heading}", rule.slug);
        }
    }
}
