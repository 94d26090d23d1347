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
