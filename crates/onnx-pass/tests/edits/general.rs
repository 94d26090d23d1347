//! What holds for all patches.

use onnx_ir::Position;
use onnx_pass::{Condition, Exactness, Level, PassCx, PassOptions, Patch, Verdict};
use onnx_schema::{attr, op};
use onnx_types::tensor::Tensor;

use crate::{UNCONFIRMED, bytes, commits, maker, nodes, parse, refuses, value};

const SUM: &str = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N] x) => (float[N] y) <float z = {0}> {
        a = Add (x, z)
        y = Neg (a)
    }"#;

/// Replaces `x + 0` by `x`.
fn drop_zero(patch: &mut Patch<'_, '_>) {
    let [x, z, a] = ["x", "z", "a"].map(|name| value(patch.model(), name));
    patch.tap(x);
    patch.constant(z).unwrap();
    patch.replace(a, x);
}

#[test]
fn the_sum_with_zero_differs_for_negative_zero() {
    refuses(
        SUM,
        Exactness::Exact,
        drop_zero,
        Level::Values,
        &[
            "the results differ",
            "x = float[3] {-0.0, -32.0, -4.0}",
            "a[0] is 0.0 before and -0.0 after; a claim of the class `rounding` may change the sign of a zero",
        ],
    );
    let mut model = parse(SUM);
    let conditions = [Condition::NoNegativeZero];
    let mut options = PassOptions::default();
    options.conditions = &conditions;
    let mut cx = PassCx::new(&mut model, options);
    let mut patch = cx.patch("drop-zero", Exactness::Exact);
    assert!(patch.grant(Condition::NoNegativeZero));
    assert!(!patch.grant(Condition::NoNan));
    drop_zero(&mut patch);
    patch.commit().unwrap();
    assert_eq!(cx.journal()[0].assumed, ["no-negative-zero"]);
    drop(cx);
    assert_eq!(nodes(&model), ["y = Neg (x)"]);
    let metadata: Vec<String> = model.info().metadata.iter().map(|entry| entry.value().to_string()).collect();
    assert_eq!(metadata, ["drop-zero: no-negative-zero"]);
}

#[test]
fn a_constant_that_was_not_read_is_free() {
    // The edit is right for this model, but does not show why.
    refuses(
        SUM,
        Exactness::Rounding,
        |patch| {
            let [x, z, a] = ["x", "z", "a"].map(|name| value(patch.model(), name));
            patch.tap(x);
            patch.tap(z);
            patch.replace(a, x);
        },
        Level::Values,
        &[
            UNCONFIRMED,
            "x = float[2] {0.375, -4.0}",
            "z = float[] {-2.25}",
            "a[0] is -1.875 before and 0.375 after",
        ],
    );
}

/// Replaces `Relu (a)` by `a`.
fn drop_relu(patch: &mut Patch<'_, '_>) {
    let [a, r] = ["a", "r"].map(|name| value(patch.model(), name));
    patch.tap(a);
    patch.replace(r, a);
}

#[test]
fn a_refutation_is_confirmed_with_the_nodes_before_it() {
    let text = |op: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 20]>
            g (float[N] x) => (float[N] y) {{ a = {op} (x) r = Relu (a) y = Neg (r) }}"#
        )
    };
    // The edit is right, and the claim has operands that the model does not compute.
    let refusal = refuses(
        &text("Exp"),
        Exactness::Rounding,
        drop_relu,
        Level::Values,
        &[UNCONFIRMED, "a = float[2] {0.375, -4.0}", "r[1] is 0.0 before and -4.0 after"],
    );
    assert!(matches!(refusal.verdict, Some(Verdict::Untested(_))), "{refusal:?}");
    let refusal = refuses(
        &text("Neg"),
        Exactness::Rounding,
        drop_relu,
        Level::Values,
        &["the results differ", "a = float[2] {0.375, -4.0}", "r[1] is 0.0 before and -4.0 after"],
    );
    assert!(refusal.verdict.is_some_and(|verdict| verdict.is_refuted()));
}

