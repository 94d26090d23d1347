//! Equivalences as texts.

use onnx_ir::Position;
use onnx_ops::ops;
use onnx_pass::{Equivalence, Exactness, Level, PassCx, PassOptions, Verdict, prove};

use crate::{parse, value};

/// An equivalence with one input and one output on each side.
pub(crate) fn claim(class: &str, assume: &[&str], input: &str, before: &str, after: &str) -> String {
    let assume: Vec<String> = assume
        .iter()
        .enumerate()
        .map(|(index, text)| format!(", \"equivalence.assume.{index}\": \"{text}\""))
        .collect();
    format!(
        r#"<ir_version: 10, opset_import: ["": 20, "onnx.pass": 1],
            metadata_props: ["equivalence.class": "{class}"{}]>
        equivalence ({input}) => (b, a) {{
            b = onnx.pass.before (x)
            a = onnx.pass.after (x)
        }}
        <domain: "onnx.pass", opset_import: ["": 20, "com.example": 1]> before (x) => (y) {{ {before} }}
        <domain: "onnx.pass", opset_import: ["": 20]> after (x) => (y) {{ {after} }}"#,
        assume.concat()
    )
}

#[track_caller]
fn check(claim: &str, verdict: &str) {
    let eq = Equivalence::parse(claim).unwrap();
    let found = prove(&eq, &PassOptions::default()).to_string();
    assert_eq!(found.lines().collect::<Vec<_>>().join(" | "), verdict);
    let again = Equivalence::parse(&eq.text().unwrap()).unwrap();
    // The text has the assumptions, which name symbols of two models.
    assert_eq!((again.hash().unwrap(), again.text().unwrap()), (eq.hash().unwrap(), eq.text().unwrap()));
}

#[test]
fn equal_sides_are_proved() {
    check(&claim("exact", &[], "float[N] x", "y = Exp (x)", "y = Exp (x)"), "proved by congruence");
}

#[test]
fn runs_in_which_the_old_side_fails_do_not_count() {
    let old = "c = Constant <value = int64[2] {1, -5}> () y = Reshape (x, c)";
    check(
        &claim("exact", &[], "float[N] x", old, "y = Identity (x)"),
        "untested: the old side completes in no run: -5 is not a size",
    );
}

#[test]
fn relations_restrict_the_sizes() {
    let old = "t = Transpose (x) y = Shape (t)";
    let new = "y = Shape (x)";
    check(
        &claim("exact", &[], "float[N,M] x", old, new),
        "refuted: | x = float[2,3] {0.375, -4.0, -2.25, 4.0, -1.875, 2.875} | output 0[0] is 3 before and 2 after",
    );
    check(&claim("exact", &["equal: N ; M"], "float[N,M] x", old, new), "tested in 24 runs (24 attempts)");
}

#[test]
fn a_known_size_that_the_edit_depends_on_is_not_replaced_by_a_smaller_one() {
    let old = "y = Shape <start = 1> (x)";
    let new = |size: i64| format!("y = Constant <value = int64[1] {{{size}}}> ()");
    check(&claim("exact", &[], "float[N,48] x", old, &new(48)), "tested in 24 runs (24 attempts)");
    // The example is the smaller one.
    let refuted =
        |after| format!("refuted: | x = float[0,4] {{}} | output 0[0] is 4 before and {after} after");
    check(&claim("exact", &["equal: N ; 0"], "float[N,48] x", old, &new(47)), &refuted(47));
    // Tensors of the own sizes are too large to run.
    let large = |size| claim("exact", &[], "float[70000,48] x", old, &new(size));
    check(&large(48), "tested in 24 runs (24 attempts)");
    let example = "x = float[4,5] {0.375, -4.0, -2.25, 4.0, -1.875, 2.875, -1.125, 3.5, -1.0, -4.0, -3.25, -0.125, 1.375, -2.0, -1.875, -2.5, …}";
    check(&large(47), &format!("refuted: | {example} | output 0[0] is 5 before and 47 after"));
    // A size that is computed from others: none is replaced.
    let old = "a = Concat <axis = 1> (x, x) y = Shape <start = 1> (a)";
    let two = claim("exact", &["equal: 96 ; 96"], "float[N,48] x", old, &new(96));
    check(&two, "tested in 24 runs (24 attempts)");
}

#[test]
fn a_fault_at_size_zero_only_is_found() {
    let old = "y = Size (x)";
    let new = "s = Size (x) one = Constant <value_int = 1> () y = Max (s, one)";
    check(
        &claim("exact", &[], "float[N] x", old, new),
        "refuted: | x = float[0] {} | output 0 is 0 before and 1 after",
    );
    check(&claim("exact", &["at-most: 1 ; N"], "float[N] x", old, new), "tested in 24 runs (24 attempts)");
}

