//! Queries of patches: what they answer, what they record, and why they do not answer.

use onnx_ir::{Model, Position};
use onnx_ops::ops;
use onnx_pass::passes::folded_batch_normalization;
use onnx_pass::{Assumption, Exactness, Level, PassCx, PassOptions, Patch};
use onnx_shape_infer::Elem;
use onnx_types::tensor::NoData;

use crate::{UNCONFIRMED, check, commits, maker, parse, refuses, run, value};

/// `Pow` with an exponent behind two `Identity` nodes.
fn power(exponent: &str) -> String {
    format!(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) <float e = {{{exponent}}}> {{
            i = Identity (e)
            j = Identity (i)
            p = Pow (x, j)
            y = Relu (p)
        }}"#
    )
}

/// Replaces `Pow` by a square if a query says that the exponent is 2.
fn square(patch: &mut Patch<'_, '_>, is_known: impl FnOnce(&mut Patch<'_, '_>) -> bool) {
    let [x, p, j] = ["x", "p", "j"].map(|name| value(patch.model(), name));
    patch.tap(x);
    patch.tap(j);
    assert!(is_known(patch));
    let at = Position::Before(maker(patch.model(), "p"));
    let new = patch.build(at, |build| ops::mul(build, x, x).output()).unwrap();
    patch.replace(p, new);
}

fn of(patch: &Patch<'_, '_>, name: &str) -> onnx_ir::ValueId {
    value(patch.model(), name)
}

#[test]
fn elements_behind_identities_are_recorded() {
    let queries: [fn(&mut Patch<'_, '_>) -> bool; 4] = [
        |patch| patch.content(of(patch, "j")).is_some_and(|content| content[0].to_f64() == Some(2.0)),
        |patch| patch.constant(of(patch, "j")).is_some(),
        |patch| patch.is_scalar(of(patch, "j"), 2.0),
        |patch| patch.evaluate(of(patch, "j")).is_ok(),
    ];
    for query in queries {
        commits(&power("2"), Exactness::Rounding, |patch| square(patch, query));
        let mut model = parse(&power("2"));
        let mut cx = PassCx::new(&mut model, PassOptions::default());
        let mut patch = cx.patch("square", Exactness::Rounding);
        square(&mut patch, query);
        let claim = patch.equivalence().unwrap();
        assert_eq!(claim.assumptions(), [Assumption::Constant { input: 1 }], "{claim:?}");
    }
}

#[test]
fn an_exponent_that_was_not_read_is_free() {
    refuses(
        &power("2"),
        Exactness::Rounding,
        |patch| square(patch, |_| true),
        Level::Values,
        &[
            UNCONFIRMED,
            "x = float[2] {0.375, -4.0}",
            "j = float[] {-2.25}",
            "p[0] is 9.087190815946986 before and 0.140625 after",
        ],
    );
}

#[test]
fn another_exponent_is_refuted() {
    refuses(
        &power("3"),
        Exactness::Rounding,
        |patch| square(patch, |patch| patch.constant(of(patch, "j")).is_some()),
        Level::Values,
        &[
            "the results differ",
            "x = float[2] {0.375, -4.0}",
            "p[0] is 0.052734375 before and 0.140625 after",
        ],
    );
}

#[test]
fn constants_and_contents_have_one_answer() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x, float[2] d) => (float[N] y, float[2] e) <
            float[2] w = {1.5, 2}, int64[1] n = {3}, float[2] d = {0, 1}
        > {
            a = Identity (w)
            b = Constant <value_float = 2.5> ()
            c = Identity (n)
            s = Shape (w)
            y = Mul (x, b)
            e = Add (d, a)
        }"#;
    let mut model = parse(text);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let mut patch = cx.patch("ask", Exactness::Exact);
    let mut ask = |name: &str| {
        let value = of(&patch, name);
        let constant =
            patch.constant(value).map(|tensor| tensor.iter_f64(&NoData).unwrap().collect::<Vec<_>>());
        let content = patch.content(value);
        let content = content.map(|list| list.iter().map(|elem| elem.to_f64().unwrap()).collect::<Vec<_>>());
        assert_eq!(constant, content, "{name}");
        constant
    };
    assert_eq!(ask("w"), Some(vec![1.5, 2.0]));
    assert_eq!(ask("a"), Some(vec![1.5, 2.0]));
    assert_eq!(ask("b"), Some(vec![2.5]));
    assert_eq!(ask("n"), Some(vec![3.0]));
    assert_eq!(ask("c"), Some(vec![3.0]));
    assert_eq!(ask("s"), Some(vec![2.0]));
    assert_eq!(ask("x"), None);
    assert_eq!(ask("d"), None);
    assert_eq!(ask("y"), None);
    let why = ["x", "d", "y"].map(|name| {
        let value = of(&patch, name);
        patch.try_constant(value).unwrap_err().to_string()
    });
    assert_eq!(
        why,
        [
            "`x` is not constant: `x` is an input",
            "`d` is not constant: `d` is an input with a default, which callers can override",
            "`y` is not constant: `y` is computed by `Mul`",
        ]
    );
}

