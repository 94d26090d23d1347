//! The demands of the specification have rules that exist, and the generated documents are current.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::path::Path;

use onnx_tests::documents::{requirement_matrix, requirements, rule_index, rules};

#[test]
fn every_rule_that_a_demand_names_exists() {
    let slugs: BTreeSet<&str> = rules().iter().map(|rule| rule.slug).collect();
    for requirement in requirements().unwrap() {
        for slug in &requirement.rules {
            assert!(slugs.contains(slug), "{}: `{slug}`", requirement.id);
        }
        assert!(!requirement.rules.is_empty() || !requirement.remark.is_empty(), "{}", requirement.id);
    }
}

#[test]
fn demands_are_complete_and_in_order() {
    let requirements = requirements().unwrap();
    let ids: Vec<&str> = requirements.iter().map(|requirement| requirement.id).collect();
    let expected: Vec<String> = (1..=61)
        .map(|number| format!("R{number}"))
        .chain((1..=78).map(|number| format!("S{number}")))
        .collect();
    assert_eq!(ids, expected);
    for requirement in requirements.iter().filter(|requirement| requirement.id.starts_with('S')) {
        let is_known = requirement.place == "-" || ids.contains(&requirement.place);
        assert!(is_known, "{} leads to {}", requirement.id, requirement.place);
    }
}

#[test]
fn generated_documents_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/generated");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    assert_eq!(read("rules.md"), rule_index().unwrap(), "run `cargo xtask codegen`");
    assert_eq!(read("requirements.md"), requirement_matrix().unwrap(), "run `cargo xtask codegen`");
}
