//! Every rule file of the crate, tested by running its rules.

use onnx_rewrite::{ExamineOptions, FILES, RuleSet, examine};

#[test]
fn every_rule_is_right_on_generated_models() {
    let mut wrong = String::new();
    for (name, text) in FILES {
        let rules = match RuleSet::parse(text) {
            Ok(rules) => rules,
            Err(error) => panic!("{name}: {error}"),
        };
        assert!(rules.len() > 0, "{name} has no rule");
        for result in examine(&rules, &ExamineOptions::default()) {
            if !result.is_fine() {
                wrong.push_str(&format!("{name}: {result:#?}\n"));
            }
            assert!(!rules.rules().any(|rule| rule.page().is_empty()), "{name}: a rule has no page");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn files_are_listed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/rules");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort();
    let listed: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, listed);
}
