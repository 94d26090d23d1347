//! The files of an operator are at the same path in each crate: the rule of inference decides.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::sources::Files;
use crate::operator::homes::{FILETESTS, Home, INFERENCE, KERNELS, RECIPES, calls, homes};

pub(super) fn check(files: &Files, violations: &mut Vec<Violation>) {
    let rules = homes(files.iter(), INFERENCE, "infer(");
    for (root, marker, what) in [(KERNELS, "eval(", "kernel"), (RECIPES, "row(", "recipe")] {
        for (key, found) in homes(files.iter(), root, marker) {
            rows(&rules, root, what, &key, &found, violations);
        }
    }
    for (key, found) in &rules {
        if let [first, others @ ..] = found.as_slice() {
            for other in others.iter().filter(|other| other.path != first.path) {
                let place = format!("{INFERENCE}{}.rs:{}", other.path, other.line);
                violations
                    .push(Violation::new(place, format!("{key} has rules in `{}.rs`, too", first.path)));
            }
        }
    }
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".onnxtxt")) {
        if let Some(own) = path.strip_prefix(FILETESTS) {
            file_test(files, &rules, own, text, violations);
        } else if text.starts_with("#!") && !is_with_a_crate(path) {
            let problem = "a file test belongs in `crates/<crate>/tests/filetests`, where the crate runs it";
            violations.push(Violation::new(path, problem));
        }
    }
}

fn is_with_a_crate(path: &str) -> bool {
    let own = path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
    own.is_some_and(|(_, path)| path.starts_with("tests/filetests/"))
}

/// The rows of an operator in another crate must be at the path of its rule.
fn rows(
    rules: &BTreeMap<String, Vec<Home>>,
    root: &str,
    what: &str,
    key: &str,
    found: &[Home],
    violations: &mut Vec<Violation>,
) {
    let Some(rule) = rules.get(key).and_then(|rules| rules.first()) else {
        for home in found {
            let problem = format!("{key} has a {what} and no rule of inference: the rule decides the path");
            violations.push(Violation::new(format!("{root}{}.rs:{}", home.path, home.line), problem));
        }
        return;
    };
    for home in found.iter().filter(|home| home.path != rule.path) {
        let problem =
            format!("the {what} of {key} belongs in `{root}{}.rs`, the path of its rule", rule.path);
        violations.push(Violation::new(format!("{root}{}.rs:{}", home.path, home.line), problem));
    }
}

/// A file test in the directory of a group is about a module of the group, whose name its name begins with.
fn file_test(
    files: &Files,
    rules: &BTreeMap<String, Vec<Home>>,
    own: &str,
    text: &str,
    violations: &mut Vec<Violation>,
) {
    let mut add = |problem: String| violations.push(Violation::new(format!("{FILETESTS}{own}"), problem));
    let stem = own.trim_end_matches(".onnxtxt");
    let groups: BTreeSet<&str> =
        rules.values().flatten().filter_map(|home| home.path.split('/').nth(1)).collect();
    let (directory, _) = stem.split_once('/').unwrap_or_default();
    if groups.contains(directory) {
        return add(format!(
            "`{directory}` is a group of operators: move the file to `{FILETESTS}ops/{directory}`"
        ));
    }
    if directory != "ops" && directory != "contrib" {
        return;
    }
    let Some(module) = module_of(files, stem) else {
        let called = rules.iter().find(|(key, _)| calls(text, key)).and_then(|(_, homes)| homes.first());
        let expected = called.filter(|_| directory == "ops").map_or_else(
            || "the path of the rule, with `_` and a variant behind it if there are several".to_owned(),
            |home| format!("for example `{FILETESTS}{}.onnxtxt`", home.path),
        );
        return add(format!("no module of `{INFERENCE}` has this path; expected {expected}"));
    };
    let mut operators = rules.iter().filter(|(_, homes)| homes.iter().any(|home| home.path == module));
    if directory == "ops" && !operators.any(|(key, _)| calls(text, key)) {
        add(format!("the file has no node of an operator whose rule is in `{INFERENCE}{module}.rs`"));
    }
}