#[test]
fn a_dropped_patch_leaves_no_trace() {
    let mut model = parse(SUM);
    let before = bytes(&model);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let node = maker(cx.model(), "a");
    let x = value(cx.model(), "x");
    let mut patch = cx.patch("drop", Exactness::Exact);
    let at = Position::Before(node);
    let two = patch.new_constant(at, Tensor::scalar(2.0_f32)).unwrap();
    let made = patch.build(at, |build| {
        let twice = build.op(op::MUL, [x, two]).output()?;
        build.op(op::SOFTMAX, [twice]).attr(attr::AXIS, 0_i64).output()
    });
    assert!(made.is_ok());
    assert_eq!(patch.model().node_count(), 4);
    drop(patch);
    drop(cx);
    model.verify().unwrap();
    assert!(bytes(&model) == before);
}

#[test]
fn a_new_value_that_depends_on_the_old_one_is_refused() {
    refuses(
        SUM,
        Exactness::Exact,
        |patch| {
            let a = value(patch.model(), "a");
            let at = Position::After(maker(patch.model(), "a"));
            let new = patch.build(at, |build| build.op(op::IDENTITY, [a]).output()).unwrap();
            patch.replace(a, new);
        },
        Level::Structure,
        &["v4 is defined after a user of `a`, or depends on it"],
    );
}

#[test]
fn a_value_that_is_defined_later_is_refused() {
    refuses(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y, float[N] z) {
            a = Exp (x)
            b = Neg (a)
            y = Identity (b)
            z = Exp (x)
        }"#,
        Exactness::Exact,
        |patch| {
            let [a, z] = ["a", "z"].map(|name| value(patch.model(), name));
            patch.replace(a, z);
        },
        Level::Structure,
        &["`z` is defined after a user of `a`, or depends on it"],
    );
}

#[test]
fn a_quantized_value_is_not_replaced() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) {
            a = Identity (x)
            y = Neg (a)
        }"#;
    let mut model = parse(text);
    let main = model.main_graph();
    let a = value(&model, "a");
    model
        .graph_mut(main)
        .quantization
        .push(onnx_ir::QuantAnnotation::new(onnx_ir::ValueRef::Value(a), Vec::new()));
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let x = value(cx.model(), "x");
    let mut patch = cx.patch("wrong", Exactness::Exact);
    patch.tap(x);
    patch.replace(a, x);
    let refusal = patch.commit().unwrap_err();
    assert_eq!(refusal.reason, "a quantization annotation refers to `a`");
}

#[test]
fn a_restructuring_keeps_what_is_referred_to() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[2] x) => (float[2] y) <float s = {0.5}, float[2] w = {1, 2}> @{quantization_annotation: [
            {tensor_name: "w", quant_parameter_tensor_names: ["SCALE_TENSOR": "s"]}
        ]} {
            y = Mul (x, w)
        }"#;
    let mut model = parse(text);
    let before = bytes(&model);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let report = cx.restructure("wrong", |model| {
        let scale = value(model, "s");
        usize::from(model.erase_value(scale).is_ok())
    });
    assert_eq!(report.refusals[0].reason, "it removes `s`, to which a quantization annotation refers");
    let report = cx.restructure("wrong", |model| {
        let (graph, w) = (model.main_graph(), value(model, "w"));
        let constant = onnx_ir::Constant::clone(model.value(w).constant().unwrap());
        let twin = model.add_initializer(graph, onnx_types::Symbol::EMPTY, constant);
        model.replace_all_uses(w, twin);
        1
    });
    assert_eq!(report.refusals[0].reason, "it replaces `w`, to which a quantization annotation refers");
    drop(cx);
    assert!(bytes(&model) == before, "a refused restructuring changed the model");
}

#[test]
fn an_invalid_node_is_refused_by_the_checker() {
    refuses(
        SUM,
        Exactness::Exact,
        |patch| {
            let [x, a] = ["x", "a"].map(|name| value(patch.model(), name));
            patch.tap(x);
            let at = Position::Before(maker(patch.model(), "a"));
            let new = patch
                .build(at, |build| build.op(op::IDENTITY, [x]).attr(attr::AXIS, 0_i64).output())
                .unwrap();
            patch.replace(a, new);
        },
        Level::Rules,
        &["`Identity` has no attribute `axis` (unknown-attribute)"],
    );
}