#[test]
fn a_reassociated_sum_is_equal_up_to_rounding_only() {
    let old = "a = Add (x, x) b = Exp (x) c = Add (a, b) y = Add (c, b)";
    let new = "b = Exp (x) a = Add (b, x) c = Add (a, b) y = Add (c, x)";
    check(&claim("rounding", &[], "float[N] x", old, new), "tested in 24 runs (24 attempts)");
    check(
        &claim("exact", &[], "float[N] x", old, new),
        "refuted: | x = float[2] {0.375, -4.0} | output 0[0] is 3.659982681274414 before and 3.659982919692993 after",
    );
}

#[test]
fn an_exact_claim_holds_for_every_order_of_accumulation() {
    // This evaluator returns the same bits for both; the standard does not promise it.
    let old = "m = MatMul (x, x) y = Add (m, x)";
    let new = "y = Gemm (x, x, x)";
    check(
        &claim("exact", &[], "float[1,1] x", old, new),
        "refuted: | x = float[1,1] {0.375} | output 0[0,0] is 0.5141555070877075 before and 0.5114418864250183 after, under an implementation that rounds differently",
    );
    check(&claim("rounding", &[], "float[2,2] x", old, new), "tested in 24 runs (24 attempts)");
    // Equal calls have equal results, whether an attribute is given or has its default.
    let old = "e = Exp (x) y = Softmax (e)";
    let new = "e = Exp (x) i = Identity (e) y = Softmax <axis = -1> (i)";
    check(&claim("exact", &[], "float[N,3] x", old, new), "tested in 24 runs (24 attempts)");
}

#[test]
fn a_missing_kernel_is_no_verdict() {
    check(
        &claim("exact", &[], "float[N] x", "y = com.example.Magic (x)", "y = Identity (x)"),
        "untested: no kernel computes `com.example.Magic` (version 1 of the operator set)",
    );
}

#[test]
fn the_claim_does_not_depend_on_names() {
    let hash = |text: &str, names: [&str; 2]| {
        let mut model = parse(text);
        let mut cx = PassCx::new(&mut model, PassOptions::default());
        let [x, y] = names.map(|name| value(cx.model(), name));
        let mut patch = cx.patch("any", Exactness::Exact);
        patch.tap(x);
        patch.replace(y, x);
        patch.equivalence().unwrap().hash().unwrap()
    };
    let first = hash(
        r#"<ir_version: 10, opset_import: ["": 20]> g (float[N,"2*N"] x) => (z) { y = Neg (x) z = Abs (y) }"#,
        ["x", "y"],
    );
    let second = hash(
        r#"<ir_version: 10, opset_import: ["": 20]> h (float[B,"2*B"] q) => (t) { r = Neg (q) t = Abs (r) }"#,
        ["q", "r"],
    );
    let third = hash(
        r#"<ir_version: 10, opset_import: ["": 20]> h (float[B,"3*B"] q) => (t) { r = Neg (q) t = Abs (r) }"#,
        ["q", "r"],
    );
    assert_eq!(first, second);
    assert_ne!(first, third);
}

#[test]
fn a_claim_about_the_first_outputs_is_compared() {
    let text = |new: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 20, "onnx.pass": 1], metadata_props: ["equivalence.class": "exact"]>
            equivalence (float[N] x) => (b, a, more) {{
                b = onnx.pass.before (x)
                a, more = onnx.pass.after (x)
            }}
            <domain: "onnx.pass", opset_import: ["": 20]> before (x) => (y) {{ y = Abs (x) }}
            <domain: "onnx.pass", opset_import: ["": 20]> after (x) => (y, z) {{ {new} z = Neg (x) }}"#
        )
    };
    check(
        &text("y = Neg (x)"),
        "refuted: | x = float[2] {0.375, -4.0} | output 0[0] is 0.375 before and -0.375 after",
    );
    check(&text("a = Abs (x) y = Identity (a)"), "tested in 24 runs (24 attempts)");
    let fewer =
        text("y = Abs (x)").replace("before", "other").replace("after", "before").replace("other", "after");
    assert_eq!(
        Equivalence::parse(&fewer).unwrap_err().to_string(),
        "not an equivalence: the new side has fewer outputs"
    );
}

