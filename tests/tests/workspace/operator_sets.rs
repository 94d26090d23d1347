//! Operator set documents and the rules about them: the examples on the pages are tests, and all standard sets are right.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use onnx_check::{CheckOptions, RULES, check, check_operator_set};
use onnx_codec::{DecodeOptions, decode, decode_operator_set, operator_set};
use onnx_ir::OperatorSetDocument;
use onnx_schema::{OperatorSet, Registry, domains, known_name, opset_versions};

fn document(text: &str) -> OperatorSetDocument {
    let bytes = onnx_formats::operator_set_from_text(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    decode_operator_set(bytes, &DecodeOptions::default()).expect("it was just encoded").document
}

/// Code and place of everything that is wrong with a document, and whether the reference would not find it.
fn findings(document: &OperatorSetDocument, options: &CheckOptions) -> Vec<(String, String, bool)> {
    let sink = check_operator_set(document, options);
    let found = sink.diagnostics().iter();
    found
        .map(|found| (found.rule.id().to_string(), found.locus.to_string(), found.beyond_reference))
        .collect()
}

#[test]
fn examples_hold() {
    let mut examples = 0;
    for rule in RULES.iter().filter(|rule| rule.explain.contains("```textproto\n")) {
        let mut heading = "";
        for part in rule.explain.split("```textproto\n") {
            let text = part.split_once("```\n").filter(|_| !heading.is_empty()).map(|(text, _)| text);
            if let Some(text) = text {
                let found = findings(&document(text), &CheckOptions::default());
                let codes: Vec<&str> = found.iter().map(|(code, ..)| code.as_str()).collect();
                let id = rule.id().to_string();
                let expected: &[&str] = if heading == "Wrong" { &[&id] } else { &[] };
                assert_eq!(codes, expected, "{}: {heading}", rule.slug);
                assert!(found.iter().all(|(.., is_beyond)| *is_beyond));
                examples += 1;
            }
            heading = part.lines().rev().find_map(|line| line.strip_prefix("## ")).unwrap_or_default();
        }
    }
    assert_eq!(examples, 18);
}

/// All possible defects at once: the checker reports each of them.
#[test]
fn all_faults_are_found_at_once() {
    let text = r#"
        ir_version: -1 domain: "acme" opset_version: -7
        operator { op_type: "A" since_version: 1 }
        operator { op_type: "A" since_version: 0 status: 5 }
        operator { }
        functions { name: "B" domain: "other" input: "x" output: "y" opset_import { version: 18 }
          node { op_type: "Rellu" input: "x" output: "y" } }
    "#;
    let found = findings(&document(text), &CheckOptions::default());
    let found: Vec<(&str, &str)> =
        found.iter().map(|(code, place, _)| (code.as_str(), place.as_str())).collect();
    assert_eq!(
        found,
        [
            ("ONNX2048", r#"function "B" of domain "other""#),
            ("ONNX2045", "field operator / element 1"),
            ("ONNX2043", "field domain"),
            ("ONNX2041", "field ir_version"),
            ("ONNX2040", "field magic"),
            ("ONNX2042", "field opset_version"),
            ("ONNX2047", "field operator / element 1"),
            ("ONNX2046", "field operator / element 1"),
            ("ONNX2046", "field operator / element 2"),
            ("ONNX2044", "field operator / element 2"),
            ("ONNX2303", r#"function "B" of domain "other" / node #0 Rellu"#),
        ]
    );
}

#[test]
fn standard_sets_are_right() {
    let mut bodies = 0;
    for domain in domains() {
        let name = known_name(domain).unwrap();
        for version in opset_versions(domain).unwrap() {
            let set = OperatorSet::standard(name, version).unwrap();
            let document = operator_set::document(&set).unwrap();
            bodies += document.functions.functions().len();
            let found = findings(&document, &CheckOptions::default());
            assert_eq!(found, [], "{name} {version}");
        }
    }
    assert_eq!(bodies, 335);
}

const ACME: &str = r#"
    magic: "ONNXOPSET" ir_version: 10 domain: "com.acme" opset_version: 2
    operator { op_type: "Gain" since_version: 2 status: STABLE }
    operator { op_type: "Secret" since_version: 1 status: STABLE }
    functions {
      name: "Gain" domain: "com.acme" input: "x" output: "y"
      opset_import { version: 18 } opset_import { domain: "com.acme" version: 2 }
      node { op_type: "Secret" domain: "com.acme" input: "x" output: "s" }
      node { op_type: "Relu" input: "s" output: "y" }
    }
"#;

/// A custom domain with a function body, from text to verdict: no operator is declared in code.
#[test]
fn a_custom_domain_is_checked_from_its_document() {
    let acme = document(ACME);
    let set = operator_set::declared(&acme, None).unwrap();
    let registry = Registry::standard().with(&set).unwrap();
    let options = CheckOptions::default().with_registry(registry);
    assert_eq!(findings(&acme, &options), []);

    let codes = |node: &str| -> Vec<String> {
        let text = format!(
            r#"ir_version: 10 opset_import {{ domain: "com.acme" version: 2 }}
               graph {{ name: "g" node {{ domain: "com.acme" {node} }} }}"#
        );
        let bytes = onnx_formats::from_text(&text).unwrap();
        let model = decode(bytes, &DecodeOptions::default()).unwrap().model;
        let sink = check(&model, &options);
        sink.diagnostics().iter().map(|found| found.rule.id().to_string()).collect()
    };
    assert!(codes(r#"op_type: "Gain" output: "y""#).is_empty());
    assert!(
        codes(r#"op_type: "Secret" output: "y" output: "z" attribute { name: "a" type: INT i: 1 }"#)
            .is_empty()
    );
    assert_eq!(codes(r#"op_type: "Gain" output: "y" output: "z""#), ["ONNX2309"]);
    assert_eq!(codes(r#"op_type: "Gain" output: "y" attribute { name: "a" type: INT i: 1 }"#), ["ONNX2401"]);
    assert_eq!(codes(r#"op_type: "Gian" output: "y""#), ["ONNX2303"]);

    // The body is checked, too.
    let broken = document(&ACME.replace("\"Relu\"", "\"Rellu\""));
    let places: Vec<String> = findings(&broken, &options).into_iter().map(|(_, place, _)| place).collect();
    assert_eq!(places, [r#"function "Gain" of domain "com.acme" / node #1 Rellu"#]);
}
