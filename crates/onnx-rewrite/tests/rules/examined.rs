//! Every rule file of the crate, tested by running its rules.

use onnx_rewrite::{ExamineOptions, FILES, FUSION_FILES, RuleSet, examine};

#[test]
fn every_rule_is_right_on_generated_models() {
    are_right(FILES, &ExamineOptions::default());
}

#[test]
fn every_fusion_is_right_on_generated_models() {
    // Long left sides with relations between the sizes match fewer models.
    are_right(FUSION_FILES, &ExamineOptions::default().with_attempts(1000));
}

fn are_right(files: &[(&str, &str)], options: &ExamineOptions) {
    let mut wrong = String::new();
    for (name, text) in files {
        let rules = match RuleSet::parse(text) {
            Ok(rules) => rules,
            Err(error) => panic!("{name}: {error}"),
        };
        assert!(!rules.is_empty(), "{name} has no rule");
        for result in examine(&rules, options) {
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
    for (folder, files) in [("rules", FILES), ("fusions", FUSION_FILES)] {
        let folder = format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"));
        let mut found: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        found.sort();
        let listed: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, listed);
    }
}

/// A rule of the same name would replace an earlier one.
#[test]
fn every_rule_of_every_file_is_in_the_standard_set_once() {
    let mut all = Vec::new();
    for (rules, files) in [(RuleSet::standard().unwrap(), FILES), (RuleSet::fusions().unwrap(), FUSION_FILES)]
    {
        let mut listed: Vec<String> = Vec::new();
        for (name, text) in files {
            let lines = text.lines().filter_map(|line| line.strip_prefix("rule "));
            listed.extend(lines.filter_map(|line| Some(line.split_once(':')?.0.to_owned())));
            assert!(!listed.is_empty(), "{name}");
        }
        let names: Vec<&str> = rules.rules().map(|rule| rule.name()).collect();
        assert_eq!(names, listed);
        all.extend(listed);
    }
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

/// Rules that are wrong, each with a part of the failure.
const WRONG: &[(&str, &str)] = &[
    // Negative zero.
    (
        "rule add-zero: exact
         from (x) => (y) { y = Add (x, 0) }
         where elem(x) in floats
         to (x) => (x) {}",
        "0.0 after",
    ),
    // A 0 of the outer `Reshape` copies a size of the inner one.
    (
        "rule reshape-reshape: exact
         from (x, s, r) => (y) { y = Reshape (Reshape (x, s), r) }
         to (x, r) => (y) { y = Reshape (x, r) }",
        "",
    ),
    // The order of the permutations.
    (
        "rule transpose-transpose: exact
         from (x) => (y) { y = Transpose <perm = @q> (Transpose <perm = @p> (x)) }
         let { r = Gather (@q, @p) }
         to (x) => (y) { y = Transpose <perm = @r> (x) }",
        "",
    ),
    // The formula of several optimizers.
    (
        "rule clip-clip: rounding, since 13
         from (x, a, b, c, d) => (y) { y = Clip (Clip (x, a, b), c, d) }
         let { l = Max (a, c) h = Min (b, d) }
         where elem(x) in floats
         to (x) => (y) { y = Clip (x, l, h) }",
        "values",
    ),
    // Integers that do not fit.
    (
        "rule cast-cast: exact
         from (x) => (y) { y = Cast <to = @b> (Cast <to = @a> (x)) }
         to (x) => (y) { y = Cast <to = @b> (x) }",
        "",
    ),
    // The axes of the second one are those of its operand.
    (
        "rule squeeze-squeeze: exact, since 13
         from (x, a, b) => (y) { y = Squeeze (Squeeze (x, a), b) }
         let { c = Concat <axis = 0> (a, b) }
         to (x) => (y) { y = Squeeze (x, c) }",
        "",
    ),
    // The sum of a product of matrices may have other sizes than the product.
    (
        "rule matmul-add: rounding, since 11
         from (a, b, c) => (y) { y = Add (MatMul (a, b), c) }
         where elem(a) in floats, rank(a) == 2, rank(b) == 2
         to (a, b, c) => (y) { y = Gemm (a, b, c) }",
        "",
    ),
    // The declared class.
    (
        "rule mul-mul: exact
         from (x, a, b) => (y) { y = Mul (Mul (x, a), b) }
         let { c = Mul (a, b) }
         where elem(x) in floats, not const(x)
         to (x) => (y) { y = Mul (x, c) }",
        "values",
    ),
    // The variance without its square root.
    (
        "rule conv-batch-normalization: rounding, since 9
         from (x, w, scale, bias, mean, var) => (y) {
             t = Conv <...> (x, w)
             y = BatchNormalization <epsilon = @eps, training_mode = 0, ...> (t, scale, bias, mean, var)
         }
         let {
             r = rule.Rank (x)
             k = Div (scale, Add (var, @eps))
             v = Mul (w, Reshape (k, Concat <axis = 0> ([-1], Expand ([1], Reshape (Sub (r, 1), [1])))))
             d = Add (Mul (Neg (mean), k), bias)
         }
         where elem(scale) == elem(w), elem(mean) == elem(w)
         to (x) => (y) { y = Conv <...> (x, v, d) }",
        "values",
    ),
    // Attributes that are not their defaults, and constants whose product overflows.
    (
        "rule trilu: exact, since 14
         from (x) => (y) { y = Neg (Neg (Trilu <upper = @u> (x))) }
         to (x) => (y) { y = Trilu (x) }",
        "values",
    ),
    (
        "rule gather-elements: exact, since 11
         from (x, a) => (y) { y = Neg (Neg (GatherElements <axis = @b> (x, a))) }
         to (x, a) => (y) { y = GatherElements (x, a) }",
        "",
    ),
    (
        "rule shrink: exact, since 9
         from (x) => (y) { y = Neg (Neg (Shrink <bias = @b, lambd = @l> (x))) }
         to (x) => (y) { y = Shrink <lambd = @l> (x) }",
        "values",
    ),
    (
        "rule gelu: rounding, since 20
         from (x) => (y) { y = Neg (Neg (Gelu <approximate = @p> (x))) }
         to (x) => (y) { y = Gelu (x) }",
        "values",
    ),
    (
        "rule leaky: rounding
         from (x) => (y) { y = Relu (LeakyRelu <alpha = @a> (x)) }
         to (x) => (y) { y = Relu (x) }",
        "values",
    ),
    (
        "rule div-div: exact
         from (x, a, b) => (y) { y = Div (Div (x, a), b) }
         let { c = Mul (a, b) }
         where elem(x) in integers
         to (x) => (y) { y = Div (x, c) }",
        "",
    ),
    (
        "rule add-add: exact
         from (x, a, b) => (y) { y = Add (Add (x, a), b) }
         let { c = Add (a, b) }
         to (x) => (y) { y = Add (x, c) }",
        "values",
    ),
];

#[test]
fn wrong_rules_fail() {
    for (text, failure) in WRONG {
        let rules = RuleSet::parse(text).unwrap();
        let results = examine(&rules, &ExamineOptions::default().with_edits(240));
        let [result] = results.as_slice() else { panic!("{results:?}") };
        assert!(!result.failures.is_empty(), "no model refutes {result:#?}");
        assert!(result.failures.iter().any(|text| text.contains(failure)), "{result:#?}");
    }
}

#[test]
fn a_rule_that_matches_no_model_fails() {
    let text = "rule never: exact
         from (x) => (y) { y = Neg (Neg (x)) }
         where rank(x) == 17
         to (x) => (x) {}";
    let results = examine(&RuleSet::parse(text).unwrap(), &ExamineOptions::default());
    assert!(!results[0].is_fine());
    assert_eq!(results[0].verdicts, [0, 0, 0]);
    let reason = &results[0].missed[0].0;
    assert!(
        reason.starts_with("`rank(x)`, which is ")
            && reason.ends_with(", and `17` are not proved to be equal")
    );
}

#[test]
fn a_rule_around_which_no_model_runs_fails_with_the_reason() {
    let text = "rule never: exact
         from (x) => (y) { y = Neg (Reshape (Neg (x), [-1, -1])) }
         to (x) => (y) { y = Neg (x) }";
    let results = examine(&RuleSet::parse(text).unwrap(), &ExamineOptions::default());
    assert_eq!((results[0].models, results[0].is_fine()), (0, false));
    let reason = &results[0].missed[0].0;
    assert!(reason.starts_with("`Reshape` does not run on the chosen operands: "), "{reason}");
}
