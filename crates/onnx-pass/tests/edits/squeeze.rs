//! A step between versions of `Squeeze`.

use onnx_ir::Position;
use onnx_pass::passes::squeeze_to_13;
use onnx_pass::{Exactness, Level};
use onnx_schema::{domain, op};

use crate::{check, commits, refuses, run, value};

pub(crate) const MODEL: &str = r#"<ir_version: 7, opset_import: ["": 12]>
    g (float[1,N,1] x) => (float[N,1] y) {
        y = Squeeze <axes = [0]> (x)
    }"#;

#[test]
fn the_axes_become_an_operand() {
    check(MODEL, squeeze_to_13, &["y = Squeeze (x, val_0)"], &["tested in # runs (# attempts)"]);
    let (model, ..) = run(MODEL, squeeze_to_13);
    assert_eq!(model.opset_version(domain::ONNX), Some(13));
}

#[test]
fn other_nodes_whose_meaning_changes_keep_the_version() {
    let text = r#"<ir_version: 7, opset_import: ["": 12]>
    g (float[1,N,1] x) => (float[N,1] y) {
        s = Softmax (x)
        y = Squeeze <axes = [0]> (s)
    }"#;
    let (model, report, _) = run(text, squeeze_to_13);
    assert_eq!(report.edits, 0);
    let refusals: Vec<String> = report.refusals.iter().map(ToString::to_string).collect();
    assert_eq!(
        refusals,
        ["the edit `squeeze-13` was refused (structure): `Softmax` has another meaning in version 13"]
    );
    assert_eq!(model.opset_version(domain::ONNX), Some(12));
}

#[test]
fn dropping_the_axes_is_refuted() {
    refuses(
        MODEL,
        Exactness::Exact,
        |patch| {
            let (x, y) = (value(patch.model(), "x"), value(patch.model(), "y"));
            patch.tap(x);
            patch.set_version(domain::ONNX, 13);
            let at = Position::Before(crate::maker(patch.model(), "y"));
            let new = patch.build(at, |build| build.op(op::SQUEEZE, [x]).output()).unwrap();
            patch.replace(y, new);
        },
        Level::Values,
        &[
            "the results differ",
            "x = float[1,2,1] {0.375, -4.0}",
            "y is float[2,1] before and float[2] after",
        ],
    );
    // The axes are known to be those of size 1 here.
    let (_, proof) = commits(
        r#"<ir_version: 7, opset_import: ["": 12]>
        g (float[1,3] x) => (float[3] y) {
            y = Squeeze <axes = [0]> (x)
        }"#,
        Exactness::Exact,
        |patch| {
            let (x, y) = (value(patch.model(), "x"), value(patch.model(), "y"));
            patch.tap(x);
            let at = Position::Before(crate::maker(patch.model(), "y"));
            let new = patch.build(at, |build| build.op(op::SQUEEZE, [x]).output()).unwrap();
            patch.replace(y, new);
        },
    );
    assert_eq!(proof.verdict.to_string(), "tested in 24 runs (24 attempts)");
}
