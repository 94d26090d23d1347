//! The demands of the specification have rules that exist, and the generated documents are current.

use std::collections::BTreeSet;

use onnx_tests::documents::{committed, documents, requirements, rules};
use onnx_tests::operators::{runtime_without_filetest, with_unexpected_values, without_filetest};

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
    let (wanted, present) = (documents().unwrap(), committed().unwrap());
    let stale: Vec<&String> = wanted.keys().filter(|&name| wanted.get(name) != present.get(name)).collect();
    assert!(stale.is_empty(), "run `cargo xtask codegen`: {stale:?}");
    let extra: Vec<&String> = present.keys().filter(|&name| !wanted.contains_key(name)).collect();
    assert!(extra.is_empty(), "run `cargo xtask codegen`: {extra:?}");
    assert_eq!(wanted.len(), onnx_schema::operators().len() + 5);
}

#[test]
fn every_operator_has_a_filetest() {
    assert_eq!(without_filetest().unwrap(), Vec::<&str>::new());
    assert_eq!(runtime_without_filetest().unwrap(), Vec::<String>::new());
}

/// What pages say about values holds for all nodes of all file tests.
#[test]
fn only_operators_that_say_so_follow_values() {
    let unexpected = with_unexpected_values().unwrap();
    let names: BTreeSet<String> = unexpected.iter().map(|id| id.schema().to_string()).collect();
    assert_eq!(names, BTreeSet::new());
}
