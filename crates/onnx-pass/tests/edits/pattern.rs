//! Patterns, and passes that are written with them.

use onnx_ir::{Cursor, Position, ValueId};
use onnx_ops::{Operator, ops};
use onnx_pass::passes::Report;
use onnx_pass::{Condition, Exactness, Level, PassCx, PassOptions, Patch, Pattern, PatternMatch, Reason};
use onnx_schema::{domain, op};

use crate::{nodes, parse, value};

/// A layer normalization as exporters write it before version 17.
const DECOMPOSED: &str = "(x, two, eps, scale, bias) => (y) {
    m = ReduceMean (x)
    d = Sub (x, m)
    p = Pow (d, two)
    v = ReduceMean (p)
    e = Add (v, eps)
    s = Sqrt (e)
    n = Div (d, s)
    a = Mul (n, scale)
    y = Add (a, bias)
}";

/// Fuses a decomposed layer normalization over the last axis.
fn fuse_layer_normalization(cx: &mut PassCx<'_>) -> Report {
    let pattern = Pattern::parse(DECOMPOSED).expect("the pattern is valid");
    cx.rewrite("fuse-layer-normalization", Exactness::Rounding, op::ADD, |patch, node| {
        let found = patch.find(&pattern, node)?;
        let [x, two, eps, scale, bias, y] = found.values(["x", "two", "eps", "scale", "bias", "y"])?;
        if !patch.is_scalar(two, 2.0) {
            return Err("the exponent is not 2".into());
        }
        let epsilon = patch.scalar(eps).ok_or("the epsilon is not constant")? as f32;
        let rank = patch.try_shape(x)?.len() as i64;
        for mean in ["m", "v"] {
            let axes = last_axis(patch, &found, mean)?;
            if axes != [-1] && axes != [rank - 1] {
                return Err("the mean is not that of the last axis".into());
            }
        }
        patch.raise_opset(domain::ONNX, 17)?;
        let new = patch.build(Position::Before(node), |build| {
            ops::layer_normalization(build, x, scale).b(bias).epsilon(epsilon).output()
        })?;
        patch.replace(y, new);
        Ok(())
    })
}

/// The axes of the `ReduceMean` that makes a value, which are an attribute or an operand.
fn last_axis(patch: &mut Patch<'_, '_>, found: &PatternMatch, name: &str) -> Result<Vec<i64>, Reason> {
    let node = found.node(patch.model(), name)?;
    let mean = ops::ReduceMean::of(patch.model(), node).ok_or("its mean is not one of this version")?;
    if mean.keepdims().known() == Some(0) {
        return Err("the mean drops the axis".into());
    }
    match mean.axes().known() {
        Some(axes) => Ok(axes.into_owned()),
        None => Err("the axes are not known".into()),
    }
}

/// The text of a model with a decomposed layer normalization, its operands in any order.
fn decomposed(version: i64, mean: &str, two: &str, scaled: &str) -> String {
    format!(
        r#"<ir_version: 8, opset_import: ["": {version}]>
        g (float[N,S,4] x) => (float[N,S,4] y) <
            float two = {{{two}}}, float eps = {{0.00001}}, int64[1] last = {{-1}},
            float[4] scale = {{1, 2, 0.5, -1}}, float[4] bias = {{0, 1, 0.5, -1}}
        > {{
            m = {mean} (x)
            d = Sub (x, m)
            i = Identity (two)
            p = Pow (d, i)
            v = {mean} (p)
            e = Add (eps, v)
            s = Sqrt (e)
            n = Div (d, s)
            a = {scaled}
            y = Add (bias, a)
        }}"#
    )
}

fn fuse(text: &str) -> (Vec<String>, Option<i64>, Vec<String>, Vec<String>) {
    let mut model = parse(text);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let report = fuse_layer_normalization(&mut cx);
    drop(cx);
    model.verify().unwrap();
    let refusals = report.refusals.iter().map(ToString::to_string).collect();
    let missed = report.missed.iter().map(ToString::to_string).collect();
    (nodes(&model), model.opset_version(domain::ONNX), refusals, missed)
}

