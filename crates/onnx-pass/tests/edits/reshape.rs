//! Reshapes that change nothing.

use onnx_ir::Position;
use onnx_ops::ops;
use onnx_pass::passes::no_identities;
use onnx_pass::{Assumption, Exactness, Level, PassCx, PassOptions, Patch};
use onnx_shape_infer::Relation;
use onnx_types::Dim;

use crate::{bytes, check, maker, nodes, parse, refuses, value};

#[test]
fn a_reshape_to_the_sizes_of_its_operand_is_removed() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N,4] x) => (float[N,4] y) {
            a = Relu (x)
            all = Shape (a)
            zero = Constant <value = int64[1] {0}> ()
            n = Gather (all, zero)
            four = Constant <value = int64[1] {4}> ()
            s = Concat <axis = 0> (n, four)
            r = Reshape (a, s)
            y = Neg (r)
        }"#,
        no_identities,
        &["a = Relu (x)", "y = Neg (a)"],
        &["tested in # runs (# attempts)"],
    );
}

#[test]
fn an_output_of_the_model_becomes_an_identity() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N,M] x) => (float[N,M] y) {
            s = Shape (x)
            y = Reshape (x, s)
        }"#,
        no_identities,
        &["y = Identity (x)"],
        &["tested in # runs (# attempts)"],
    );
}

#[test]
fn removing_any_reshape_is_refuted() {
    refuses(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N,M] x) => (float[P,4] y) {
            s = Constant <value = int64[2] {-1, 4}> ()
            r = Reshape (x, s)
            y = Neg (r)
        }"#,
        Exactness::Exact,
        |patch| {
            let (x, r) = (value(patch.model(), "x"), value(patch.model(), "r"));
            patch.tap(x);
            patch.replace(r, x);
        },
        Level::Values,
        &[
            "the results differ",
            "x = float[2,2] {-0.125, -0.48526763916015625, -2.271848678588867, -3.1146769523620605}",
            "r is float[1,4] before and float[2,2] after",
        ],
    );
}

/// The slice is everything in each run that completes, since the `Reshape` behind it requires one element.
#[test]
fn a_slice_that_its_user_limits_is_removed() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (bool[1] x, int64[1] starts, int64[1] ends, int64[0] s) => (bool y) {
            part = Slice (x, starts, ends)
            y = Reshape (part, s)
        }"#,
        no_identities,
        &["y = Reshape (x, s)"],
        &["tested in # runs (# attempts)"],
    );
}

/// Runs compute with floats of 64 bits, so that the types are compared before the values.
#[test]
fn operands_of_two_types_are_an_error_of_types() {
    refuses(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x, float16[N] m) => (float[N] y) {
            w = Cast <to = 1> (m)
            d = Sub (x, w)
            y = Neg (d)
        }"#,
        Exactness::Rounding,
        |patch| {
            let [x, m, d] = ["x", "m", "d"].map(|name| value(patch.model(), name));
            let node = patch.model().value(d).producer().unwrap();
            patch.tap(x);
            patch.tap(m);
            let new = patch.build(Position::Before(node), |build| ops::sub(build, x, m).output()).unwrap();
            patch.replace(d, new);
        },
        Level::Types,
        &["the new nodes cannot run: input 1 must have the same type as the inputs before it"],
    );
}

fn assuming() -> PassOptions<'static> {
    let mut options = PassOptions::default();
    options.allow_assumed = true;
    options
}

/// `y` has the sizes of `a` only if `a` has elements, as `a` is the product's other operand.
const EQUAL_UNDER_A_GUARD: &str = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N] x, float[M] y) => (float p, float[M] z)
    <int64[1] one = {1}, int64[1] all = {9223372036854775807}> {
        a = Slice (x, one, all)
        p = MatMul (a, y)
        s = Shape (a)
        r = Reshape (y, s)
        z = Neg (r)
    }"#;

