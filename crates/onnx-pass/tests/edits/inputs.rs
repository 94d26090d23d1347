//! Claims that only particular inputs refute: strings, large sizes, and types for which inputs are made in other ways.

use onnx_pass::{Equivalence, PassOptions, Verdict, prove};

/// The verdict about two bodies with the result `y`.
fn verdict(class: &str, inputs: &str, before: &str, after: &str) -> Verdict {
    let names: Vec<&str> = inputs.split("; ").filter_map(|input| input.rsplit(' ').next()).collect();
    let (names, inputs) = (names.join(", "), inputs.replace("; ", ", "));
    let text = format!(
        r#"<ir_version: 13, opset_import: ["": 25, "onnx.pass": 1], metadata_props: ["equivalence.class": "{class}"]>
        g ({inputs}) => (a, b) {{ a = onnx.pass.before ({names})  b = onnx.pass.after ({names}) }}
        <domain: "onnx.pass", opset_import: ["": 25]> before ({names}) => (y) {{ {before} }}
        <domain: "onnx.pass", opset_import: ["": 25]> after ({names}) => (y) {{ {after} }}"#
    );
    prove(&Equivalence::parse(&text).unwrap(), &PassOptions::default())
}

fn is_refuted(class: &str, inputs: &str, before: &str, after: &str) {
    let verdict = verdict(class, inputs, before, after);
    assert!(verdict.is_refuted(), "{before} | {after}: {verdict}");
}

fn is_accepted(class: &str, inputs: &str, before: &str, after: &str) {
    let verdict = verdict(class, inputs, before, after);
    let is_accepted = matches!(verdict, Verdict::Tested { .. } | Verdict::Proved(_));
    assert!(is_accepted, "{before} | {after}: {verdict}");
}