#[test]
fn a_decomposed_layer_normalization_is_fused() {
    let new = "y = LayerNormalization <epsilon = 1e-5> (x, scale, bias)";
    for (version, mean, after) in [(13, "ReduceMean <axes = [-1]>", 17), (17, "ReduceMean <axes = [2]>", 17)]
    {
        for scaled in ["Mul (n, scale)", "Mul (scale, n)"] {
            let (nodes, version, refusals, missed) = fuse(&decomposed(version, mean, "2", scaled));
            assert_eq!((nodes, version), (vec![new.to_owned()], Some(after)), "{refusals:?}");
            // The sum with the epsilon is a candidate, too.
            assert_eq!(missed, ["`e`: `eps` is not made by `Mul`"]);
        }
    }
}

#[test]
fn what_is_not_a_layer_normalization_has_a_reason() {
    let check = |text: &str, reason: &str| {
        let before = nodes(&parse(text));
        let (nodes, _, refusals, missed) = fuse(text);
        assert_eq!((nodes, refusals.len()), (before, 0));
        assert_eq!(missed.last().map(String::as_str), Some(reason));
    };
    let mean = "ReduceMean <axes = [-1]>";
    check(&decomposed(17, mean, "3", "Mul (n, scale)"), "`y`: the exponent is not 2");
    check(
        &decomposed(17, "ReduceMean <axes = [1]>", "2", "Mul (n, scale)"),
        "`y`: the mean is not that of the last axis",
    );
    check(&decomposed(17, mean, "2", "Sub (n, scale)"), "`y`: `bias` is not made by `Mul`");
}

/// Matches a pattern at the value `y` of a model.
fn find(pattern: &str, body: &str) -> Result<Vec<(String, String)>, String> {
    let model = parse(&format!(
        r#"<ir_version: 10, opset_import: ["": 20]> g (float[N] a, float[N] b) => (y) {{ {body} }}"#
    ));
    let pattern = Pattern::parse(pattern).map_err(|error| error.to_string())?;
    let node = crate::maker(&model, "y");
    let found = pattern.find(&model, node).map_err(|reason| reason.to_string())?;
    let name = |value: ValueId| model.str(model.value(value).name()).to_owned();
    let [p, q] = found.values(["p", "q"]).map_err(|reason| reason.to_string())?;
    assert_eq!(found.inputs(), [p, q]);
    Ok(vec![("p".to_owned(), name(p)), ("q".to_owned(), name(q))])
}

#[test]
fn operands_that_commute_match_in_each_order() {
    let names = |p: &str, q: &str| Ok(vec![("p".to_owned(), p.to_owned()), ("q".to_owned(), q.to_owned())]);
    let pattern = "(p, q) => (r) { n = Neg (p) s = Add (n, q) t = Abs (q) r = Mul (s, t) }";
    assert_eq!(find(pattern, "n = Neg (a) s = Add (n, b) t = Abs (b) y = Mul (s, t)"), names("a", "b"));
    assert_eq!(find(pattern, "n = Neg (b) s = Add (a, n) t = Abs (a) y = Mul (t, s)"), names("b", "a"));
    // The first order binds `q` to a value that does not fit later: the other one is tried.
    let twice = "n = Neg (a) m = Neg (b) s = Add (m, n) t = Abs (m) y = Mul (s, t)";
    assert_eq!(find(pattern, twice), names("a", "m"));
    assert_eq!(
        find(pattern, "n = Neg (a) s = Sub (n, b) t = Abs (b) y = Mul (s, t)"),
        Err("`s` is made by `Sub`, not by `Add`".to_owned())
    );
}

#[test]
fn attributes_of_a_pattern_must_be_equal() {
    let pattern = |alpha: &str| format!("(p, q) => (r) {{ n = LeakyRelu {alpha} (p) r = Sub (n, q) }}");
    let is_found = |alpha: &str, body: &str| find(&pattern(alpha), body).is_ok();
    let (given, omitted) =
        ("n = LeakyRelu <alpha = 0.5> (a) y = Sub (n, b)", "n = LeakyRelu (a) y = Sub (n, b)");
    assert!(is_found("", given) && is_found("", omitted) && is_found("<alpha = 0.5>", given));
    // The default is 0.01.
    assert!(is_found("<alpha = 0.01>", omitted) && !is_found("<alpha = 0.5>", omitted));
    assert_eq!(
        find(&pattern("<alpha = 0.25>"), given),
        Err("the attribute `alpha` of `LeakyRelu` has another value".to_owned())
    );
    assert_eq!(
        find(&pattern("<beta = 1>"), given),
        Err("`LeakyRelu` of version 16 does not declare the attribute `beta`".to_owned())
    );
}

