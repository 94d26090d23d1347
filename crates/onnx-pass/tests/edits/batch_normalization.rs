//! Batch normalization folded into the weights of a convolution.

use onnx_ir::Position;
use onnx_pass::passes::folded_batch_normalization;
use onnx_pass::{Exactness, Level, Patch};
use onnx_types::tensor::{NoData, Tensor};

use crate::{check, maker, refuses, run, value};

pub(crate) const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N,2,H,W] x) => (float[N,3,H,W] y) <
        float[3,2,1,1] w = {1, -2, 0.5, 3, -1, 0.25},
        float[3] b = {0.5, -1, 2},
        float[3] scale = {1, 2, 0.5},
        float[3] bias = {0.125, 0, -3},
        float[3] mean = {0.5, -0.25, 1},
        float[3] var = {0.01, 1, 0.0001}
    > {
        c = Conv (x, w, b)
        n = BatchNormalization <epsilon = 0.001> (c, scale, bias, mean, var)
        y = Relu (n)
    }"#;

#[test]
fn a_batch_normalization_is_folded_into_the_weights() {
    check(
        MODEL,
        folded_batch_normalization,
        &["val_2 = Conv (x, val_0, val_1)", "y = Relu (val_2)"],
        &["tested in # runs (# attempts)"],
    );
}

/// Folds with another epsilon, and without the bias of the convolution or the mean.
pub(crate) fn fold(patch: &mut Patch<'_, '_>, epsilon: f64, with_bias: bool, with_mean: bool) {
    let model = patch.model();
    let (conv, norm) = (maker(model, "c"), maker(model, "n"));
    let [x, w, b, scale, bias, mean, var, n] =
        ["x", "w", "b", "scale", "bias", "mean", "var", "n"].map(|name| value(model, name));
    patch.tap(x);
    let mut read = |value| patch.constant(value).unwrap().to_vec::<f32>(&NoData).unwrap();
    let [w, b, scale, bias, mean, var] = [w, b, scale, bias, mean, var].map(&mut read);
    let factor = |channel: usize| f64::from(scale[channel]) / (f64::from(var[channel]) + epsilon).sqrt();
    let weights: Vec<f32> =
        w.iter().enumerate().map(|(at, &w)| (f64::from(w) * factor(at / 2)) as f32).collect();
    let biases: Vec<f32> = (0..3)
        .map(|channel| {
            let old = if with_bias { f64::from(b[channel]) } else { 0.0 };
            let mean = if with_mean { f64::from(mean[channel]) } else { 0.0 };
            ((old - mean) * factor(channel) + f64::from(bias[channel])) as f32
        })
        .collect();
    let at = Position::Before(norm);
    let weights = patch.new_constant(at, Tensor::from_slice([3, 2, 1, 1], &weights).unwrap()).unwrap();
    let biases = patch.new_constant(at, Tensor::vector(&biases)).unwrap();
    let outputs = patch.like(conv, at, &[Some(x), Some(weights), Some(biases)]).unwrap();
    patch.replace(n, outputs[0].unwrap());
}

#[test]
fn ignoring_the_epsilon_of_the_node_is_refuted() {
    refuses(
        MODEL,
        Exactness::Rounding,
        |patch| fold(patch, 1e-5, true, true),
        Level::Values,
        &[
            "the results differ",
            "x = float[2,2,3,5] {0.375, -4.0, -2.25, 4.0, -1.875, 2.875, -1.125, 3.5, -1.0, -4.0, -3.25, -0.125, 1.375, -2.0, -1.875, -2.5, …}",
            "n[0,0,0,0] is 51.37361458198602 before and 53.84814488887787 after",
        ],
    );
}

#[test]
fn a_slightly_different_epsilon_is_refuted() {
    refuses(
        MODEL,
        Exactness::Rounding,
        |patch| fold(patch, 0.001_000_1, true, true),
        Level::Values,
        &[
            "the results differ",
            "x = float[2,2,3,5] {0.375, -4.0, -2.25, 4.0, -1.875, 2.875, -1.125, 3.5, -1.0, -4.0, -3.25, -0.125, 1.375, -2.0, -1.875, -2.5, …}",
            "n[0,0,0,0] is 51.37361458198602 before and 51.37338411808014 after",
        ],
    );
}

#[test]
fn ignoring_the_bias_of_the_convolution_is_refuted() {
    refuses(
        MODEL,
        Exactness::Rounding,
        |patch| fold(patch, 1e-3, false, true),
        Level::Values,
        &[
            "the results differ",
            "x = float[2,2,3,5] {0.375, -4.0, -2.25, 4.0, -1.875, 2.875, -1.125, 3.5, -1.0, -4.0, -3.25, -0.125, 1.375, -2.0, -1.875, -2.5, …}",
            "n[0,0,0,0] is 51.37361458198602 before and 46.60630178451538 after",
        ],
    );
}

#[test]
fn ignoring_the_mean_is_refuted() {
    refuses(
        MODEL,
        Exactness::Rounding,
        |patch| fold(patch, 1e-3, true, false),
        Level::Values,
        &[
            "the results differ",
            "x = float[2,2,3,5] {0.375, -4.0, -2.25, 4.0, -1.875, 2.875, -1.125, 3.5, -1.0, -4.0, -3.25, -0.125, 1.375, -2.0, -1.875, -2.5, …}",
            "n[0,0,0,0] is 51.37361458198602 before and 56.14092779159546 after",
        ],
    );
}

#[test]
fn folding_is_not_exact() {
    refuses(
        MODEL,
        Exactness::Exact,
        |patch| fold(patch, f64::from(0.001_f32), true, true),
        Level::Values,
        &[
            "the results differ",
            "x = float[2,2,3,5] {0.375, -4.0, -2.25, 4.0, -1.875, 2.875, -1.125, 3.5, -1.0, -4.0, -3.25, -0.125, 1.375, -2.0, -1.875, -2.5, …}",
            "n[0,0,0,2] is 50.181785583496094 before and 50.18178939819336 after",
        ],
    );
}

#[test]
fn sizes_that_a_constant_has_by_chance_do_not_make_runs_too_large() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[1,42,40,40] x) => (float[1,40,40,40] y)
        <float[40,42,1,1] w = SPLAT, float[40] s = SPLAT, float[40] b = SPLAT, float[40] m = SPLAT, float[40] v = SPLAT> {
            c = Conv (x, w)
            y = BatchNormalization (c, s, b, m, v)
        }"#;
    let elements = |count: usize| vec!["0.5"; count].join(", ");
    let text = text
        .replacen("SPLAT", &format!("{{{}}}", elements(1680)), 1)
        .replace("SPLAT", &format!("{{{}}}", elements(40)));
    let (_, report, verdicts) = run(&text, folded_batch_normalization);
    assert_eq!((report.edits, verdicts), (1, vec!["tested in 24 runs (24 attempts)".to_owned()]));
}
