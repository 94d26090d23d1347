//! Mistakes in rule files, each at its line and column.

use onnx_rewrite::RuleSet;

/// Compares the mistakes of a text.
fn check(text: &str, expected: &[&str]) {
    let found: Vec<String> = match RuleSet::parse(text) {
        Ok(_) => Vec::new(),
        Err(error) => error
            .findings()
            .diagnostics()
            .iter()
            .map(|found| format!("{}: {}", found.locus.position().unwrap(), found.message))
            .collect(),
    };
    assert_eq!(found, expected, "{text}");
}

#[test]
fn mistakes_have_positions() {
    check("rul a: exact", &["1:1: expected `rule`, found `rul`"]);
    check("rule a: precise", &["1:9: expected `exact` or `rounding`, found `precise`"]);
    check("rule a: exact\nfrom (x) => (y) { y = Neg (Neg (x) }", &["2:36: expected `)`, found `}`"]);
    check("rule a: exact\nfrom (x) => (y) { y = Neg (z) }\nto (x) => (x) {}", &["2:28: nothing defines `z`"]);
    check(
        "rule a: exact\nfrom (x) => (y) { y = Negg (Abs (x)) }\nto (x) => (x) {}",
        &["2:23: the operator `Negg` does not exist"],
    );
    check(
        "rule a: exact\nfrom (x) => (y) { y = Transpose <prem = @p> (x) }\nto (x) => (x) {}",
        &["2:23: `Transpose` has no attribute `prem`"],
    );
    check(
        "rule a: exact\nfrom (x) => (y) { y = Transpose <perm = > (x) }\nto (x) => (x) {}",
        &["2:41: expected a value, found `>`"],
    );
    check(
        "rule a: exact\nfrom (x, z) => (y) { y = Neg (x) }\nto (x) => (x) {}",
        &["1:1: no node of the left side uses `z`"],
    );
    check(
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nto (x) => (y) { y = Neg (Neg (x)) }",
        &["1:1: the cost does not decrease: 8 before, 16 after"],
    );
    check(
        "rule a: exact\nfrom (x) => (y) { y = Not (x) }\nwhere elem(x) in floats\nto (x) => (x) {}",
        &["3:7: no element type is possible for `x`"],
    );
    check(
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nlet { k = rule.Sizes (x) }\nto (x) => (x) {}",
        &[
            "3:11: `rule.Sizes` does not exist; the intrinsics are `rule.Shape`, `rule.Rank`, `rule.Dims`, `rule.Axes`, `rule.Elem`",
        ],
    );
}

#[test]
fn one_run_reports_the_mistakes_of_all_rules() {
    let text =
        "rule a: exact\nfrom (x) => (y) { y = Neg }\n\nrule b: exact\nfrom (x) => (y) { y = Neg (x }\n";
    check(text, &["2:27: expected `(`, found `}`", "5:30: expected `)`, found `}`"]);
}

#[test]
fn hostile_texts_are_refused() {
    let deep = format!("rule a: exact from (x) => (y) {{ y = {}x", "Neg (".repeat(100_000));
    for text in [
        "rule",
        "rule :",
        "rule a:exact from(",
        "<",
        "\u{feff}\"",
        deep.as_str(),
        "rule a: exact from (x) => (y) { y = Op <",
    ] {
        assert!(RuleSet::parse(text).is_err());
    }
    assert!(RuleSet::parse("").unwrap().is_empty());
    assert!(RuleSet::parse("# only a comment").unwrap().is_empty());
}
