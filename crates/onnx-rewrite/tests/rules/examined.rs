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
    // A permutation of three equal sizes that does not undo itself.
    (
        "rule transpose-twice: exact
         from (x) => (y) { y = Transpose <perm = @p> (Transpose <perm = @p> (x)) }
         to (x) => (x) {}",
        "values",
    ),
    (
        "rule transpose-relu-transpose: exact
         from (x) => (y) { y = Transpose <perm = @p> (Relu (Transpose <perm = @p> (x))) }
         to (x) => (y) { y = Relu (x) }",
        "",
    ),
    // Repeated heads are in another order than those that an attention with fewer heads of keys repeats.
    (
        "rule repeat-heads: rounding, since 23
         from (q, k, v, r) => (y) { y = Attention <...> (q, Tile (k, r), Tile (v, r)) }
         let { ok = Equal (ReduceProd (r), Gather (r, 1)) }
         where ok, rank(q) == 4, rank(k) == 4, rank(v) == 4
         to (q, k, v) => (y) { y = Attention <...> (q, k, v) }",
        "values",
    ),
    // More channels than one block.
    (
        "rule depth-space-depth: exact
         from (x) => (y) { y = SpaceToDepth <blocksize = @b> (DepthToSpace <blocksize = @b, mode = \"CRD\"> (x)) }
         to (x) => (x) {}",
        "values",
    ),
    // A negative axis counts from the end of a result with more axes.
    (
        "rule gather-gather: exact
         from (x, i, j) => (y) { y = Gather <axis = @a> (Gather <axis = @a> (x, i), j) }
         let { t = Gather <axis = 0> (i, j) }
         to (x) => (y) { y = Gather <axis = @a> (x, t) }",
        "",
    ),
    // The parts in another order.
    (
        "rule split-concat: exact, since 18
         from (x) => (y) {
             a, b = Split <axis = @p, num_outputs = 2> (x)
             y = Concat <axis = @p> (b, a)
         }
         to (x) => (x) {}",
        "values",
    ),
    // Each scale is that of a channel.
    (
        "rule quantize: rounding, since 13
         from (x, s) => (y) { y = DequantizeLinear (QuantizeLinear (Relu (x), s), s) }
         where rank(x) == 2, rank(s) == 1
         to (x, s) => (y) { y = Mul (x, s) }",
        "",
    ),
    // Factors of channels that are those of groups.
    (
        "rule conv-transpose-groups: rounding
         from (x, w) => (y) { y = Neg (Neg (ConvTranspose <group = @g, ...> (x, w))) }
         let { n = Gather (Shape (w), 0)  order = Range (Sub (n, 1), -1, -1)  v = Gather (w, order) }
         to (x) => (y) { y = ConvTranspose <group = @g, ...> (x, v) }",
        "values",
    ),
    // Attributes that are dropped.
    (
        "rule dequantize-axis: exact, since 13
         from (x, s) => (y) { y = Neg (Neg (DequantizeLinear <axis = @a> (x, s))) }
         to (x, s) => (y) { y = DequantizeLinear (x, s) }",
        "",
    ),
    (
        "rule resize-mode: rounding, since 13
         from (x, s) => (y) { y = Neg (Neg (Resize <coordinate_transformation_mode = @m> (x, , s))) }
         to (x, s) => (y) { y = Resize (x, , s) }",
        "values",
    ),
    (
        "rule gather-batches: exact, since 12
         from (x, i) => (y) { y = Neg (Neg (GatherND <batch_dims = @b> (x, i))) }
         to (x, i) => (y) { y = GatherND (x, i) }",
        "",
    ),
    (
        "rule rms-axis: rounding, since 23
         from (x, s) => (y) { y = Neg (Neg (RMSNormalization <axis = @a> (x, s))) }
         to (x, s) => (y) { y = RMSNormalization (x, s) }",
        "",
    ),
    (
        "rule mean-variance-axes: rounding, since 13
         from (x) => (y) { y = Neg (Neg (MeanVarianceNormalization <axes = @a> (x))) }
         to (x) => (y) { y = MeanVarianceNormalization (x) }",
        "",
    ),
    (
        "rule conv-group: rounding
         from (x, w) => (y) { y = Neg (Neg (Conv <group = @g> (x, w))) }
         to (x, w) => (y) { y = Conv (x, w) }",
        "",
    ),
];

/// Rules that are right, and apply only to values that few models have.
const RARE: &[&str] = &[
    "rule conv-groups: exact
     from (x, w) => (y) { y = Neg (Neg (Conv <group = @g, ...> (x, w))) }
     let { ok = Greater (@g, 1) }
     where ok
     to (x, w) => (y) { y = Conv <group = @g, ...> (x, w) }",
    "rule conv-transpose-groups: exact
     from (x, w, b) => (y) { y = Neg (Neg (ConvTranspose <group = @g, ...> (x, w, b))) }
     let { ok = Greater (@g, 1) }
     where ok
     to (x, w, b) => (y) { y = ConvTranspose <group = @g, ...> (x, w, b) }",
    "rule conv-kernel: rounding
     from (x, w) => (y) { y = Neg (Neg (Conv <kernel_shape = @k, ...> (x, w))) }
     let { ok = Greater (ReduceMax (@k), 1) }
     where ok
     to (x, w) => (y) { y = Conv <kernel_shape = @k, ...> (x, w) }",
    "rule gather-one: exact
     from (x, i) => (y) { y = Neg (Neg (Gather <axis = @a> (x, i))) }
     let { ok = Less (i, 0) }
     where ok, rank(i) == 0
     to (x, i) => (y) { y = Gather <axis = @a> (x, i) }",
    "rule split-parts: exact, since 13
     from (x, p) => (a, b) { a, b = Split (Neg (Neg (x)), p) }
     let { ok = Less (Gather (p, 0), Gather (p, 1)) }
     where ok
     to (x, p) => (a, b) { a, b = Split (x, p) }",
    "rule add-equal: exact
     from (x, a, b) => (y) { y = Sub (Max (x, a), Neg (b)) }
     let { ok = Equal (a, b) }
     where ok, shape(a) == shape(b), elem(x) in (int32, int64)
     to (x, a) => (y) { y = Add (Max (x, a), a) }",
    "rule normalize-axes: exact, since 17
     from (x, s) => (y) { y = Neg (Neg (LayerNormalization <axis = @a> (x, s))) }
     where rank(s) == 2
     to (x, s) => (y) { y = LayerNormalization <axis = @a> (x, s) }",
    "rule largest: exact, since 11
     from (x, k) => (v, i) { v, i = TopK <axis = @a> (Neg (Neg (x)), k) }
     where elem(x) in floats
     to (x, k) => (v, i) { v, i = TopK <axis = @a> (x, k) }",
];

/// The sizes of an operand are those of the one that a condition compares it with.
#[test]
fn operands_of_one_shape_are_generated() {
    let text = "rule cos-sin: exact
         from (x, c, s) => (y) { y = Sub (Neg (Neg (Mul (x, c))), s) }
         where shape(c) == shape(s), rank(c) == 3
         to (x, c, s) => (y) { y = Sub (Mul (x, c), s) }";
    let results = examine(&RuleSet::parse(text).unwrap(), &ExamineOptions::default());
    assert!(results[0].is_fine() && results[0].verdicts.iter().sum::<usize>() >= 8, "{results:#?}");
}

#[test]
fn rules_about_rare_values_are_tested() {
    for text in RARE {
        let rules = RuleSet::parse(text).unwrap();
        let results = examine(&rules, &ExamineOptions::default().with_edits(8).with_attempts(2000));
        assert!(results[0].is_fine(), "{results:#?}");
    }
}

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
fn an_attribute_that_is_dropped_must_have_an_effect() {
    let examined = |name: &str| {
        let text = format!(
            "rule drop: rounding, since 17
             from (x, s) => (y) {{ y = Neg (Neg (LayerNormalization <{name} = @a> (x, s))) }}
             to (x, s) => (y) {{ y = LayerNormalization (x, s) }}"
        );
        examine(&RuleSet::parse(&text).unwrap(), &ExamineOptions::default()).remove(0)
    };
    let result = examined("stash_type");
    assert!(result.failures.is_empty() && result.verdicts != [0; 3] && !result.is_fine(), "{result:#?}");
    let sentence =
        "the attribute `stash_type` of `LayerNormalization` changed no result of a generated model";
    assert_eq!(result.untested, [sentence]);
    let result = examined("epsilon");
    assert!(!result.failures.is_empty() && result.untested.is_empty(), "{result:#?}");
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

/// The tests of rules as `onnx check --prove` makes them.
fn examined_whatever_cost(text: &str) -> onnx_rewrite::Examined {
    let rules = RuleSet::parse_whatever_cost(text, onnx_schema::Registry::STANDARD).unwrap();
    examine(&rules, &ExamineOptions::default().with_edits(72).with_attempts(1200)).remove(0)
}

/// Operands of products are vectors, matrices and batches, and each is broadcast.
#[test]
fn wrong_rules_about_ranks_of_products_fail() {
    for sides in [
        "from (a, b, c) => (y) { y = MatMul (MatMul (a, b), c) } where elem(a) == float
         to (a, b, c) => (y) { y = MatMul (a, MatMul (b, c)) }",
        "from (a, b) => (y) { y = ReduceSum (MatMul (a, b), [-1]) } where elem(a) == float
         to (a, b) => (y) { y = MatMul (a, ReduceSum (b, [-1])) }",
        "from (a, b) => (y) { y = ReduceSum (MatMul (a, b), [-2]) } where elem(a) == float
         to (a, b) => (y) { y = MatMul (ReduceSum (a, [-2]), b) }",
        "from (a, b) => (y) { y = Unsqueeze (MatMul (a, b), [0]) } where elem(a) == float
         to (a, b) => (y) { y = MatMul (Unsqueeze (a, [0]), b) }",
        "from (a, b) => (y) { y = Shape (MatMul (a, b)) } where 2 <= rank(a), 2 <= rank(b)
         to (a, b) => (y) { y = Concat <axis = 0> (Slice (Shape (a), [0], [-1]), Slice (Shape (b), [-1], [1000])) }",
        "from (a, b, c) => (y) { y = Add (MatMul (a, b), MatMul (a, c)) } where elem(a) == float
         to (a, b, c) => (y) { y = MatMul (a, Add (b, c)) }",
        "from (a, b) => (y) { y = Size (Shape (MatMul (a, b))) } where elem(a) == float
         to (a, b) => (y) { y = Size (Shape (a)) }",
        "from (a, b, c) => (y) { y = Gemm (a, b, c) } where elem(a) == float
         to (a, b, c) => (y) { y = Transpose (Gemm (Transpose (b), Transpose (a), Transpose (c))) }",
    ] {
        let result = examined_whatever_cost(&format!("rule wrong: rounding, since 18 {sides}"));
        assert!(!result.failures.is_empty(), "{sides}: {result:#?}");
    }
}

/// Two sizes that are not known are -1 in `rule.Sizes`, and different in a run: one is broadcast.
#[test]
fn wrong_rules_about_sizes_that_are_not_known_fail() {
    const OPERANDS: &str =
        "let { ok = Equal (rule.Sizes (x), rule.Sizes (z)) } where ok, rank(x) == rank(z), elem(x) == float";
    const DIMS: &str =
        "let { ok = Equal (rule.Dims (x), rule.Dims (z)) } where ok, rank(x) == rank(z), elem(x) == float";
    const FIRST: &str = "let { ok = Equal (Gather (rule.Sizes (x), [0]), Gather (rule.Sizes (z), [0])) }
         where ok, rank(x) == 3, rank(z) == 3, elem(x) == float";
    for (left, sizes, right) in [
        ("Shape (Add (x, z))", OPERANDS, "Shape (x)"),
        ("Expand (x, Shape (Add (x, z)))", OPERANDS, "Identity (x)"),
        ("ReduceSum (Add (x, z), [0])", OPERANDS, "Add (ReduceSum (x, [0]), ReduceSum (z, [0]))"),
        ("Gather <axis = 0> (Shape (Max (x, z)), [0])", OPERANDS, "Gather <axis = 0> (Shape (x), [0])"),
        ("Shape (Equal (x, z))", OPERANDS, "Shape (x)"),
        ("Shape (Sub (x, z))", DIMS, "Shape (x)"),
        ("Shape (Where (Less (x, z), x, z))", OPERANDS, "Shape (z)"),
        ("Shape (Concat <axis = 0> (x, z))", OPERANDS, "Shape (Concat <axis = 0> (x, x))"),
        ("Slice (Shape (Mul (x, z)), [0], [1], [0], [1])", FIRST, "Slice (Shape (x), [0], [1], [0], [1])"),
        (
            "Shape (MatMul (x, z))",
            FIRST,
            "Concat <axis = 0> (Slice (Shape (x), [0], [2], [0], [1]), Slice (Shape (z), [2], [3], [0], [1]))",
        ),
    ] {
        let text = format!(
            "rule wrong: rounding, since 13 from (x, z) => (y) {{ y = {left} }} {sizes} to (x, z) => (y) {{ y = {right} }}"
        );
        let rules = RuleSet::parse_whatever_cost(&text, onnx_schema::Registry::STANDARD).unwrap();
        let result = examine(&rules, &ExamineOptions::default()).remove(0);
        assert!(!result.failures.is_empty(), "{left}: {result:#?}");
    }
}

/// A comparison with one number jumps where arithmetic with another one gives it.
#[test]
fn wrong_rules_about_two_numbers_fail() {
    for (condition, elem) in [
        ("Equal (Cast <to = 6> (Mul (x, 10.0)), 12345)", "float"),
        ("Equal (Add (x, 1234), 7777)", "int32"),
        ("Equal (BitwiseXor (x, 4660), 22136)", "int64"),
    ] {
        let result = examined_whatever_cost(&format!(
            "rule wrong: exact, since 18 from (x) => (y) {{ y = Where ({condition}, x, Neg (x)) }}
             where elem(x) == {elem} to (x) => (y) {{ y = Neg (x) }}"
        ));
        assert!(!result.failures.is_empty(), "{condition}: {result:#?}");
    }
}

/// Conditions hold for one element, and for numbers next to those that they name.
#[test]
fn wrong_rules_about_numbers_of_conditions_fail() {
    for (class, sides) in [
        (
            "rounding",
            "from (x, c) => (y) { y = Div (x, c) } let { ok = Equal (ReduceMin <keepdims = 0> (c), 1.0) }
             where elem(x) == float, ok to (x, c) => (x) {}",
        ),
        (
            "exact",
            "from (x, k) => (v, i) { v, i = TopK (x, k) } let { ok = Greater (k, 2) }
             where ok to (x, k) => (v, i) { v, i = TopK (x, [3]) }",
        ),
        (
            "rounding",
            "from (x) => (y) { y = LpPool <kernel_shape = @k, p = @p> (x) } let { ok = Greater (@p, 2) }
             where ok to (x) => (y) { y = LpPool <kernel_shape = @k, p = 3> (x) }",
        ),
        (
            "rounding",
            "from (x, p) => (y) { y = Pow (x, p) } let { ok = And (Greater (p, 1.9), Less (p, 2.1)) }
             where elem(x) == float, ok to (x, p) => (y) { y = Mul (x, x) }",
        ),
        (
            "exact",
            "from (x) => (y) { y = Expand (x, [1, 7]) } where elem(x) == float, rank(x) == 2
             to (x) => (y) { y = Concat <axis = -1> (x, x, x, x, x, x, x) }",
        ),
        (
            "exact",
            "from (x) => (y) { y = LeakyRelu <alpha = @a> (x) } let { ok = Less (@a, 1.0) }
             where elem(x) == float, ok, granted(finite) to (x) => (y) { y = Max (x, Mul (x, @a)) }",
        ),
    ] {
        let result = examined_whatever_cost(&format!("rule wrong: {class}, since 18 {sides}"));
        assert!(!result.failures.is_empty(), "{sides}: {result:#?}");
    }
}

/// The types of literals follow from attributes, from operators with one type, from results, and from single literals.
#[test]
fn literals_have_the_types_that_something_determines() {
    for rule in [
        "exact from (x) => (y) { y = Div (x, 10) } where elem(x) == uint8
         to (x) => (y) { y = Cast <to = 2> (Div (Mul (Cast <to = 6> (x), 205), 2048)) }",
        "exact from (x) => (y) { y = Shape (Transpose <perm = [1, 0, 2]> (x)) }
         to (x) => (y) { y = Gather <axis = 0> (Shape (x), [1, 0, 2]) }",
        "exact from (x) => (y) { y = Slice (Slice (x, [0], [1000000], [0], [2]), [0], [5], [0], [1]) }
         to (x) => (y) { y = Slice (x, [0], [9], [0], [2]) }",
        "exact from (x) => (y) { y = Cast <to = 10> (Greater (x, 0.0)) } where elem(x) == float
         to (x) => (y) { y = Where (Greater (x, 0.0), 1.0, 0.0) }",
        "exact from (x) => (y) { y = Size (x) } where rank(x) == 2
         to (x) => (y) { y = Mul (Gather (Shape (x), 0), Mul (Gather (Shape (x), 1), 1)) }",
    ] {
        let result = examined_whatever_cost(&format!("rule right: {rule}"));
        assert!(result.is_fine(), "{rule}: {result:#?}");
    }
}

/// Rules that replace what may be random are refused there, and this is stated.
#[test]
fn models_with_random_results_are_counted() {
    let result = examined_whatever_cost(
        "rule dropout: exact, since 13
         from (x, r?, t?) => (y) { y = Dropout (x, r, t) }
         to (x, r?, t?) => (x) {}",
    );
    assert!(result.is_fine() && result.random > 0, "{result:#?}");
}
