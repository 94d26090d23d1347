//! Lists of operators in code: what operators have in common is a trait in `crates/onnx-schema/src/traits`, and code asks for it.
//!
//! A list is a run of at least [`LEAST`] operators, as `op::ADD, op::SUB` or as `"Add" | "Sub"`, with nothing between them but
//! punctuation, numbers, attributes and texts. A `match` with one arm for each operator is not a list.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::Violation;
use super::sources::Files;

/// The number of operators from which on a run of them is a list.
const LEAST: usize = 4;

/// Where rows of operators are: one place for each operator, in each crate that has to know all.
const ROWS: &[(&str, &str)] = &[
    ("crates/onnx-schema/src/traits/", "the rows of traits"),
    ("crates/onnx-shape-infer/src/ops/", "the rules of inference"),
    ("crates/onnx-eval/src/ops/", "the kernels"),
    ("crates/onnx-smith/src/ops/", "the recipes of the generator"),
    ("crates/onnx-functions/src/bodies/ops/", "the bodies of functions"),
    ("crates/onnx-version/src/steps/", "the steps between versions"),
    ("crates/onnx-version/src/table.rs", "the steps between versions"),
    ("xtask/src/codegen/", "the generator of tables, which is built before them"),
];

/// Files whose lists remain, with the reason.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/onnx-cli/src/other_tools.rs", "names that other systems give to operators"),
    (
        "crates/onnx-eval/src/engine/proof.rs",
        "sums, and sums of products of two operands: the order of others is not perturbed",
    ),
    (
        "crates/onnx-pass/src/series.rs",
        "a choice of proofs: operators whose quotients and bounds deserve the time of more runs",
    ),
    (
        "crates/onnx-quantize/src/activations/fusible/repeat.rs",
        "the operators behind which onnxruntime repeats a pair",
    ),
    (
        "crates/onnx-quantize/src/activations/fusible/held.rs",
        "the arithmetic with a constant that onnxruntime folds into a product in front of it",
    ),
    (
        "crates/onnx-quantize/src/activations/fusible/runtime_view.rs",
        "what onnxruntime removes if its result is its operand, before it fuses",
    ),
    (
        "crates/onnx-quantize/src/activations/parameters.rs",
        "choices of the quantizer: shared scales, steep functions",
    ),
    (
        "crates/onnx-quantize/src/activations/plan.rs",
        "a choice of the quantizer: what is worth quantized operands",
    ),
    (
        "crates/onnx-quantize/src/narrow/counts.rs",
        "a choice of half precision: what counts go through, and what needs them exactly",
    ),
    (
        "crates/onnx-quantize/src/narrow/large.rs",
        "operators whose results are small if their first operand is large",
    ),
    (
        "crates/onnx-quantize/src/narrow/mask.rs",
        "a choice of half precision: what a mask goes through, and what ignores small scores",
    ),
    (
        "crates/onnx-rewrite/src/examine/sizes.rs",
        "a guess at sizes that operators accept, which the runs correct",
    ),
];

pub(super) fn check(files: &Files, violations: &mut Vec<Violation>) {
    let names = names(files.text("crates/onnx-schema/src/generated/names.rs"));
    let mut used = BTreeSet::new();
    for (path, text) in files.iter().filter(|(path, _)| is_checked(path)) {
        for (line, count) in lists(text, &names) {
            if let Some((allowed, _)) = ALLOWED.iter().find(|(allowed, _)| *allowed == path) {
                used.insert(*allowed);
                continue;
            }
            let problem = format!(
                "a list of {count} operators: state what they have in common in `crates/onnx-schema/src/traits`, and ask for it"
            );
            violations.push(Violation::new(format!("{path}:{line}"), problem));
        }
    }
    for (path, _) in ALLOWED.iter().filter(|(path, _)| !used.contains(path)) {
        let problem = format!("`{path}` has no list of operators any more: remove the exception");
        violations.push(Violation::new("xtask/src/tidy/operator_lists.rs", problem));
    }
}