/// The longest path of a module that a file test begins with: `ops/tensor/pad` for `ops/tensor/pad_axes`.
fn module_of<'a>(files: &Files, stem: &'a str) -> Option<&'a str> {
    let directory = stem.rfind('/')?;
    let ends = stem.match_indices('_').map(|(at, _)| at).filter(|&at| at > directory).chain([stem.len()]);
    let candidates: Vec<&str> = ends.filter_map(|end| stem.get(..end)).collect();
    candidates.into_iter().rev().find(|module| files.has(&format!("{INFERENCE}{module}.rs")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_tree(tree: &[(&str, &str)], expected: &[(&str, &str)]) {
        let files = Files::new(tree.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())));
        let mut violations = Vec::new();
        check(&files, &mut violations);
        let found: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, (place, problem)) in found.iter().zip(expected) {
            assert!(found.starts_with(place) && found.contains(problem), "{found}");
        }
    }

    const RULE: (&str, &str) = ("crates/onnx-shape-infer/src/ops/tensor/trilu.rs", "infer(op::TRILU, x)");

    #[test]
    fn files_of_an_operator_have_one_path() {
        let right = [
            RULE,
            ("crates/onnx-eval/src/ops/tensor/trilu.rs", "eval(op::TRILU, x)"),
            ("crates/onnx-smith/src/ops/tensor/trilu.rs", "row(&[op::TRILU], x)"),
            (
                "crates/onnx-shape-infer/tests/filetests/ops/tensor/trilu_first.onnxtxt",
                "#! infer\ny = Trilu (x)",
            ),
            ("crates/onnx-shape-infer/tests/filetests/symbolic/other.onnxtxt", "#! infer\n"),
            ("crates/onnx-check/tests/filetests/any.onnxtxt", "#! check\n"),
            ("tests/readme/calls.onnxtxt", "<ir_version: 10>"),
        ];
        check_tree(&right, &[]);
        check_tree(
            &[
                RULE,
                ("crates/onnx-eval/src/ops/math/trilu.rs", "\neval(op::TRILU, x)"),
                ("crates/onnx-smith/src/ops/tensor/triangle.rs", "row(&[op::TRILU, op::EYE], x)"),
            ],
            &[
                (
                    "crates/onnx-eval/src/ops/math/trilu.rs:2",
                    "belongs in `crates/onnx-eval/src/ops/tensor/trilu.rs`",
                ),
                ("crates/onnx-smith/src/ops/tensor/triangle.rs:1", "EYE has a recipe and no rule"),
                (
                    "crates/onnx-smith/src/ops/tensor/triangle.rs:1",
                    "`crates/onnx-smith/src/ops/tensor/trilu.rs`",
                ),
            ],
        );
    }

    #[test]
    fn file_tests_are_at_the_path_of_the_rule() {
        let root = "crates/onnx-shape-infer/tests/filetests";
        for (path, text, problem) in [
            (
                "ops/tensor/triangle",
                "y = Trilu (x)",
                "for example `crates/onnx-shape-infer/tests/filetests/ops/tensor/trilu.onnxtxt`",
            ),
            ("ops/tensor/trilu", "y = Relu (x)", "no node of an operator"),
            (
                "tensor/trilu",
                "y = Trilu (x)",
                "move the file to `crates/onnx-shape-infer/tests/filetests/ops/tensor`",
            ),
            ("contrib/moe", "", "no module"),
        ] {
            let path = format!("{root}/{path}.onnxtxt");
            check_tree(&[RULE, (&path, text)], &[(&path, problem)]);
        }
        check_tree(
            &[RULE, ("tests/filetests/a.onnxtxt", "#! infer")],
            &[("tests/filetests/a.onnxtxt", "where the crate runs it")],
        );
    }

    #[test]
    fn an_operator_has_one_rule() {
        let other = ("crates/onnx-shape-infer/src/ops/math/unary.rs", "infer(op::TRILU, x)");
        check_tree(
            &[RULE, other],
            &[("crates/onnx-shape-infer/src/ops/tensor/trilu.rs:1", "`ops/math/unary.rs`")],
        );
    }
}
