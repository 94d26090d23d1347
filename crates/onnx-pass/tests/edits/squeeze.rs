//! A step between versions of `Squeeze`.

use onnx_ir::{Cursor, NodeId, Position, ValueId};
use onnx_ops::{Operator, ops};
use onnx_pass::passes::Report;
use onnx_pass::{Exactness, Level, PassCx};
use onnx_schema::{domain, op};
use onnx_types::tensor::Tensor;

use crate::{check, commits, maker, refuses, run, value};

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
        [
            "the edit `squeeze-13` was refused (values): `Softmax` has another meaning in the new version: the results differ\nx = float[1,2,1] {0.375, -4.0}\ns[0,0,0] is 0.9875683188438416 before and 1.0 after"
        ]
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
            let at = Position::Before(maker(patch.model(), "y"));
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
            let at = Position::Before(maker(patch.model(), "y"));
            let new = patch.build(at, |build| build.op(op::SQUEEZE, [x]).output()).unwrap();
            patch.replace(y, new);
        },
    );
    assert_eq!(proof.verdict.to_string(), "tested in 24 runs (24 attempts)");
}

/// `Sigmoid` and `Mul`, with nodes that stay.
const SWISH: &str = r#"<ir_version: 7, opset_import: ["": 13]>
    g (float[N,M] x, float[M,K] w) => (float[N,K] y) <int64[1] one = {1}> {
        r = Relu (x)
        m = MatMul (r, w)
        s = Sigmoid (m)
        p = Mul (m, s)
        n = Unsqueeze (p, one)
        z = Squeeze (n, one)
        c = ReduceSum (z, one)
        y = Add (z, c)
    }"#;

fn swish(patch: &mut onnx_pass::Patch<'_, '_>) {
    let [m, p] = ["m", "p"].map(|name| value(patch.model(), name));
    patch.tap(m);
    assert_eq!(patch.raise_opset(domain::ONNX, 24).unwrap(), 24);
    assert_eq!(patch.raise_opset(domain::ONNX, 20).unwrap(), 24);
    let at = Position::Before(maker(patch.model(), "p"));
    let new = patch.build(at, |build| ops::swish(build, m).alpha(1.0).output()).unwrap();
    patch.replace(p, new);
}

#[test]
fn a_new_node_can_use_an_operator_that_the_new_version_adds() {
    let (model, proof) = commits(SWISH, Exactness::Rounding, swish);
    assert_eq!(proof.verdict.to_string(), "tested in 24 runs (24 attempts)");
    assert_eq!((model.opset_version(domain::ONNX), model.info().ir_version), (Some(24), 12));
    let operators: Vec<&str> =
        model.nodes(model.main_graph()).map(|node| model.str(model.node(node).op())).collect();
    assert_eq!(operators, ["Relu", "MatMul", "Swish", "Unsqueeze", "Squeeze", "ReduceSum", "Add"]);
    let findings = onnx_check::check(&model, &onnx_check::CheckOptions::default());
    assert_eq!(findings.diagnostics().len(), 0, "{:?}", findings.diagnostics());
}

#[test]
fn a_node_that_means_something_else_in_the_new_version_keeps_the_old_one() {
    // The axes of `ReduceMax` are an operand from version 18 on.
    let text = SWISH.replace("c = ReduceSum (z, one)", "c = ReduceMax <axes = [1]> (z)");
    refuses(
        &text,
        Exactness::Rounding,
        swish,
        Level::Rules,
        &[
            "`ReduceMax` has another meaning in the new version: `ReduceMax` has no attribute `axes` (unknown-attribute)",
        ],
    );
}

#[test]
fn a_version_that_does_not_exist_is_not_imported() {
    let mut model = crate::parse(SWISH);
    let mut cx = PassCx::new(&mut model, onnx_pass::PassOptions::default());
    let mut patch = cx.patch("raise", Exactness::Exact);
    assert_eq!(
        patch.raise_opset(domain::ONNX, 99).unwrap_err().to_string(),
        "the operator set `ai.onnx` does not have version 99"
    );
}

#[test]
fn versions_that_do_not_exist_and_operators_without_a_known_meaning_are_refused() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (y, float[N] z) {
            y = my.Q (x)
            z = Neg (x)
        }"#;
    let rows = [
        ("ai.onnx", 99, "the operator set `ai.onnx` does not have version 99"),
        ("ai.onnx", 0, "the operator set `ai.onnx` does not have version 0"),
        ("my", 2, "the meaning of `Q` in version 2 is not known"),
    ];
    for (set, version, reason) in rows {
        refuses(
            text,
            Exactness::Exact,
            |patch| {
                let [x, z] = ["x", "z"].map(|name| value(patch.model(), name));
                let node = maker(patch.model(), "z");
                let my = patch.model().node(maker(patch.model(), "y")).domain();
                patch.tap(x);
                patch.set_version(if set == "my" { my } else { domain::ONNX }, version);
                let new = patch.like(node, Position::Before(node), &[Some(x)]).unwrap();
                patch.replace(z, new[0].unwrap());
            },
            Level::Structure,
            &[reason],
        );
    }
}

/// Converts a model of version 12 to version 13, if `Squeeze` is the only operator in it whose meaning changed: its attribute
/// `axes` becomes an operand. All nodes change in one patch, because the import applies to all of them.
fn squeeze_to_13(cx: &mut PassCx<'_>) -> Report {
    let mut report = Report::default();
    if cx.model().opset_version(domain::ONNX) != Some(12) {
        return report;
    }
    let mut found: Vec<(NodeId, ValueId, ValueId, Option<Vec<i64>>)> = Vec::new();
    let mut cursor = Cursor::nested(cx.model(), cx.model().main_graph());
    while let Some(node) = cursor.next(cx.model()) {
        let Some(squeeze) = ops::Squeeze::of(cx.model(), node) else { continue };
        let (Some(data), Some(squeezed)) = (squeeze.data(), squeeze.out_squeezed()) else { return report };
        let axes = squeeze.axes().known().map(|axes| axes.to_vec());
        if axes.is_none() && !squeeze.axes().is_omitted() {
            return report;
        }
        found.push((node, data, squeezed, axes));
    }
    let mut patch = cx.patch("squeeze-13", Exactness::Exact);
    patch.set_version(domain::ONNX, 13);
    for (node, data, squeezed, axes) in found {
        patch.source(node);
        patch.tap(data);
        let at = Position::Before(node);
        let axes = axes.map(|axes| patch.new_constant(at, Tensor::vector(&axes))).transpose();
        let Ok(axes) = axes else { return report };
        // The builders of `onnx-ops` make the form of the version that is in force so far.
        let made = patch.build(at, |build| build.op(op::SQUEEZE, [data]).input(axes).output());
        let Ok(new) = made else { return report };
        patch.replace(squeezed, new);
    }
    report.commit(patch);
    report
}