#[test]
fn every_element_of_a_large_constant_counts() {
    let hash = |last: &str| {
        let zeros = "0, ".repeat(999);
        let new = format!("c = Constant <value = float[1000] {{{zeros}{last}}}> () y = Add (x, c)");
        let text = claim("exact", &[], "float[1000] x", "y = Neg (x)", &new);
        Equivalence::parse(&text).unwrap().hash().unwrap()
    };
    assert_eq!(hash("1"), hash("1"));
    assert_ne!(hash("1"), hash("2"));
}

#[test]
fn a_reproducer_is_a_model_that_returns_both_results() {
    let eq = Equivalence::parse(&claim("exact", &[], "float[N] x", "y = Exp (x)", "y = Sin (x)")).unwrap();
    let Verdict::Refuted(counterexample) = prove(&eq, &PassOptions::default()) else {
        panic!("the sides differ")
    };
    let model = parse(&counterexample.reproducer);
    let evaluator = onnx_eval::Evaluator::new(&model, &onnx_eval::EvalOptions::default()).unwrap();
    let outputs = evaluator.run(&[]).unwrap();
    assert!(outputs[0] != outputs[1]);
}

#[test]
fn texts_of_other_forms_are_errors() {
    let error = |text: &str| Equivalence::parse(text).unwrap_err().to_string();
    assert_eq!(
        error(r#"<ir_version: 10, opset_import: ["": 20]> g (float x) => (float y) { y = Neg (x) }"#),
        "not an equivalence: the main graph does not call both functions"
    );
    let text = claim("exact", &["nonsense"], "float[N] x", "y = Exp (x)", "y = Exp (x)");
    assert_eq!(error(&text), "not an assumption: `nonsense`");
    let text = claim("fuzzy", &[], "float[N] x", "y = Exp (x)", "y = Exp (x)");
    assert_eq!(error(&text), "not an equivalence: the metadata does not name an exactness class");
}

#[test]
fn no_untested_edit_is_committed_where_tests_are_required() {
    // The type of the operand is not known, so that the claim cannot be expressed.
    let text = r#"<ir_version: 8, opset_import: ["": 17]> g (x) => (y) { y = Neg (x) }"#;
    for is_proof_requested in [true, false] {
        let mut model = parse(text);
        let [x, y] = ["x", "y"].map(|name| value(&model, name));
        let mut options = PassOptions::default().with_tests_required(true);
        options.level = if is_proof_requested { Level::Values } else { Level::Structure };
        let mut cx = PassCx::new(&mut model, options);
        let mut patch = cx.patch("absolute", Exactness::Rounding);
        let at = Position::Before(patch.model().value(y).producer().unwrap());
        let new = patch.build(at, |build| ops::abs(build, x).output()).unwrap();
        patch.replace(y, new);
        let refusal = patch.commit().unwrap_err();
        assert_eq!(refusal.level, Level::Values);
        assert!(matches!(refusal.verdict, Some(Verdict::Untested(_))), "{refusal}");
        assert!(cx.journal().is_empty());
    }
}

#[test]
fn runs_without_a_finite_result_are_no_evidence() {
    let root = "a = Abs (x) o = Constant <value_float = -1.0> () n = Sub (o, a) r = Sqrt (n)";
    check(
        &claim("rounding", &[], "float[N] x", &format!("{root} y = Neg (r)"), &format!("{root} y = Exp (r)")),
        "untested: the results of the old side are finite in no run",
    );
    // NaNs are equal to each other in an exact claim, and nothing else is equal to them.
    check(
        &claim("exact", &[], "float[N] x", &format!("{root} y = Neg (r)"), &format!("{root} y = Abs (r)")),
        "tested in 24 runs (24 attempts)",
    );
    let old = "l = Log (x) y = Exp (l)";
    check(
        &claim("rounding", &[], "float[N] x", old, "y = Identity (x)"),
        "refuted: | x = float[2] {0.375, -4.0} | output 0[1] is NaN before and -4.0 after",
    );
    check(
        &claim("rounding", &["granted: no-nan"], "float[N] x", old, "y = Identity (x)"),
        "tested in 24 runs (25 attempts)",
    );
}

#[test]
fn smaller_spatial_sizes_refute_no_claim_about_a_size() {
    let before =
        "p = MaxPool <kernel_shape = [1, 1], strides = [3, 3]> (x) y = Shape <start = 2, end = 3> (p)";
    let after = "y = Constant <value_ints = [20]> ()";
    let claim = |assume: &[&str]| claim("exact", assume, "float[1,60,60,60] x", before, after);
    let found = prove(&Equivalence::parse(&claim(&["equal: 20 ; 20"])).unwrap(), &PassOptions::default());
    assert!(matches!(found, Verdict::Untested(_)), "{found}");
}
