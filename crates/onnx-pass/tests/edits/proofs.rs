//! Equivalences as texts.

use onnx_ir::Position;
use onnx_ops::ops;
use onnx_pass::passes::Report;
use onnx_pass::{Equivalence, Exactness, Level, PassCx, PassOptions, Pipeline, Verdict, prove};
use onnx_schema::{Registry, op};
use onnx_types::tensor::{NoData, Tensor};

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
fn untested_edits_are_counted_and_only_made_on_request() {
    // The type of the operand is not known, so that the claim cannot be expressed.
    let text = r#"<ir_version: 8, opset_import: ["": 17]> g (x) => (y) { y = Neg (x) }"#;
    let run = |options: PassOptions<'_>| {
        let mut model = parse(text);
        let [x, y] = ["x", "y"].map(|name| value(&model, name));
        let mut cx = PassCx::new(&mut model, options);
        let mut patch = cx.patch("absolute", Exactness::Rounding);
        let at = Position::Before(patch.model().value(y).producer().unwrap());
        let new = patch.build(at, |build| ops::abs(build, x).output()).unwrap();
        patch.replace(y, new);
        let mut report = Report::default();
        report.commit(patch);
        report
    };
    let reason = "the type of `x` is not known";
    let count = |report: &Report| report.untested.get(reason).copied();
    for level in [Level::Values, Level::Model] {
        let report = run(PassOptions::default().with_level(level));
        assert_eq!((report.edits, count(&report)), (0, Some(1)), "{report:?}");
        let [refusal] = &report.refusals[..] else { panic!("{report:?}") };
        assert_eq!(refusal.level, Level::Values);
        assert_eq!(refusal.reason, format!("the results could not be compared: {reason}"));
        let report = run(PassOptions::default().with_level(level).with_untested(true));
        assert_eq!((report.edits, count(&report), report.refusals.len()), (1, Some(1), 0), "{report:?}");
    }
    // Where values are not compared, none could not be.
    for level in [Level::Structure, Level::Types] {
        let report = run(PassOptions::default().with_level(level));
        assert_eq!((report.edits, report.untested.len(), report.refusals.len()), (1, 0, 0), "{report:?}");
    }
}

/// The report of a replacement of `Conv (x, w)` by `Mul (Conv (x, w + w), 0.5)`, in whose weights one number may be wrong.
fn replace_convolution(wrong: Option<usize>) -> (Report, String) {
    let numbers: Vec<String> = (0..48 * 48 * 9).map(|index| (index * 7919 % 17 - 8).to_string()).collect();
    let mut model = parse(&format!(
        r#"<ir_version: 10, opset_import: ["": 20]> g (float[N,48,14,14] x) => (y) <float[48,48,3,3] w = {{{}}}> {{
            y = Conv <pads = [1, 1, 1, 1]> (x, w)
        }}"#,
        numbers.join(",")
    ));
    let [x, w, y] = ["x", "w", "y"].map(|name| value(&model, name));
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let mut patch = cx.patch("double", Exactness::Rounding);
    let conv = patch.model().value(y).producer().unwrap();
    let at = Position::Before(conv);
    let mut weights = patch.constant(w).unwrap().to_vec::<f32>(&NoData).unwrap();
    weights.iter_mut().for_each(|weight| *weight *= 2.0);
    if let Some(index) = wrong {
        weights[index] += 0.25;
    }
    let weights = patch.new_constant(at, Tensor::from_slice([48, 48, 3, 3], &weights).unwrap()).unwrap();
    let half = patch.new_constant(at, Tensor::scalar(0.5_f32)).unwrap();
    let double = patch.like(conv, at, &[Some(x), Some(weights)]).unwrap()[0].unwrap();
    let new = patch.build(at, |build| ops::mul(build, double, half).output()).unwrap();
    patch.tap(x);
    patch.replace(y, new);
    let mut report = Report::default();
    report.commit(patch);
    let verdict = cx.journal().first().map(|entry| entry.verdict.to_string());
    (report, verdict.unwrap_or_default())
}

#[test]
fn large_weights_are_tested_in_parts_and_once_as_a_whole() {
    let (report, verdict) = replace_convolution(None);
    assert_eq!((report.edits, verdict.as_str()), (1, "tested in 25 runs (25 attempts)"));
    // Few runs have a part with this weight.
    let (report, _) = replace_convolution(Some(10_000));
    let [refusal] = &report.refusals[..] else { panic!("{report:?}") };
    assert!(refusal.verdict.as_ref().is_some_and(Verdict::is_refuted), "{refusal}");
}

#[test]
fn a_claim_without_free_inputs_has_one_run() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20]> g () => (y) <float[3] w = {1, 2, 3}> { y = Neg (w) }"#,
    );
    let pipeline = Pipeline::named(&["folded-constants"], Registry::STANDARD).unwrap();
    let done = pipeline.run(&mut model, &PassOptions::default());
    assert_eq!(done.journal[0].verdict.to_string(), "tested in 1 runs (1 attempts)");
}

#[test]
fn no_more_operations_are_spent_on_a_pass_than_allowed() {
    // Two claims that differ in a type.
    let text = r#"<ir_version: 10, opset_import: ["": 20]> g (float[N] x, double[N] z) => (y, w) <float two = {2}> {
        y = Pow (x, two) w = Pow (z, two)
    }"#;
    for (most, edits) in [(u64::MAX, 2), (1, 1), (0, 0)] {
        let mut model = parse(text);
        let mut cx = PassCx::new(&mut model, PassOptions::default().with_max_proof_steps(most));
        let report = cx.rewrite("square", Exactness::Rounding, op::POW, |patch, node| {
            let record = patch.model().node(node);
            let operands = (record.input(0), record.input(1), record.output(0));
            let (Some(x), Some(exponent), Some(y)) = operands else { return Err("no operand".into()) };
            patch.tap(x);
            patch.try_constant(exponent)?;
            let new = patch.build(Position::Before(node), |build| ops::mul(build, x, x).output())?;
            patch.replace(y, new);
            Ok(())
        });
        let reason = "the proofs of the pass took as many operations as they may";
        let left = report.untested.get(reason).copied().unwrap_or(0);
        assert_eq!((report.edits, left), (edits, 2 - edits), "{report:?}");
    }
}

#[test]
fn what_the_standard_leaves_open_is_no_evidence_for_exactness() {
    // Each number is beyond the integers of 32 bits.
    let code = |operand: &str, added: &str| {
        format!("c = Constant <value_float = {added}> () {operand} a = Abs (t) l = Add (a, c)")
    };
    let old = |root: &str| format!("{root} y = Cast <to = 6> (l)");
    let new = |root: &str| format!("{root} k = Cast <to = 6> (l) y = Abs (k)");
    let root = code("t = Identity (x)", "1e10");
    check(
        &claim("exact", &[], "float[N] x", &old(&root), &old(&root).replace("Add (a, c)", "Add (c, a)")),
        "untested: the standard defines the results of the old side in no run",
    );
    let root = code("t = Cast <to = 1> (x)", "1.0");
    check(&claim("exact", &[], "int8[N] x", &old(&root), &new(&root)), "tested in 24 runs (24 attempts)");
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
        "tested in 24 runs (27 attempts)",
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
