//! A decomposed layer normalization, fused.

use onnx_ir::{Model, Position};
use onnx_ops::ops;
use onnx_pass::{Exactness, Level, Patch, Verdict};
use onnx_types::ElemType;
use onnx_types::tensor::NoData;

use crate::{commits, maker, refuses, value};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 17]>
    g (float[N,S,3] x) => (float[N,S,3] y) <
        float two = {2}, float eps = {0.000000000001},
        float[3] scale = {1, 2, 0.5},
        float[3] bias = {0, 1, 0.5}
    > {
        m = ReduceMean <axes = [-1]> (x)
        d = Sub (x, m)
        p = Pow (d, two)
        v = ReduceMean <axes = [-1]> (p)
        e = Add (v, eps)
        s = Sqrt (e)
        n = Div (d, s)
        a = Mul (n, scale)
        y = Add (a, bias)
    }"#;

/// Fuses with a factor of the epsilon.
fn fuse(patch: &mut Patch<'_, '_>, factor: f32, stash: Option<ElemType>) {
    let [x, eps, scale, bias, two, y] =
        ["x", "eps", "scale", "bias", "two", "y"].map(|name| value(patch.model(), name));
    patch.tap(x);
    assert!(patch.constant(two).is_some());
    let epsilon = patch.constant(eps).unwrap().to_vec::<f32>(&NoData).unwrap()[0] * factor;
    let at = Position::Before(maker(patch.model(), "y"));
    let new = patch
        .build(at, |build| {
            let make = ops::layer_normalization(build, x, scale).b(bias).epsilon(epsilon).axis(-1);
            match stash {
                Some(stash) => make.stash_type(stash).output(),
                None => make.output(),
            }
        })
        .unwrap();
    patch.replace(y, new);
}

fn operators(model: &Model) -> Vec<&str> {
    model.nodes(model.main_graph()).map(|node| model.str(model.node(node).op())).collect()
}

#[test]
fn the_type_of_the_first_stage_does_not_round() {
    for stash in [None, Some(ElemType::Float), Some(ElemType::Double)] {
        let (model, proof) = commits(MODEL, Exactness::Rounding, |patch| fuse(patch, 1.0, stash));
        assert!(matches!(proof.verdict, Verdict::Tested { .. }), "{}", proof.verdict);
        assert_eq!(operators(&model), ["LayerNormalization"]);
    }
}

#[test]
fn another_epsilon_is_refuted() {
    refuses(
        MODEL,
        Exactness::Rounding,
        |patch| fuse(patch, 1e7, Some(ElemType::Float)),
        Level::Values,
        &[
            "the results differ",
            "x = float[2,3,3] {0.375, -4.0, -2.25, 4.0, -1.875, 2.875, -1.125, 3.5, -1.0, -4.0, -3.25, -0.125, 1.375, -2.0, -1.875, -2.5, …}",
            "scale = float[3] {-1.875, 2.125, -3.5}",
            "bias = float[3] {-0.125, 2.625, 0.375}",
            "y[0,0,0] is -2.5583213169610612 before and -2.5583175532938993 after",
        ],
    );
}

const ROOT_MEAN_SQUARE: &str = r#"<ir_version: 10, opset_import: ["": 23]>
    g (float[N,S,3] x) => (float[N,S,3] y) <float two = {2}, float eps = {0.000001}, int64[1] last = {-1},
        float[3] scale = {1, 2, 0.5}> {
        p = Pow (x, two)
        m = ReduceMean (p, last)
        e = Add (m, eps)
        s = Sqrt (e)
        n = Div (x, s)
        y = Mul (n, scale)
    }"#;

#[test]
fn a_root_mean_square_does_not_round() {
    let (model, proof) = commits(ROOT_MEAN_SQUARE, Exactness::Rounding, |patch| {
        let [x, two, eps, scale, y] =
            ["x", "two", "eps", "scale", "y"].map(|name| value(patch.model(), name));
        patch.tap(x);
        assert!(patch.constant(two).is_some() && patch.constant(eps).is_some());
        let at = Position::Before(maker(patch.model(), "y"));
        let new = patch.build(at, |build| ops::rms_normalization(build, x, scale).epsilon(1e-6).output());
        patch.replace(y, new.unwrap());
    });
    assert!(matches!(proof.verdict, Verdict::Tested { .. }), "{}", proof.verdict);
    assert_eq!(operators(&model), ["RMSNormalization"]);
}
