//! The cost of proofs: `cargo test --release -p onnx-pass --test edits figures -- --nocapture`.

use std::time::Instant;

use onnx_pass::{Equivalence, Exactness, PassCx, PassOptions, Patch, Verdict, prove};

use crate::{maker, parse, value};

/// The claim of one edit.
fn claim(text: &str, class: Exactness, edit: impl FnOnce(&mut Patch<'_, '_>)) -> Equivalence {
    let mut model = parse(text);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let mut patch = cx.patch("figures", class);
    edit(&mut patch);
    patch.equivalence().unwrap()
}

#[test]
fn the_cost_of_a_proof_is_printed() {
    let merge = claim(
        r#"<ir_version: 10, opset_import: ["": 20]> g (float[N] x) => (y) { a = Exp (x) b = Exp (x) y = Sub (a, b) }"#,
        Exactness::Exact,
        |patch| {
            let [x, a, b] = ["x", "a", "b"].map(|name| value(patch.model(), name));
            patch.tap(x);
            patch.replace(b, a);
        },
    );
    let fold = claim(crate::batch_normalization::MODEL, Exactness::Rounding, |patch| {
        crate::batch_normalization::fold(patch, f64::from(0.001_f32), true, true);
    });
    let reshape = claim(
        r#"<ir_version: 10, opset_import: ["": 20]> g (float[N,M] x) => (y) { s = Shape (x) r = Reshape (x, s) y = Neg (r) }"#,
        Exactness::Exact,
        |patch| {
            let [x, r] = ["x", "r"].map(|name| value(patch.model(), name));
            patch.tap(x);
            assert!(patch.same_type(x, r));
            patch.replace(r, x);
        },
    );
    let splice = claim(
        r#"<ir_version: 10, opset_import: ["": 20]> g (float[N] x) => (y) <bool c = {1}> {
            y = If (c) < then_branch = t () => (float[N] p) { p = Relu (x) },
                else_branch = e () => (float[N] q) { q = Neg (x) } >
        }"#,
        Exactness::Exact,
        crate::conditional::splice_first,
    );
    let squeeze = claim(crate::squeeze::MODEL, Exactness::Exact, |patch| {
        let [x, y] = ["x", "y"].map(|name| value(patch.model(), name));
        patch.tap(x);
        patch.set_version(onnx_schema::domain::ONNX, 13);
        let at = onnx_ir::Position::Before(maker(patch.model(), "y"));
        let axes = patch.new_constant(at, onnx_types::tensor::Tensor::vector(&[0_i64])).unwrap();
        let new = patch.build(at, |build| build.op(onnx_schema::op::SQUEEZE, [x, axes]).output()).unwrap();
        patch.replace(y, new);
    });
    let claims =
        [("merge", merge), ("fold", fold), ("reshape", reshape), ("splice", splice), ("squeeze", squeeze)];
    for (name, claim) in claims {
        let begin = Instant::now();
        let verdict = prove(&claim, &PassOptions::default());
        let micros = begin.elapsed().as_micros();
        println!("{name:8} {:2} nodes {micros:6} us: {verdict}", claim.node_count());
        assert!(matches!(verdict, Verdict::Proved(_) | Verdict::Tested { .. }), "{verdict}");
    }
}