/// Sources of crates and tasks, without tests and generated files.
fn is_checked(path: &str) -> bool {
    let is_source = (path.starts_with("crates/") || path.starts_with("xtask/")) && path.contains("/src/");
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs") || path.contains("/generated/");
    path.ends_with(".rs") && is_source && !is_test && !ROWS.iter().any(|(rows, _)| path.starts_with(rows))
}

/// The names of operators and their constants.
fn names(text: &str) -> BTreeMap<&str, &str> {
    let mut names = BTreeMap::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(name) = line.trim().strip_prefix("/// The operator name `") else { continue };
        let constant = lines.peek().and_then(|next| next.trim().strip_prefix("pub const "));
        if let Some((constant, _)) = constant.and_then(|rest| rest.split_once(':')) {
            names.insert(name.trim_end_matches("`."), constant);
        }
    }
    names
}

/// The lists of a file: the line of the first operator, and the number of operators.
fn lists(text: &str, names: &BTreeMap<&str, &str>) -> Vec<(usize, usize)> {
    let code = without_comments(text.split("#[cfg(test)]").next().unwrap_or_default());
    let (Ok(operator), Ok(gap)) = (
        Regex::new(r#"\bop::[A-Z][A-Z0-9_]*\b|"[A-Z][A-Za-z0-9]*""#),
        Regex::new(r#"^(?:[\s,|&\[\]()\d-]|attr::[A-Z0-9_]+|"[^"]*")*$"#),
    ) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    // Where a run begins and ends, and its length.
    let mut run: Option<(usize, usize, usize)> = None;
    for at in operator.find_iter(&code) {
        let name = at.as_str().trim_matches('"');
        if !at.as_str().starts_with("op::") && !names.contains_key(name) {
            continue;
        }
        run = match run {
            Some((start, end, count))
                if code.get(end..at.start()).is_some_and(|between| gap.is_match(between)) =>
            {
                Some((start, at.end(), count + 1))
            }
            previous => {
                found.extend(previous);
                Some((at.start(), at.end(), 1))
            }
        };
    }
    found.extend(run);
    let line = |start: usize| code.get(..start).unwrap_or_default().matches('\n').count() + 1;
    found.into_iter().filter(|run| run.2 >= LEAST).map(|run| (line(run.0), run.2)).collect()
}

/// The code without comments that take a line or its end; lines stay where they are.
fn without_comments(code: &str) -> String {
    let lines = code.lines().map(|line| {
        let comment = line.match_indices("//").find(|&(at, _)| line[..at].matches('"').count() % 2 == 0);
        comment.map_or(line, |(at, _)| &line[..at])
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &str = "/// The operator name `Add`.\npub const ADD: Symbol = 1;\n/// The operator name `Sub`.\npub const SUB: Symbol = 2;\n";

    fn found(text: &str) -> Vec<(usize, usize)> {
        lists(text, &names(NAMES))
    }

    #[test]
    fn lists_are_found() {
        for text in [
            "[op::ADD, op::SUB, op::MUL, op::DIV]",
            "matches!(op, op::ADD | op::SUB\n // a reason\n | op::MUL | op::DIV)",
            "&[(op::ADD, 7), (op::SUB, 7), (op::MUL, 7), (op::DIV, 7)]",
            "&[(op::ADD, attr::AXIS), (op::SUB, attr::AXIS), (op::MUL, attr::AXIS), (op::DIV, attr::AXIS)]",
            r#"["Add", "Sub", "Add", "Sub"]"#,
            r#""Add" | "Sub" | "Add" | "Sub" => f,"#,
        ] {
            assert_eq!(found(text), [(1, 4)], "{text}");
        }
    }

    #[test]
    fn other_code_is_not() {
        for text in [
            "[op::ADD, op::SUB, op::MUL]",
            "match op { op::ADD => add, op::SUB => sub, op::MUL => mul, op::DIV => div }",
            r#"["Other", "Names", "Of", "Things"]"#,
            "// [op::ADD, op::SUB, op::MUL, op::DIV]",
            "#[cfg(test)]\nmod tests { [op::ADD, op::SUB, op::MUL, op::DIV] }",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