#[test]
fn a_reshape_under_a_guard_stays_unless_the_caller_accepts_guards() {
    let mut model = parse(EQUAL_UNDER_A_GUARD);
    let before = bytes(&model);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let report = no_identities(&mut cx);
    assert_eq!((cx.journal().len(), report.refusals.len()), (0, 0));
    drop(cx);
    assert!(bytes(&model) == before);

    let mut cx = PassCx::new(&mut model, assuming());
    no_identities(&mut cx);
    let [entry] = cx.journal() else { panic!("one edit") };
    let guard = "1 <= N  # Slice `a`: the slice omits one element of the axis";
    assert!(entry.assumed.iter().any(|text| text == guard), "{:?}", entry.assumed);
    drop(cx);
    assert!(nodes(&model).contains(&"z = Neg (y)".to_owned()), "{:?}", nodes(&model));
    let metadata = model.info().metadata.iter().map(|entry| entry.value().to_string());
    assert!(metadata.into_iter().any(|text| text == format!("no-identities: {guard}")));
}

#[test]
fn the_claim_lists_the_guards_of_an_answer() {
    let mut model = parse(EQUAL_UNDER_A_GUARD);
    for (options, is_accepted) in [(PassOptions::default(), false), (assuming(), true)] {
        let mut cx = PassCx::new(&mut model, options);
        let [a, r, y] = ["a", "r", "y"].map(|name| value(cx.model(), name));
        let [cut, m] = [a, y].map(|value| cx.inference().shape(value).unwrap()[0]);
        let mut patch = cx.patch("ask", Exactness::Exact);
        patch.tap(y);
        assert_eq!(patch.proved_eq(cut, m), is_accepted);
        patch.replace(r, y);
        let claim = patch.equivalence().unwrap();
        let is_guard = |assumption: &&Assumption| matches!(assumption, Assumption::Guard(_));
        assert_eq!(claim.assumptions().iter().any(|one| is_guard(&one)), is_accepted);
        let is_relation = |assumption: &Assumption| {
            matches!(assumption, Assumption::Relation(Relation::AtMost(Dim::Known(1), _)))
        };
        assert_eq!(claim.assumptions().iter().any(is_relation), is_accepted);
    }
}

const SIZE_OF_A_SLICE: &str = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N] x) => (int64[1] y) <int64[1] one = {1}, int64[1] all = {9223372036854775807}> {
        a = Slice (x, one, all)
        s = Shape (a)
        y = Neg (s)
    }"#;

/// Replaces the size of the slice by the size of its operand less one, which is wrong for an empty operand.
fn compute_size(patch: &mut Patch<'_, '_>, asks: bool) -> bool {
    let [x, s, one] = ["x", "s", "one"].map(|name| value(patch.model(), name));
    let node = patch.model().value(s).producer().unwrap();
    patch.source(node);
    patch.tap(x);
    if asks && patch.content(s).is_none() {
        return false;
    }
    patch.constant(one);
    let built = patch.build(Position::Before(node), |build| {
        let shape = ops::shape(build, x).output()?;
        ops::sub(build, shape, one).output()
    });
    patch.replace(s, built.unwrap());
    true
}

#[test]
fn an_edit_that_ignores_a_guard_is_refuted() {
    refuses(
        SIZE_OF_A_SLICE,
        Exactness::Exact,
        |patch| assert!(compute_size(patch, false)),
        Level::Values,
        &["the results differ", "x = float[0] {}", "s[0] is 0 before and -1 after"],
    );
    // A query does not return what is not proved.
    let mut model = parse(SIZE_OF_A_SLICE);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    assert!(!compute_size(&mut cx.patch("size", Exactness::Exact), true));
    drop(cx);
    // With the guard as an assumption it is right: no run has an empty operand.
    let mut cx = PassCx::new(&mut model, assuming());
    let mut patch = cx.patch("size", Exactness::Exact);
    assert!(compute_size(&mut patch, true));
    patch.commit().unwrap();
    assert_eq!(cx.journal()[0].assumed, ["1 <= N  # Slice `a`: the slice omits one element of the axis"]);
}

#[test]
fn a_declared_shape_proves_nothing() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[2,4] x, int64[2] s) => (float[P,Q] y) <float[2,4] r> {
            r = Reshape (x, s)
            y = Neg (r)
        }"#;
    check(text, no_identities, &["r = Reshape (x, s)", "y = Neg (r)"], &[]);
}

