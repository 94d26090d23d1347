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
        &["2:23: the operator `Negg` does not exist; did you mean `Neg`?"],
    );
    check(
        "rule a: exact\nfrom (x) => (y) { y = Transpose <prem = @p> (x) }\nto (x) => (x) {}",
        &["2:34: `Transpose` has no attribute `prem`; did you mean `perm`?"],
    );
    check(
        "rule a: exact\nfrom (x) => (y) { y = Transpose <perm = > (x) }\nto (x) => (x) {}",
        &["2:41: expected a value, found `>`"],
    );
    check(
        "rule a: exact\nfrom (x, z) => (y) { y = Neg (x) }\nto (x) => (x) {}",
        &["2:10: no node of the left side uses `z`"],
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
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nlet { k = rule.Length (x) }\nto (x) => (x) {}",
        &[
            "3:11: `rule.Length` does not exist; the intrinsics are `rule.Shape`, `rule.Sizes`, `rule.Rank`, `rule.Dims`, `rule.Axes`, `rule.Elem`",
        ],
    );
}

/// A text with a mistake of each kind.
const MISTAKES: &[(&str, &[&str])] = &[
    // What callers grant.
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (Neg (x)) }\nwhere granted(no-inf)\nto (x) => (x) {}",
        &["3:15: a caller grants `no-nan`, `finite` or `no-negative-zero`"],
    ),
    // Sections.
    (
        "rule a: exact, since 99\nfrom (x) => (y) { y = Neg (x) }\nto (x) => (x) {}",
        &["1:22: the default operator set has the versions 1 to 28"],
    ),
    (
        "rule a: exact, since 0\nfrom (x) => (y) { y = Neg (x) }\nto (x) => (x) {}",
        &["1:22: the default operator set has the versions 1 to 28"],
    ),
    ("rule : exact", &["1:6: expected the name of the rule, found `:`"]),
    ("rule a exact", &["1:8: expected `:`, found `exact`"]),
    ("rule a: exact, since\n", &["1:21: expected an integer, found the end"]),
    ("rule a: exact, since x", &["1:22: expected an integer, found `x`"]),
    (
        "rule a: exact\nto (x) => (x) {}",
        &[
            "2:1: expected `from`, found `to`: the sections of a rule are in the order `from`, `let`, `where`, `to`, each at most once",
        ],
    ),
    ("rule a: exact\nfrom (x) => (y) { y = Neg (x) }\n", &["2:32: expected `to`, found the end"]),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nto (x) => (x) {} 1",
        &["3:18: expected the next rule, found `1`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nto (x) => (x) {}\nrule a: exact\nfrom (x) => (y) { y = Neg (x) }\nto (x) => (x) {}",
        &["4:1: there are two rules `a`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nlet k = Shape (x)\nto (x) => (x) {}",
        &["3:5: expected `{`, found `k`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere\nto (x) => (x) {}",
        &["4:1: expected a condition, found `to`"],
    ),
    // Signatures.
    ("rule a: exact\nfrom x => (y) {}", &["2:6: expected `(`, found `x`"]),
    ("rule a: exact\nfrom (x, x) => (y) { y = Neg (x) }\nto (x) => (x) {}", &["2:10: `x` is defined twice"]),
    ("rule a: exact\nfrom (1) => (y) {}", &["2:7: expected the name of an operand, found `1`"]),
    ("rule a: exact\nfrom (x) -> (y) {}", &["2:10: expected `=>`, found `-`"]),
    ("rule a: exact\nfrom (x) => () {}", &["2:14: expected the name of a result, found `)`"]),
    ("rule a: exact\nfrom (x) => (z) { y = Neg (x) }\nto (x) => (x) {}", &["2:14: nothing defines `z`"]),
    ("rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nto (z) => (z) {}", &["3:5: nothing defines `z`"]),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nto (x) => (x, x) {}",
        &["3:15: the sides have different numbers of results: 1 before, 2 after"],
    ),
    (
        "rule a: exact\nfrom (x) => (x) { y = Neg (x) }\nto (x) => (x) {}",
        &["2:14: no node of the left side makes `x`", "2:23: no result needs this `Neg`"],
    ),
    // Nodes.
    (
        "rule a: exact\nfrom (p*, q*, r*) => (y) { y = Sum (p*, q*, r*) }\nto (p*, q*, r*) => (y) { y = Identity (p*) }",
        &[
            "2:32: a node has at most two operands with `*`",
            "3:30: `Identity` does not have any number of operands",
        ],
    ),
    ("rule a: exact\nfrom (x) => (y) { Neg (x) }\nto (x) => (x) {}", &["2:23: expected `=`, found `(`"]),
    ("rule a: exact\nfrom (x) => (y) { y =  }\nto (x) => (x) {}", &["2:24: expected an operator, found `}`"]),
    ("rule a: exact\nfrom (x) => (y) { y = Neg x }\nto (x) => (x) {}", &["2:27: expected `(`, found `x`"]),
    ("rule a: exact\nfrom (x) => (y) { y = Neg (x }\nto (x) => (x) {}", &["2:30: expected `)`, found `}`"]),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) y = Neg (x) }\nto (x) => (x) {}",
        &["2:31: `y` is defined twice"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) z = Abs (x) }\nto (x) => (x) {}",
        &["2:35: no result needs this `Abs`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = com. (x) }\nto (x) => (x) {}",
        &["2:28: expected an operator after the dot, found `(`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg () }\nto (x) => (x) {}",
        &["2:7: no node of the left side uses `x`", "2:23: `Neg` does not have 0 operands"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x, x) }\nto (x) => (x) {}",
        &["2:23: `Neg` does not have 2 operands"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y, z = Neg (x) }\nto (x) => (x) {}",
        &["2:26: `Neg` does not have 2 results"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = rule.Rank (x) }\nto (x) => (x) {}",
        &["2:23: operators of the domain `rule` are for `let`"],
    ),
    (
        "rule a: exact\nfrom (x*) => (y) { y = Neg (x*) }\nto (x) => (x) {}",
        &["2:24: `Neg` does not have any number of operands"],
    ),
    // Alternatives, defaults, and operands.
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nto (x) => (y) { y = Neg (x) | Abs (x) }",
        &["3:29: only the left side of a rule has alternatives"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y, z = Neg (x) | Abs (x) }\nto (x) => (x) {}",
        &["2:19: a node with alternatives has one result"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Add (x, x : 0.0) }\nto (x) => (x) {}",
        &["2:31: the left side of a rule has no defaults of operands"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Add (x, @p) }\nto (x) => (x) {}",
        &["2:31: an attribute is not an operand on the left side of a rule"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Add (x, -) }\nto (x) => (x) {}",
        &["2:32: expected a number, found `)`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Add (x, [1, x]) }\nto (x) => (x) {}",
        &["2:35: expected a number, found `x`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Add (x, [1 }\nto (x) => (x) {}",
        &["2:34: expected `]`, found `}`"],
    ),
    // Attributes.
    (
        "rule a: exact\nfrom (x) => (y) { y = Transpose <perm = @p (x) }\nto (x) => (x) {}",
        &["2:44: expected `,` or `>`, found `(`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Transpose <perm> (x) }\nto (x) => (x) {}",
        &["2:38: expected `=`, found `>`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Transpose <perm = [0, 1], perm = [1, 0]> (x) }\nto (x) => (x) {}",
        &["2:49: the attribute `perm` is given twice"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Transpose <..., perm = @p> (x) }\nto (x) => (x) {}",
        &["2:37: expected `>` after `...`, found `,`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = If <then_branch = g () => () {}> (x) }\nto (x) => (x) {}",
        &["2:50: expected `{`, found the end of the text"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) z = Transpose <perm = @1> (y) }\nto (x) => (x) {}",
        &["2:54: expected the name of an attribute, found a number"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nto (x) => (y) { y = Transpose <perm = @p> (x) }",
        &["3:40: nothing defines `p`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nto (x) => (y) { y = Identity <...> (x) }",
        &["3:21: `...` copies the attributes of one `Identity` with `...` on the left side, not of 0"],
    ),
    // `let`.
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nlet { k = Nothing (x) }\nto (x) => (x) {}",
        &["3:11: the operator `Nothing` does not exist"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nlet { k = com.acme.Op (x) }\nto (x) => (x) {}",
        &["3:11: `let` has operators of the default domain and of `rule`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nlet { k = rule.Axes (x) }\nto (x) => (x) {}",
        &["3:11: `rule.Axes` takes two names, and has one result"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nlet { k = rule.Rank (1) }\nto (x) => (x) {}",
        &["3:11: `rule.Rank` takes a name, and has one result"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nlet { k = Shape (z) }\nto (x) => (x) {}",
        &["3:18: nothing defines `z`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nlet { y = Shape (x) }\nto (x) => (x) {}",
        &["3:7: `y` is defined twice"],
    ),
    // `where`.
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere z\nto (x) => (x) {}",
        &["3:7: nothing defines `z`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere x\nto (x) => (x) {}",
        &["3:7: `let` does not compute `x`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere elem(x) in animals\nto (x) => (x) {}",
        &[
            "3:18: expected `floats`, `integers`, `signed`, `unsigned`, `numbers` or a list of types, found `animals`",
        ],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere elem(x) == cow\nto (x) => (x) {}",
        &["3:18: expected an element type, found `cow`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere elem(x) floats\nto (x) => (x) {}",
        &["3:15: expected `in`, found `floats`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere elem(x) in (float, int99)\nto (x) => (x) {}",
        &["3:26: expected an element type, found `int99`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere uses(y) == 2\nto (x) => (x) {}",
        &["3:18: only `uses(…) == 1` is a condition"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere rank(x) < 3\nto (x) => (x) {}",
        &["3:15: expected `==` or `<=`, found `<`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere dim(x) == 3\nto (x) => (x) {}",
        &["3:12: expected `,`, found `)`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere dim(x, a) == 3\nto (x) => (x) {}",
        &["3:14: expected an integer, found `a`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere shape(x) == 3\nto (x) => (x) {}",
        &["3:19: expected `shape`, found `3`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere not shared(x)\nto (x) => (x) {}",
        &["3:11: expected `const`, found `shared`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere size(x) == 3\nto (x) => (x) {}",
        &["3:7: expected a condition, found `size`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere const(x) const(x)\nto (x) => (x) {}",
        &["3:16: expected `to`, found `const`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere elem(x) in floats, elem(x) in integers\nto (x) => (x) {}",
        &["3:26: no element type is possible for `x`"],
    ),
    // Kinds, and what `let` computes.
    (
        "rule a: exact\nfrom (x) => (y) { y = Transpose <perm = 1.5> (x) }\nto (x) => (x) {}",
        &["2:34: `Transpose` has the attribute `perm` of kind INTS, not FLOAT"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Transpose <perm = \"a\"> (x) }\nto (x) => (x) {}",
        &["2:34: `Transpose` has the attribute `perm` of kind INTS, not STRING"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Transpose <perm = @p> (x) }\nlet { q = Mul (@p, 1.5) }\nto (x) => (x) {}",
        &["3:11: `Mul` has operands of int64 here, and 1.5 is not one"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nlet { q = RandomNormal <shape = [1]> () }\nto (x) => (x) {}",
        &["3:11: `let` computes the same each time, and `RandomNormal` does not"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nlet { n = Size (rule.Rank (x)) }\nwhere n\nto (x) => (x) {}",
        &["4:7: `n` is of int64, and conditions are of bool"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Mul (x, 1e999) }\nto (x) => (x) {}",
        &["2:31: the number 1e999 cannot be represented"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Mul (x, 9223372036854775808) }\nto (x) => (x) {}",
        &["2:31: the number 9223372036854775808 cannot be represented"],
    ),
    // Attributes that are required, conditions that are never true, and what is not used.
    (
        "rule a: exact\nfrom (x) => (y) { y = Cast (x) }\nto (x) => (x) {}",
        &["2:23: `Cast` requires the attribute `to`"],
    ),
    (
        "rule a: exact\nfrom (x, p) => (y) { y = Pad <mode = \"refelct\"> (x, p) }\nto (x, p) => (x) {}",
        &["2:31: `mode` of `Pad` is `refelct`, not one of `constant`, `reflect`, `edge`, `wrap`"],
    ),
    ("rule a: exact\nfrom (x) => (y) { y = Cast <...> (x) }\nto (x) => (x) {}", &[]),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (Neg (x)) }\nto (x) => (y) { y = Concat (x) }",
        &["3:21: `Concat` requires the attribute `axis`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere rank(x) == -1\nto (x) => (x) {}",
        &["3:7: `rank(x) == -1` is never true"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nwhere dim(x, 0) <= -1\nto (x) => (x) {}",
        &["3:7: `dim(x, 0) <= -1` is never true"],
    ),
    // The versions to which the rule applies.
    (
        "rule a: exact\nfrom (x) => (y) { y = Cast <to = float> (Neg (x)) }\nto (x) => (y) { y = Neg (x) }",
        &["2:29: `Cast` has the attribute `to` of kind INT, not TYPE_PROTO; write `to = 1`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Cast <to = \"float\"> (Neg (x)) }\nto (x) => (y) { y = Neg (x) }",
        &["2:29: `Cast` has the attribute `to` of kind INT, not STRING; write `to = 1`"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg <consumed_inputs = [1]> (Neg (x)) }\nto (x) => (x) {}",
        &["2:28: `Neg` has no attribute `consumed_inputs`"],
    ),
    // What `let` computes for conditions and attributes.
    (
        "rule a: exact\nfrom (x, c) => (y) { y = Add (x, c) }\nlet { k = Add (c, 1) }\nwhere k\nto (x) => (x) {}",
        &["4:7: `k` is a result of `Add`, which is never of bool, as conditions are"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (Transpose <perm = @p> (x)) }\nlet { q = Cast <to = 1> (@p) }\nto (x) => (y) { y = Transpose <perm = @q> (x) }",
        &["4:32: `Transpose` has the attribute `perm` of kind INTS, and `q` is of float"],
    ),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (Not (x)) }\nto (x) => (x) {}",
        &["2:28: no element type is possible for the result of `Not`"],
    ),
    // The default domain has a name, too.
    ("rule a: exact\nfrom (x) => (y) { y = ai.onnx.Neg (ai.onnx.Neg (x)) }\nto (x) => (x) {}", &[]),
    (
        "rule a: exact\nfrom (x) => (y) { y = Neg (x) }\nlet { r = rule.Rank (x) }\nto (x) => (x) {}",
        &["3:11: nothing uses `r`, which `let` computes"],
    ),
];

#[test]
fn every_kind_of_mistake_has_a_position_and_a_message() {
    for (text, expected) in MISTAKES {
        check(text, expected);
    }
}

#[test]
fn sections_are_in_order() {
    let order = "the sections of a rule are in the order `from`, `let`, `where`, `to`, each at most once";
    let from = "from (x) => (y) { y = Neg (x) }\n";
    let text =
        format!("rule a: exact\n{from}where rank(x) == 2\nlet {{ r = rule.Rank (x) }}\nto (x) => (x) {{}}");
    check(&text, &[&format!("4:1: expected `to`, found `let`: {order}")]);
    let text = format!("rule a: exact\nwhere rank(x) == 2\n{from}to (x) => (x) {{}}");
    check(&text, &[&format!("2:1: expected `from`, found `where`: {order}")]);
    let text = format!("rule a: exact\n{from}to (x) => (x) {{}}\nwhere rank(x) == 2");
    check(&text, &[&format!("4:1: expected the next rule, found `where`: {order}")]);
}

#[test]
fn sizes_of_conditions_are_not_calculated() {
    let check = |condition: &str, expected: &str| {
        let text = format!(
            "rule a: exact\nfrom (x) => (y) {{ y = Neg (x) }}\nwhere {condition}\nto (x) => (x) {{}}"
        );
        check(&text, &[expected]);
    };
    let sizes = "a size is an integer, `rank(x)` or `dim(x, AXIS)`";
    let hint = "`let` calculates with the results of `rule.Shape` and `rule.Rank`";
    check("dim(x, 0) == 2 * dim(x, 1)", &format!("3:22: {sizes}; {hint}"));
    check("dim(x, 0) - 1 == 2", &format!("3:17: {sizes}; {hint}"));
    check("dim(x, 0) == n", &format!("3:20: expected a size, found `n`: {sizes}"));
    check("2 == dim(x 1)", "3:18: expected `,`, found `1`");
}

#[test]
fn a_word_is_not_the_value_of_an_attribute() {
    let check = |attributes: &str, expected: &str| {
        let text = format!(
            "rule a: exact\nfrom (x) => (y) {{ y = Transpose <{attributes}> (x) }}\nto (x) => (x) {{}}"
        );
        check(&text, &[expected]);
    };
    let written = "an attribute variable is written `@eps`, a string `\"eps\"`";
    check("epsilon = eps", &format!("2:44: `eps` is not a value: {written}"));
    check("axis = 1, epsilon = eps, ...", &format!("2:54: `eps` is not a value: {written}"));
    check("epsilon = eps, axis = 1", &format!("2:44: `eps` is not a value: {written}"));
    check(
        "perm = [a, b]",
        "2:42: `a` is not a number: an attribute variable stands for a whole list, as in `axes = @a`",
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