#[test]
fn a_result_of_another_type_is_refused() {
    refuses(
        SUM,
        Exactness::Exact,
        |patch| {
            let [x, a] = ["x", "a"].map(|name| value(patch.model(), name));
            patch.tap(x);
            let at = Position::Before(maker(patch.model(), "a"));
            let new =
                patch.build(at, |build| build.op(op::CAST, [x]).attr(attr::TO, 11_i64).output()).unwrap();
            patch.replace(a, new);
        },
        Level::Types,
        &["the type of what replaces `a` contradicts it: its elements are double, not float"],
    );
}

#[test]
fn a_class_that_is_not_allowed_is_refused() {
    let mut model = parse(SUM);
    let mut options = PassOptions::default();
    options.class = Exactness::Exact;
    let mut cx = PassCx::new(&mut model, options);
    let mut patch = cx.patch("rounding", Exactness::Rounding);
    drop_zero(&mut patch);
    let refusal = patch.commit().unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the edit `rounding` was refused (class): edits of class rounding are not allowed"
    );
}

#[test]
fn layers_that_are_alike_are_proved_once() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) {
            a = Neg (x)
            b = Neg (a)
            c = Abs (b)
            d = Neg (c)
            e = Neg (d)
            y = Abs (e)
        }"#;
    let mut model = parse(text);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let mut cached = Vec::new();
    for (old, new) in [("b", "x"), ("e", "c")] {
        let (old, new) = (value(cx.model(), old), value(cx.model(), new));
        let mut patch = cx.patch("double-negation", Exactness::Exact);
        patch.tap(new);
        patch.replace(old, new);
        cached.push(patch.commit().unwrap().is_cached);
    }
    assert_eq!(cached, [false, true]);
    drop(cx);
    assert_eq!(nodes(&model), ["c = Abs (x)", "y = Abs (c)"]);
}

#[test]
fn functions_are_part_of_the_region() {
    let (model, proof) = commits(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) {
            a = my.Same (x)
            y = Neg (a)
        }
        <domain: "my", opset_import: ["": 20]> Same (p) => (q) { t = Neg (p) q = Neg (t) }"#,
        Exactness::Exact,
        |patch| {
            let [x, a] = ["x", "a"].map(|name| value(patch.model(), name));
            patch.tap(x);
            patch.replace(a, x);
        },
    );
    assert_eq!(proof.verdict.to_string(), "tested in 24 runs (24 attempts)");
    assert_eq!(model.graph(model.main_graph()).node_count(), 1);
}

#[test]
fn an_output_that_becomes_a_later_value_is_defined_after_it() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y, float[N] z) { y = Neg (x) t = Exp (x) z = Neg (x) }"#;
    let (model, _) = commits(text, Exactness::Exact, |patch| {
        patch.tap(value(patch.model(), "x"));
        let (y, z) = (value(patch.model(), "y"), value(patch.model(), "z"));
        patch.replace(y, z);
    });
    model.verify_sorted().unwrap();
    assert_eq!(nodes(&model), ["t = Exp (x)", "z = Neg (x)", "y = Identity (z)"]);
}

#[test]
fn an_output_of_a_branch_does_not_become_a_value_after_its_node() {
    let check = |branch: &str, old: &str| {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 20]>
            g (float[N] x, bool c) => (float[N] y, float[N] z) {{
                o = Neg (x)
                y = If (c) <then_branch = t () => {branch}, else_branch = e () => (w) {{ w = Abs (x) }}>
                z = Neg (x)
            }}"#
        );
        let reason = format!("`z` is defined after a user of `{old}`, or depends on it");
        let edit = |patch: &mut Patch<'_, '_>| {
            patch.tap(value(patch.model(), "x"));
            let (old, z) = (value(patch.model(), old), value(patch.model(), "z"));
            patch.replace(old, z);
        };
        refuses(&text, Exactness::Exact, edit, Level::Structure, &[&reason]);
    };
    check("(o) {}", "o");
    check("(v) { v = Neg (x) }", "v");
}
