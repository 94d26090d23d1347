//! What holds for every rule.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::RULES;

/// The names, without ending, of the files of rules that have this ending.
fn files(ending: &str) -> BTreeSet<String> {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules");
    let units = rules.read_dir().unwrap().map(|unit| unit.unwrap().path()).filter(|unit| unit.is_dir());
    let files = units.flat_map(|unit| unit.read_dir().unwrap().map(|file| file.unwrap().path()));
    let files: Vec<PathBuf> = files.filter(|file| file.extension().unwrap() == ending).collect();
    let stems = files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned());
    let stems: BTreeSet<_> = stems.filter(|stem| stem != "mod").collect();
    stems
}

#[test]
fn every_rule_has_a_file_and_a_page_with_its_name() {
    let slugs: BTreeSet<_> = RULES.iter().map(|rule| rule.slug.replace('-', "_")).collect();
    assert_eq!(slugs.len(), RULES.len(), "two rules have one slug");
    assert_eq!(files("rs"), slugs);
    assert_eq!(files("md"), slugs);
}

#[test]
fn codes_ascend_in_the_range_of_the_checker() {
    assert!(RULES.is_sorted_by(|a, b| a.code < b.code));
    assert!(RULES.iter().all(|rule| (2000..3000).contains(&rule.code)));
}

#[test]
fn records_are_filled_in() {
    for rule in RULES {
        let is_kebab = rule.slug.split('-').all(|word| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        });
        assert!(is_kebab, "{}", rule.slug);
        assert!(rule.summary.ends_with('.'), "{}", rule.slug);
        assert!(!rule.spec.is_empty(), "{}", rule.slug);
    }
}

#[test]
fn pages_have_the_five_headings_and_mark_the_defect() {
    for rule in RULES {
        let lines = || rule.explain.lines();
        let headings: Vec<_> = lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(headings, ["What", "Why", "Wrong", "Right", "Spec"], "{}", rule.slug);
        assert_eq!(lines().next(), Some(format!("# {}", rule.slug).as_str()));
        // A mark may say where else the finding is, and end in a part of the message: `# note@file: ONNX2007 "text"`. A
        // line may have several, because what one rule finds wrong may be wrong for another as well.
        let code = |mark: &'static str| {
            let (severity, finding) = mark.split_once(": ")?;
            let severity = severity.split('@').next()?;
            let is_mark = ["error", "warning", "note"].contains(&severity);
            is_mark.then(|| finding.split_whitespace().next()).flatten()
        };
        let marks: Vec<_> = lines().flat_map(|line| line.split("# ").skip(1)).filter_map(code).collect();
        assert!(marks.contains(&rule.id().to_string().as_str()), "{}: {marks:?}", rule.slug);
        // `onnx` is read as ONNX text, `textproto` as an operator set document; `text` shows what that text cannot say.
        let fences: Vec<_> = lines().filter(|line| line.starts_with("```")).collect();
        let kind = fences.first().copied();
        assert!(matches!(kind, Some("```onnx" | "```text" | "```textproto")), "{}", rule.slug);
        assert_eq!(fences, [kind.unwrap_or(""), "```", kind.unwrap_or(""), "```"], "{}", rule.slug);
    }
}

#[test]
fn lists_are_alphabetical() {
    fn check<F>(unit: &str, entries: &[super::Entry<F>]) {
        assert!(entries.is_sorted_by(|a, b| a.rule.slug < b.rule.slug), "{unit}");
    }
    check("attribute", super::attribute::ENTRIES);
    check("attributes", super::attribute::NODE_ENTRIES);
    check("external", super::external::ENTRIES);
    check("call", super::call::ENTRIES);
    check("function", super::function::ENTRIES);
    check("device", super::device::ENTRIES);
    check("feature", super::feature::ENTRIES);
    check("graph", super::graph::ENTRIES);
    check("metadata", super::metadata::ENTRIES);
    check("model", super::model::ENTRIES);
    check("node", super::node::ENTRIES);
    check("operator_set", super::operator_set::ENTRIES);
    check("opset", super::opset::ENTRIES);
    check("reference", super::reference::ENTRIES);
    check("sparse", super::sparse::ENTRIES);
    check("sharding", super::sharding::ENTRIES);
    check("training", super::training::ENTRIES);
    check("tensor", super::tensor::ENTRIES);
    check("ty", super::ty::ENTRIES);
    check("value", super::value::ENTRIES);
}