#[test]
fn the_content_of_an_initializer_does_not_depend_on_other_nodes() {
    for node in ["y = Relu (x)", "r = Reshape (x, n) y = Relu (r)"] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 20]>
            g (float[N] x) => (y) <int64[1] n = {{-1}}, float e = {{0.5}}> {{ {node} }}"#
        );
        let mut model = parse(&text);
        let mut cx = PassCx::new(&mut model, PassOptions::default());
        let mut patch = cx.patch("ask", Exactness::Exact);
        let [n, e] = ["n", "e"].map(|name| of(&patch, name));
        assert_eq!(patch.content(n).as_deref(), Some(&[Elem::number(-1.0)][..]));
        assert_eq!(patch.content(e).as_deref(), Some(&[Elem::Float(0.5)][..]));
        assert_eq!((patch.scalar(e), patch.integers(n)), (Some(0.5), Some(vec![-1])));
    }
}

#[test]
fn the_reason_of_a_missing_shape_is_reported() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20]> g (float[N] x, x2) => (y) {
            y = Reshape (x, x2)
        }"#,
    );
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let mut patch = cx.patch("ask", Exactness::Exact);
    let [x, y] = ["x", "y"].map(|name| of(&patch, name));
    assert_eq!(patch.try_shape(x).unwrap().len(), 1);
    assert_eq!(patch.try_shape(y).unwrap_err().to_string(), "the rank of `y` is not known");
}

/// Batch normalizations whose statistics are behind `Identity` nodes, as exporters share equal weights, and others.
const SHARED: &str = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N,2,H,W] x, float[2] free) => (float[N,2,H,W] y) <
        float[2,2,1,1] w = {1, -2, 0.5, 3}, float[2] scale = {1, 2}, float[2] bias = {0.125, 0}
    > {
        mean = Identity (bias)
        var = Identity (scale)
        c = Conv (x, w)
        n = BatchNormalization (c, scale, bias, mean, var)
        d = Conv (n, w)
        m = BatchNormalization (d, scale, bias, free, var)
        y = BatchNormalization (m, scale, bias, mean, var)
    }"#;

#[test]
fn shared_statistics_are_folded_and_others_have_a_reason() {
    let (model, report, _) = run(SHARED, folded_batch_normalization);
    assert_eq!((report.edits, report.refusals.len()), (1, 0));
    let missed: Vec<String> = report.missed.iter().map(ToString::to_string).collect();
    assert_eq!(
        missed,
        ["`m`: `free` is not constant: `free` is an input", "`y`: its input is not the result of a `Conv`",]
    );
    let norms = |model: &Model| {
        let nodes = model.nodes(model.main_graph());
        nodes.filter(|&node| model.str(model.node(node).op()) == "BatchNormalization").count()
    };
    assert_eq!((norms(&parse(SHARED)), norms(&model)), (3, 2));
}

#[test]
fn an_expression_on_constants_is_evaluated() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N,2] x) => (float[N,2] y) <float[2] a = {4, 7}, int64[1] at = {0}> {
            s = Elu (a)
            t = Unsqueeze (s, at)
            y = Mul (x, t)
        }"#;
    let (model, _) = commits(text, Exactness::Rounding, |patch| {
        let t = of(patch, "t");
        assert!(patch.constant(t).is_none());
        let folded = patch.evaluate(t).unwrap();
        assert_eq!((folded.dims(), folded.to_vec::<f32>(&NoData).unwrap()), (&[1, 2][..], vec![4.0, 7.0]));
        let x = of(patch, "x");
        assert_eq!(
            patch.evaluate(of(patch, "y")).unwrap_err().to_string(),
            "`x` is not constant: `x` is an input"
        );
        patch.tap(x);
        let at = Position::Before(maker(patch.model(), "y"));
        let new = patch.new_constant(at, folded).unwrap();
        patch.replace(t, new);
    });
    assert_eq!(model.node_count(), 1);
    // Another result is refuted.
    refuses(
        text,
        Exactness::Rounding,
        |patch| {
            let t = of(patch, "t");
            patch.evaluate(t).unwrap();
            let at = Position::Before(maker(patch.model(), "y"));
            let wrong = onnx_types::tensor::Tensor::from_slice([1, 2], &[4.0_f32, 7.5]).unwrap();
            let new = patch.new_constant(at, wrong).unwrap();
            patch.replace(t, new);
        },
        Level::Values,
        &["the results differ", "t[0,1] is 7.0 before and 7.5 after"],
    );
}

#[test]
fn a_condition_behind_an_identity_is_known() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) <bool c = {1}> {
            d = Identity (c)
            y = If (d) <then_branch = t () => (float[N] p) { p = Relu (x) },
                        else_branch = e () => (float[N] q) { q = Neg (x) }>
        }"#,
        onnx_pass::passes::no_known_branches,
        &["y = Relu (x)"],
        &["tested in # runs (# attempts)"],
    );
}