#[test]
fn strings_of_both_cases_and_words_of_the_claim_are_tried() {
    let wrong = [
        (r#"y = StringNormalizer <case_change_action = "LOWER"> (x)"#, "y = Identity (x)"),
        (r#"y = StringNormalizer <case_change_action = "UPPER"> (x)"#, "y = Identity (x)"),
        (
            r#"y = RegexFullMatch <pattern = "[a-z]*"> (x)"#,
            r#"y = RegexFullMatch <pattern = "[A-Za-z]*"> (x)"#,
        ),
        (
            r#"y = RegexFullMatch <pattern = "[a-z]*"> (x)"#,
            r#"y = RegexFullMatch <pattern = "[a-z0-9]*"> (x)"#,
        ),
        (r#"y = RegexFullMatch <pattern = "zebra|cat"> (x)"#, r#"y = RegexFullMatch <pattern = "cat"> (x)"#),
        (r#"y = RegexFullMatch <pattern = "zebra"> (x)"#, r#"y = RegexFullMatch <pattern = "[Zz]ebra"> (x)"#),
    ];
    for (before, after) in wrong {
        is_refuted("exact", "string[3] x", before, after);
    }
    let words = r#"y = StringNormalizer <stopwords = ["zebra"], is_case_sensitive = 1> (x)"#;
    is_refuted("exact", "string[N] x", words, "y = Identity (x)");
    let any_case = r#"y = StringNormalizer <stopwords = ["Zebra"], is_case_sensitive = 0> (x)"#;
    is_refuted("exact", "string[N] x", any_case, &any_case.replace("sensitive = 0", "sensitive = 1"));
    let lower = r#"y = StringNormalizer <case_change_action = "LOWER"> (x)"#;
    let twice = r#"t = StringNormalizer <case_change_action = "LOWER"> (x)
        y = StringNormalizer <case_change_action = "LOWER"> (t)"#;
    is_accepted("exact", "string[N] x", twice, lower);
}

#[test]
fn sizes_beside_the_integers_of_a_claim_are_tried() {
    let slice = |end: i64| {
        format!(
            "b = Constant <value = int64[1] {{0}}> ()  e = Constant <value = int64[1] {{{end}}}> ()
             y = Slice (x, b, e, b)"
        )
    };
    for end in [100, 130, 512, 1000, 1024, 4096, 20_000] {
        is_refuted("exact", "float[N] x", &slice(i64::MAX), &slice(end));
        is_refuted("exact", "float[N,M] x", &slice(i64::MAX), &slice(end));
    }
    is_accepted("exact", "float[N] x", &slice(i64::MAX), "y = Identity (x)");
}

#[test]
fn inputs_of_all_types_are_made() {
    for elem in ["int4", "uint4", "int2", "float8e4m3fn", "float8e5m2", "float4e2m1", "bfloat16", "complex64"]
    {
        let input = format!("{elem}[N,M] x");
        is_accepted("exact", &input, "t = Transpose (x)  y = Transpose (t)", "y = Identity (x)");
        is_refuted("exact", &input, "y = Transpose <perm = [0, 1]> (x)", "y = Transpose (x)");
    }
    let sequence = "seq(float[N]) x";
    is_accepted("exact", sequence, "t = Identity (x)  y = SequenceLength (t)", "y = SequenceLength (x)");
    is_refuted(
        "exact",
        sequence,
        "p = Constant <value = int64 {0}> ()  y = SequenceAt (x, p)",
        "p = Constant <value = int64 {-1}> ()  y = SequenceAt (x, p)",
    );
    is_refuted(
        "exact",
        sequence,
        "y = Identity (x)",
        "p = Constant <value = int64 {0}> ()  y = SequenceErase (x, p)",
    );
    is_refuted(
        "exact",
        "optional(float[N]) x",
        "y = OptionalHasElement (x)",
        "y = Constant <value = bool {1}> ()",
    );
}

#[test]
fn a_rounding_that_is_magnified_refutes_nothing() {
    let sum = "e = Exp (x)  a = Constant <value = int64[1] {0}> ()  s = ReduceSum (e, a)  y = Log (s)";
    let one = |number: &str| {
        format!("e = Exp (x)  o = Constant <value = double {{{number}}}> ()  s = Add (e, o)  y = Log (s)")
    };
    is_accepted(
        "rounding",
        "double[N,M] x",
        sum,
        "a = Constant <value = int64[1] {0}> ()  y = ReduceLogSumExp (x, a)",
    );
    is_accepted("rounding", "double[N] x", &one("1.0"), "y = Softplus (x)");
    is_refuted("rounding", "double[N] x", &one("1.0001"), "y = Softplus (x)");
    is_refuted(
        "rounding",
        "double[N,M] x",
        sum,
        "a = Constant <value = int64[1] {0}> ()  t = ReduceLogSumExp (x, a)
         f = Constant <value = double {1.0001}> ()  y = Mul (t, f)",
    );
}

/// Nothing is rounded next to these numbers, so that a difference is not one of roundings.
#[test]
fn ties_and_thresholds_tell_claims_about_real_numbers_apart() {
    let number = |name: &str, number: &str| format!("{name} = Constant <value = float {{{number}}}> ()  ");
    let half_up = number("h", "0.5") + "t = Add (x, h)  y = Floor (t)";
    is_refuted("rounding", "float[N,M] x", "y = Round (x)", &half_up);
    is_refuted("rounding", "double[3] x", "y = Round (x)", &half_up.replace("float", "double"));
    let compared = |operator: &str, threshold: &str| {
        number("n", threshold) + &format!("c = {operator} (x, n)  f = Cast <to = 1> (c)  y = Mul (x, f)")
    };
    for (alpha, is_right) in [("1.0", false), ("0.1", false), ("2.5", false), ("0.0", true)] {
        let before = format!("y = ThresholdedRelu <alpha = {alpha}> (x)");
        is_accepted("rounding", "float[N,M] x", &before, &compared("Greater", alpha));
        // Both give zero at zero.
        let judge = if is_right { is_accepted } else { is_refuted };
        judge("rounding", "float[N,M] x", &before, &compared("GreaterOrEqual", alpha));
    }
    let scaled = number("two", "2.0") + "t = Mul (x, two)  ";
    is_refuted(
        "rounding",
        "float[4] x",
        &(scaled.clone() + "y = Ceil (t)"),
        &(scaled + "f = Floor (t)  o = Constant <value = float {1.0}> ()  y = Add (f, o)"),
    );
    // A quotient is rounded, so that its floor may be another one.
    let third = number("three", "3.0");
    is_accepted(
        "rounding",
        "float[N] x",
        &(third + "d = Div (x, three)  m = Mul (d, three)  y = Floor (m)"),
        "y = Floor (x)",
    );
    let quantized = |scale: &str| number("s", scale) + "q = QuantizeLinear (x, s)  y = Cast <to = 1> (q)";
    is_accepted("rounding", "float[N] x", &quantized("0.1"), &quantized("0.1"));
}

#[test]
fn strings_that_match_a_pattern_are_tried() {
    let pattern = |text: &str| format!("y = RegexFullMatch <pattern = \"{text}\"> (x)");
    for (one, other) in [
        ("https?://.*", "http://.*"),
        ("[0-9]{4}-[0-9]{2}", "[0-9]{4}-[0-1][0-9]"),
        (".{0,40}", ".*"),
        (".*", "(?s).*"),
        ("(red|green|blue)+", "(red|green)+"),
        ("[a-f]+x?", "[a-f]+"),
        ("a{3,}", "a{3,7}"),
        ("a.c", "a[^b]c|abc"),
    ] {
        for input in ["string[N] x", "string[2] x"] {
            is_refuted("exact", input, &pattern(one), &pattern(other));
        }
    }
    is_accepted("exact", "string[N] x", &pattern("(a|b)*"), &pattern("[ab]*"));
    let split = |most: &str| format!("y, n = StringSplit <delimiter = \"-\"{most}> (x)  ");
    let count = |most: &str| split(most).replace("y, n", "t, y");
    is_refuted("exact", "string[N] x", &count(""), &count(", maxsplit = 5"));
    let sign = "f = Cast <to = 1> (x)  z = Constant <value = float {0.0}> ()  y = Less (f, z)";
    is_refuted("exact", "string[N] x", sign, &pattern("-.*"));
}

#[test]
fn sizes_are_tried_in_combination() {
    let sizes = "i = Constant <value = int64[1] {0}> ()  s = Shape (x)  t = Shape (z)
                 n = Gather (s, i)  m = Gather (t, i)  ";
    let number = |name: &str, number: i64| format!("{name} = Constant <value = int64[1] {{{number}}}> ()  ");
    let never = "i = Constant <value = int64[1] {0}> ()  s = Shape (x)  n = Gather (s, i)  y = Less (n, i)";
    let three_and_five =
        [sizes, &number("a", 3), &number("b", 5), "p = Equal (n, a)  q = Equal (m, b)  y = And (p, q)"]
            .concat();
    let sum = [
        sizes,
        &number("a", 3),
        &number("b", 5),
        &number("c", 46),
        "p = Mul (n, a)  q = Mul (m, b)  r = Add (p, q)  y = Equal (r, c)",
    ]
    .concat();
    let distance = [sizes, &number("a", 7), "p = Add (m, a)  y = Equal (n, p)"].concat();
    let product = [sizes, &number("a", 91), "p = Mul (m, n)  y = Equal (p, a)"].concat();
    for wrong in [three_and_five, sum, distance, product] {
        is_refuted("exact", "float[N,K] x; float[M,2] z", &wrong, never);
    }
    let remainder = [sizes, &number("a", 31), &number("b", 29), "p = Mod (n, a)  y = Equal (p, b)"].concat();
    is_refuted("exact", "float[N] x; float[2] z", &remainder, never);
    is_accepted(
        "exact",
        "float[N,K] x; float[M,2] z",
        &[sizes, "y = Max (n, m)"].concat(),
        &[sizes, "y = Max (m, n)"].concat(),
    );
}

#[test]
fn every_element_of_a_table_is_read() {
    let table = |length: usize, changed: usize| {
        let mut elements: Vec<String> = (0..length).map(|index| (index % 97).to_string()).collect();
        if let Some(element) = elements.get_mut(changed) {
            *element = "-1".to_owned();
        }
        format!("t = Constant <value = int32[{length}] {{{}}}> ()  ", elements.join(", "))
    };
    let gather = "y = Gather (t, x)";
    for (length, changed) in [(12, 11), (5003, 5002), (5003, 2501), (4096, 4000)] {
        for input in ["int64[N] x", "int32[N,M] x", "int64[2,3] x"] {
            is_refuted("exact", input, &(table(length, length) + gather), &(table(length, changed) + gather));
        }
    }
    is_accepted(
        "exact",
        "int64[N] x",
        &(table(5003, 7) + gather),
        &(table(5003, 7) + "j = Identity (x)  y = Gather (t, j)"),
    );
    // Through a conversion of the indices.
    let converted = "i = Cast <to = 7> (x)  y = Gather (t, i)";
    is_refuted("exact", "float[N] x", &(table(3000, 3000) + converted), &(table(3000, 2999) + converted));
}

#[test]
fn rows_of_one_kind_are_tried() {
    let list = |name: &str, elements: &str| format!("{name} = Constant <value = {elements}> ()  ");
    let last = list("a", "int64[1] {-1}");
    // Rows of zeros, in ascending order, and of equal numbers.
    let norm = last.clone() + "n = ReduceL2 (x, a)  ";
    let guarded = norm.clone() + &list("e", "float {1e-12}") + "m = Max (n, e)  y = Div (x, m)";
    is_refuted("rounding", "float[N,M] x", &guarded, &(norm + "y = Div (x, n)"));
    let top = list("k", "int64[1] {3}") + "v, i = TopK (x, k)  ";
    is_refuted(
        "exact",
        "float[2,3] x",
        &(top + "y = Identity (v)"),
        &(list("k", "int64[1] {3}") + "v, i = TopK <largest = 0> (x, k)  y = Identity (v)"),
    );
    // All elements of a long axis count.
    let count = list("a", "int64 {0}") + "s = Sign (x)  b = Abs (s)  c = CumSum (b, a)  ";
    for most in [64, 1000] {
        let limited = count.clone() + &list("m", &format!("int64 {{{most}}}")) + "y = Min (c, m)";
        for input in ["int64[N,M] x".to_owned(), format!("int64[{},2] x", most + 1)] {
            is_refuted("exact", &input, &limited, &(count.clone() + "y = Identity (c)"));
        }
    }
    is_accepted(
        "rounding",
        "float[N,M] x",
        &(last.clone() + "y = ReduceMax (x, a)"),
        &(last + "n = Neg (x)  m = ReduceMin (n, a)  y = Neg (m)"),
    );
}