#[test]
fn other_texts_are_errors() {
    let error = |text: &str| Pattern::parse(text).unwrap_err().to_string();
    assert_eq!(error("(x) => (y, z) { y = Neg (x) z = Abs (x) }"), "not a pattern: it must have one output");
    assert_eq!(error("(x) => (x) { }"), "not a pattern: its output must be made by a node");
    assert_eq!(
        error("(x) => (y) { y = Neg (x) z = Abs (x) }"),
        "not a pattern: its output must need every node"
    );
    assert!(Pattern::parse("(x) = (y)").is_err());
}

#[test]
fn a_condition_of_several_edits_is_recorded_once() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) <float zero = {0}> { a = Add (x, zero) b = Neg (a) y = Add (b, zero) }"#,
    );
    let options =
        PassOptions::default().with_conditions(&[Condition::NoNegativeZero]).with_class(Exactness::Exact);
    let mut cx = PassCx::new(&mut model, options);
    let mut cursor = Cursor::all(cx.model());
    let mut edits = 0;
    while let Some(node) = cursor.next(cx.model()) {
        let Some((x, zero, sum)) =
            ops::Add::of(cx.model(), node).and_then(|add| Some((add.a()?, add.b()?, add.out_c()?)))
        else {
            continue;
        };
        let mut patch = cx.patch("drop-zero", Exactness::Exact);
        patch.tap(x);
        assert!(patch.is_scalar(zero, 0.0) && patch.grant(Condition::NoNegativeZero));
        patch.replace(sum, x);
        edits += usize::from(patch.commit().is_ok());
    }
    drop(cx);
    assert_eq!(edits, 2);
    let lines: Vec<String> = model.info().metadata.iter().map(|entry| entry.value().to_string()).collect();
    assert_eq!(lines, ["drop-zero: no-negative-zero"]);
    assert!(model.node_count() <= 2 && value(&model, "y") != value(&model, "x"));
}

#[test]
fn a_normalization_whose_exponent_was_not_read_is_refuted() {
    let pattern = Pattern::parse(DECOMPOSED).unwrap();
    let text = r#"<ir_version: 7, opset_import: ["": 13]>
        g (float[N,H,S,4] x, float[4] w, float[4] b) => (float[N,H,S,4] y) <float two = {4}, float eps = {1e-5}> {
            m = ReduceMean <axes = [-1]> (x)
            d = Sub (x, m)
            p = Pow (d, two)
            v = ReduceMean <axes = [-1]> (p)
            e = Add (v, eps)
            s = Sqrt (e)
            n = Div (d, s)
            a = Mul (w, n)
            y = Add (b, a)
        }"#;
    for (exponent, is_read, is_committed) in [("4", false, false), ("4", true, false), ("2", true, true)] {
        let mut model = parse(&text.replace("{4}", &format!("{{{exponent}}}")));
        let mut cx = PassCx::new(&mut model, PassOptions::default());
        let report = cx.rewrite("normalize", Exactness::Rounding, op::ADD, |patch, node| {
            let found = patch.find(&pattern, node)?;
            let [x, two, eps, scale, bias, y] = found.values(["x", "two", "eps", "scale", "bias", "y"])?;
            patch.scalar(eps);
            if is_read {
                patch.scalar(two);
            }
            patch.raise_opset(domain::ONNX, 17)?;
            let new = patch.build(Position::Before(node), |build| {
                ops::layer_normalization(build, x, scale).b(bias).epsilon(1e-5).output()
            })?;
            patch.replace(y, new);
            Ok(())
        });
        assert_eq!(
            (report.edits, cx.journal().len()),
            (usize::from(is_committed), usize::from(is_committed))
        );
        let is_refuted = report.refusals.iter().any(|refusal| refusal.level == Level::Values);
        assert_eq!(is_refuted, !is_committed, "{:?}", report.refusals);
    }
}