/// The product in the branch proves that the vectors are equally long where the branch is executed.
const EQUAL_IN_A_BRANCH: &str = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N] x, float[M] y, bool c) => (float[K] z) {
        s = Shape (y)
        v = Relu (x)
        z = If (c) <then_branch = t () => (q) {
            p = MatMul (x, y)
            r = Reshape <allowzero = 1> (x, s)
            q = Mul (p, r)
        }, else_branch = e () => (w) {
            w = Neg (v)
        }>
    }"#;

#[test]
fn what_a_branch_proves_serves_edits_in_the_branch() {
    let mut model = parse(EQUAL_IN_A_BRANCH);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    for (source, is_accepted) in [("q", true), ("p", true), ("w", false), ("v", false)] {
        let [x, y] = ["x", "y"].map(|name| value(cx.model(), name));
        let node = maker(cx.model(), source);
        let mut patch = cx.patch("ask", Exactness::Exact);
        patch.source(node);
        let [n, m] = [x, y].map(|value| patch.shape(value).unwrap()[0]);
        assert_eq!(patch.proved_eq(n, m), is_accepted, "{source}");
    }
    let report = no_identities(&mut cx);
    assert_eq!(report.refusals.len(), 0, "{:?}", report.refusals);
    assert_eq!(cx.journal().len(), 1);
}

#[test]
fn what_a_branch_proves_does_not_serve_edits_outside() {
    refuses(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x, float[M] y, bool c) => (float[K] z, float[N] w) {
            s = Shape (y)
            v = Reshape (x, s)
            w = Neg (v)
            z = If (c) <then_branch = t () => (q) { p = MatMul (x, y) q = Mul (p, x) },
                        else_branch = e () => (u) { u = Neg (x) }>
        }"#,
        Exactness::Exact,
        |patch| {
            let [x, y, v, p] = ["x", "y", "v", "p"].map(|name| value(patch.model(), name));
            // The source is in the branch, and what is replaced is not.
            let product = patch.model().value(p).producer().unwrap();
            patch.source(product);
            patch.tap(x);
            let [n, m] = [x, y].map(|value| patch.shape(value).unwrap()[0]);
            assert!(patch.proved_eq(n, m));
            patch.replace(v, x);
        },
        Level::Structure,
        &["it relies on a relation that holds only where graph `t` is executed"],
    );
}

#[test]
fn the_guards_of_the_types_of_taps_are_listed() {
    // That `c` has 4 columns is declared only, and the edit is wrong for one column.
    let text = r#"<ir_version: 8, opset_import: ["": 17]>
        g (float[N,M] x, bool[M] keep, float[4] w) => (float[N,4] y) <float[N,4] c> {
            c = Compress <axis = 1> (x, keep)
            y = Mul (c, w)
        }"#;
    let edit = |patch: &mut Patch<'_, '_>| {
        let [c, w, y] = ["c", "w", "y"].map(|name| value(patch.model(), name));
        let node = patch.model().value(y).producer().unwrap();
        patch.source(node);
        patch.tap(c);
        patch.tap(w);
        let new = patch.build(Position::Before(node), |build| {
            let shape = ops::shape(build, c).output()?;
            let w = ops::expand(build, w, shape).output()?;
            let w = ops::reshape(build, w, shape).output()?;
            ops::mul(build, c, w).output()
        });
        patch.replace(y, new.unwrap());
    };
    let mut model = parse(text);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let mut patch = cx.patch("expand", Exactness::Exact);
    edit(&mut patch);
    let refusal = patch.commit().unwrap_err();
    assert_eq!(refusal.level, Level::Values, "{refusal}");
    drop(cx);
    let mut cx = PassCx::new(&mut model, assuming());
    let mut patch = cx.patch("expand", Exactness::Exact);
    edit(&mut patch);
    let claim = patch.equivalence().unwrap();
    assert!(claim.assumptions().iter().any(|one| matches!(one, Assumption::Guard(_))), "{claim:?}");
    patch.commit().unwrap();
    assert_ne!(cx.journal()[0].assumed, Vec::<String>::new());
    let assumed = cx.journal()[0].assumed.len();
    drop(cx);
    assert_eq!(model.info().metadata.len(), assumed);
}
