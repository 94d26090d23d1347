//! Conditionals whose condition is known.

use onnx_ir::{CopyMap, Position};
use onnx_pass::passes::no_known_branches;
use onnx_pass::{Exactness, Level, PassCx, PassOptions, Patch};

use crate::{check, maker, parse, refuses, value};

#[test]
fn the_branch_of_a_known_condition_is_spliced() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) {
            a = Exp (x)
            rank = Size (all)
            all = Shape (x)
            one = Constant <value = int64 {1}> ()
            c = Equal (rank, one)
            b = If (c) <
                then_branch = t () => (float[N] p) { p1 = Relu (a) p = Neg (p1) },
                else_branch = e () => (float[N] q) { q = Sin (x) }
            >
            y = Add (a, b)
        }"#,
        no_known_branches,
        &["a = Exp (x)", "p1 = Relu (a)", "p = Neg (p1)", "y = Add (a, p)"],
        &["tested in # runs (# attempts)"],
    );
}

/// Splices the branch `then_branch` whatever the condition is.
pub(crate) fn splice_first(patch: &mut Patch<'_, '_>) {
    let node = maker(patch.model(), "y");
    let branch = patch.model().node(node).nested_graphs().next().unwrap();
    let result = patch.model().graph(branch).outputs()[0].value();
    for name in ["x", "c"] {
        let tap = value(patch.model(), name);
        patch.tap(tap);
    }
    let mut map = CopyMap::new();
    patch.copy_nodes(branch, Position::Before(node), &mut map).unwrap();
    let y = value(patch.model(), "y");
    patch.replace(y, map.get(result));
}

#[test]
fn splicing_without_knowing_the_condition_is_refuted() {
    refuses(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (bool c, float[N] x) => (float[N] y) {
            y = If (c) <
                then_branch = t () => (float[N] p) { p = Relu (x) },
                else_branch = e () => (float[N] q) { q = Neg (x) }
            >
        }"#,
        Exactness::Exact,
        splice_first,
        Level::Values,
        &[
            "the results differ",
            "c = bool[] {0}",
            "x = float[1] {1.0000001192092896}",
            "y[0] is -1.0000001192092896 before and 1.0000001192092896 after",
        ],
    );
}

#[test]
fn splicing_the_other_branch_is_refuted() {
    refuses(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) <bool c = {0}> {
            y = If (c) <
                then_branch = t () => (float[N] p) { p = Relu (x) },
                else_branch = e () => (float[N] q) { w = Constant <value_float = 2.0> () q = Mul (x, w) }
            >
        }"#,
        Exactness::Exact,
        splice_first,
        Level::Values,
        &["the results differ", "x = float[2] {0.375, -4.0}", "y[0] is 0.75 before and 0.375 after"],
    );
}

#[test]
fn what_is_declared_in_a_branch_does_not_leave_it() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x, bool c) => (float[M] y) {
            r = Relu (x)
            y = If (c) <then_branch = t () => (v) <float[3] u> {
                u = Identity (r)
                v = Neg (u)
            }, else_branch = e () => (w) {
                w = Neg (r)
            }>
        }"#;
    let mut model = parse(text);
    let [u, r] = ["u", "r"].map(|name| value(&model, name));
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let size = cx.inference().shape(r).unwrap().to_vec();
    let mut patch = cx.patch("forward", Exactness::Exact);
    patch.source(maker(patch.model(), "u"));
    patch.tap(r);
    patch.replace(u, r);
    patch.commit().unwrap();
    assert_eq!(cx.model().ty(r), None);
    assert_eq!(cx.inference().shape(r).unwrap(), size);
}
