//! Models in half precision: which types change, where casts are, and how far results are apart.

use std::collections::HashSet;

use onnx_ir::{Model, NodeId};
use onnx_quantize::{
    Half, MeasureOptions, NarrowError, NarrowOptions, Narrowed, WideReason, measure, narrow, widen,
};
use onnx_schema::op;
use onnx_types::tensor::NoData;
use onnx_types::{Dim, ElemType, Type};

use super::{assert_is_valid, model, text_of};

fn node_of(model: &Model, name: &str) -> NodeId {
    let graph = model.all_graphs().find(|&graph| model.find_value(graph, name).is_some()).unwrap();
    model.value(model.find_value(graph, name).unwrap()).producer().unwrap()
}

fn convert(text: &str, half: Half, options: &NarrowOptions<'_>) -> (Model, Narrowed) {
    let mut model = model(text);
    let done = narrow(&mut model, half, options).unwrap();
    assert_is_valid(&model);
    (model, done)
}

/// Compares the whole body, without the indentation.
fn assert_text(model: &Model, wanted: &str) {
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    let text = text_of(model);
    let body = lines(&text);
    for line in lines(wanted) {
        assert!(body.contains(&line), "no line `{line}` in\n{text}");
    }
}

fn snr(before: &str, after: &Model) -> f64 {
    let measured = measure(&model(before), after, &MeasureOptions::default()).unwrap();
    measured.iter().filter_map(|output| output.snr).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_model_becomes_narrow_without_casts() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {0.1, -0.7, 0.3, 1.9}> {
        p = MatMul (x, w)
        y = Relu (p)
    }"#;
    for half in [Half::Float16, Half::Bfloat16] {
        let (after, done) = convert(text, half, &NarrowOptions::default());
        assert_eq!((done.nodes, done.casts, done.constants, done.wide.len()), (2, 0, 1, 0));
        let graph = after.graph(after.main_graph());
        assert_eq!(after.ty(graph.inputs()[0]).unwrap().elem(), half.elem());
        assert_eq!(after.ty(graph.outputs()[0].value()).unwrap().elem(), half.elem());
        let least = if half == Half::Float16 { 50.0 } else { 30.0 };
        assert!(snr(text, &after) > least, "{}", snr(text, &after));
    }
}

#[test]
fn the_interface_is_kept_on_request() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N] x, int64[N] i) => (float[N] y, float[N] z) {
        a = Abs (x)
        y = Sqrt (a)
        z = Identity (x)
    }"#;
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default().with_keep_io(true));
    // `z` moves a kept input to a kept output: no cast.
    assert_eq!((done.nodes, done.casts), (2, 2));
    assert_text(
        &after,
        "x_float16 = Cast <to = 10> (x)
         a = Abs (x_float16)
         y_float16 = Sqrt (a)
         y = Cast <to = 1> (y_float16)
         z = Identity (x)",
    );
}

#[test]
fn operands_that_are_float_in_the_facts_stay() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[1,1,4,4] x) => (float[1,1,8,8] y, float[K] r) <float[4] s = {1, 1, 2, 2}, float f = {2}, float t = {8}> {
        a = Sigmoid (x)
        y = Resize (a, , s)
        r = Range (f, t, f)
    }"#;
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default());
    let elem = |name: &str| {
        let value = after.find_value(after.main_graph(), name).unwrap();
        after.constant_tensor(value).unwrap().elem()
    };
    assert_eq!((elem("s"), elem("f"), elem("t")), (ElemType::Float, ElemType::Float, ElemType::Float));
    assert_eq!(done.casts, 0);
    // `Range` has no float16: its output, too.
    assert_eq!(done.wide.len(), 2);
    assert!(done.wide.iter().all(|node| node.reason == WideReason::Signature));
}

#[test]
fn one_cast_serves_all_users_and_is_where_there_are_fewest() {
    // A wide node in the middle: movement around it stays wide, so that the casts are where there is one value.
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[4] x) => (float[2] y, float[2] z) {
        a = Relu (x)
        d = CumSum (a, axis)
        p, q = Split <axis = 0, num_outputs = 2> (d)
        r = Reshape (p, shape)
        y = Exp (r)
        u = Neg (q)
        z = Add (u, r)
    }"#
    .replace(
        "=> (float[2] y, float[2] z)",
        "=> (float[2] y, float[2] z) <int64 axis = {0}, int64[1] shape = {2}>",
    );
    let source = model(&text);
    let except = [node_of(&source, "d")];
    let options = NarrowOptions::default().with_except(&except);
    let (after, done) = convert(&text, Half::Float16, &options);
    assert_eq!(done.casts, 2, "{}", text_of(&after));
    assert_eq!(done.wide.len(), 1);
    assert_eq!((done.wide[0].op.as_str(), done.wide[0].reason), ("CumSum", WideReason::Selection));
}

#[test]
fn only_selected_nodes_become_narrow() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[4] x) => (float[4] y) { a = Relu (x) b = Exp (a) y = Neg (b) }"#;
    let source = model(text);
    let only = HashSet::from([node_of(&source, "b")]);
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default().with_only(Some(&only)));
    assert_eq!((done.nodes, done.casts), (1, 2), "{}", text_of(&after));
}

#[test]
fn attributes_that_state_types_follow() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (int64[3] i, float[2,2] x) => (float[3] a, float[2,2] b, float[3] c, float[2,2] d, float[2] e, float[2,2] f, float[2,2] h) <int64[1] n = {3}> {
        a = Cast <to = 1> (i)
        b = RandomNormalLike (x)
        c = ConstantOfShape <value = float[1] {7}> (n)
        d = RandomNormal <shape = [2, 2]> ()
        e = Constant <value_floats = [1.5, 2.5]> ()
        f = EyeLike (x)
        k = Cast <to = 1> (x)
        h = Neg (k)
    }"#;
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default());
    assert_eq!(done.casts, 0, "{}", text_of(&after));
    assert_text(
        &after,
        "a = Cast <to = 10> (i)
         b = RandomNormalLike (x)
         c = ConstantOfShape <value = float16[1] = raw {7.0}> (n)
         d = RandomNormal <shape = [2, 2], dtype = 10> ()
         e = Constant <value = float16[2] = raw {1.5, 2.5}> ()
         f = EyeLike (x)
         h = Neg (x)",
    );
}

#[test]
fn a_zero_without_a_value_gets_one() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[3] x) => (float[3] y) <int64[1] n = {3}> { z = ConstantOfShape (n) y = Add (x, z) }"#;
    let (after, _) = convert(text, Half::Bfloat16, &NarrowOptions::default());
    assert_text(&after, "z = ConstantOfShape <value = bfloat16[1] = raw {0.0}> (n)");
}

#[test]
fn branches_and_loops_carry_the_type() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (bool c, float[2] x, int64 m) => (float[2] y, float[K,2] s) {
        h = Relu (x)
        t = If (c) <
            then_branch = a () => (float[2] p) { p = Exp (h) },
            else_branch = b () => (float[2] q) { q = Identity (x) }
        >
        y, s = Loop (m, , t) <body = l (int64 i, bool ci, float[2] v) => (bool co, float[2] w, float[2] o) {
            co = Identity (ci)
            w = Mul (v, h)
            o = Neg (w)
        }>
    }"#;
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default());
    assert_eq!((done.casts, done.wide.len()), (0, 0), "{}", text_of(&after));
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default().with_keep_io(true));
    assert_eq!(done.casts, 3, "{}", text_of(&after));
    assert!(snr(text, &after) > 50.0);
}

#[test]
fn what_is_excepted_in_a_branch_is_cast_there() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (bool c, float[2] x) => (float[2] y) {
        t = If (c) <
            then_branch = a () => (float[2] p) { e = Exp (x) p = Neg (e) },
            else_branch = b () => (float[2] q) { q = Abs (x) }
        >
        y = Relu (t)
    }"#;
    let source = model(text);
    let except = [node_of(&source, "e")];
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default().with_except(&except));
    assert_eq!(done.casts, 2, "{}", text_of(&after));
}

#[test]
fn sequences_and_optionals_follow() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[2] x, seq(float[2]) z) => (float[4] y, optional(float[2]) o, float[N] u) {
        a = Exp (x)
        s = SequenceConstruct (a, x)
        y = ConcatFromSequence <axis = 0> (s)
        o = Optional (a)
        u = ConcatFromSequence <axis = 0> (z)
    }"#;
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default());
    assert_eq!((done.casts, done.wide.len()), (0, 0), "{}", text_of(&after));
    // A sequence cannot be cast: with kept inputs, what is made of it is.
    let (after, _) = convert(text, Half::Float16, &NarrowOptions::default().with_keep_io(true));
    let graph = after.graph(after.main_graph());
    assert!(text_of(&after).contains("seq(float[2]) z"), "{}", text_of(&after));
    assert_eq!(graph.outputs().len(), 3);
}

#[test]
fn functions_are_copied_if_they_are_called_in_both_types() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
    g (float[2] x, int64[2] i) => (float[2] y, float[2] z, int64[2] j) {
        y = my.F (x)
        z = my.F (y)
        j = my.F (i)
    }
    <domain: "my", opset_import: ["": 20]> F (a) => (b) { c = Neg (a) b = Abs (c) }"#;
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default());
    assert_eq!((done.casts, after.functions().len()), (0, 2), "{}", text_of(&after));
    let source = model(text);
    let except = [node_of(&source, "z")];
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default().with_except(&except));
    assert_eq!((done.casts, after.functions().len()), (1, 3), "{}", text_of(&after));
    assert!(snr(text, &after) > 50.0);
}

#[test]
fn masks_become_the_lowest_number_and_small_constants_stay_positive() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[4] x, bool[4] m) => (float[4] y) <float low = {-3.4028235e38}, float eps = {1e-12}> {
        a = Where (m, x, low)
        s = Softmax (a)
        y = Add (s, eps)
    }"#;
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default());
    let names: Vec<&str> = done.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
    assert_eq!(names, ["low", "eps"]);
    assert!(done.tensors[0].losses.is_mask && done.tensors[1].losses.is_kept_positive);
    let number = |name: &str| {
        let value = after.find_value(after.main_graph(), name).unwrap();
        after.constant_tensor(value).unwrap().iter_f64(&NoData).unwrap().next().unwrap()
    };
    assert_eq!((number("low"), number("eps")), (-65504.0, 2.0_f64.powi(-24)));
    assert_eq!((done.wide.len(), done.casts), (0, 0));
    let measured = measure(&model(text), &after, &MeasureOptions::default()).unwrap();
    assert_eq!(measured[0].not_finite, 0);
}

/// The first versions of `Cast` take no strings, as operators do that compute.
#[test]
fn casts_are_not_cast_again() {
    let text =
        r#"<ir_version: 3, opset_import: ["": 8]> g (float[4] x) => (float[4] y) { y = LeakyRelu (x) }"#;
    let options = NarrowOptions::default().with_keep_io(true);
    let (once, done) = convert(text, Half::Float16, &options);
    assert_eq!((done.nodes, done.casts), (1, 2), "{}", text_of(&once));
    let (twice, done) = convert(&text_of(&once), Half::Float16, &options);
    assert_eq!((done.casts, done.removed_casts), (0, 0), "{}", text_of(&twice));
}

#[test]
fn what_fills_a_tensor_is_a_constant() {
    let converted = |value: &str, run: bool| {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 17]>
            g (float[4] x) => (float[4] y) {{
                s = Shape (x)
                c = ConstantOfShape <value = float[1] {{{value}}}> (s)
                y = Max (x, c)
            }}"#
        );
        let (after, done) = convert(&text, Half::Float16, &NarrowOptions::default().with_run(run));
        let names: Vec<String> = done.tensors.iter().map(|tensor| tensor.name.clone()).collect();
        (snr(&text, &after), names, done.wide.into_iter().map(|node| node.op).collect::<Vec<_>>())
    };
    for run in [true, false] {
        let (ratio, names, wide) = converted("100000", run);
        assert!(ratio > 100.0 && names.is_empty(), "{ratio} {names:?}");
        assert_eq!(wide, ["ConstantOfShape", "Max"]);
        // Nothing is beyond a limit of -3.4e38.
        let (ratio, names, wide) = converted("-3.4e38", run);
        assert!(ratio > 50.0, "{ratio}");
        assert_eq!((names, wide), (vec!["c".to_owned()], vec![]));
    }
}

#[test]
fn numbers_out_of_range_stay_wide() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[4] x) => (float[4] y) <float big = {1e6}> {
        a = Abs (x)
        b = Mul (a, big)
        c = Sqrt (b)
        d = Exp (c)
        y = Log (d)
    }"#;
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default());
    assert_eq!(done.not_run, None);
    let wide: Vec<&str> = done.wide.iter().map(|node| node.op.as_str()).collect();
    assert!(wide.contains(&"Mul") && !wide.contains(&"Abs"), "{wide:?}\n{}", text_of(&after));
    assert!(done.wide.iter().all(|node| node.reason == WideReason::Range));
    // bfloat16 has the range.
    let (_, done) = convert(text, Half::Bfloat16, &NarrowOptions::default());
    assert_eq!((done.wide.len(), done.casts), (0, 0));
}

#[test]
fn sizes_are_computed_exactly() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N,4] x) => (float[M,4] y) <float[2] k = {1.5, 1}> {
        s = Shape (x)
        f = Cast <to = 1> (s)
        p = Mul (f, k)
        r = Floor (p)
        n = Cast <to = 7> (r)
        e = Exp (x)
        y = Expand (e, n)
    }"#;
    let (_, done) = convert(text, Half::Float16, &NarrowOptions::default().with_run(false));
    let wide: Vec<(&str, WideReason)> =
        done.wide.iter().map(|node| (node.op.as_str(), node.reason)).collect();
    assert_eq!(wide, ["Cast", "Mul", "Floor"].map(|op| (op, WideReason::Index)));
    assert_eq!(done.casts, 0);
}

#[test]
fn a_constant_with_both_kinds_of_users_is_stored_twice() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[2] x) => (float[2] y, float[2] z) <float[2] w = {0.1, 2}> { y = Mul (x, w) z = Add (x, w) }"#;
    let source = model(text);
    let except = [node_of(&source, "z")];
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default().with_except(&except));
    assert_eq!(after.initializers(after.main_graph()).count(), 2);
    assert_eq!((done.constants, done.casts), (1, 1), "{}", text_of(&after));
}

#[test]
fn old_versions_are_converted_as_their_signatures_say() {
    // Initializers are inputs, and `Cast` names types.
    let text = r#"<ir_version: 3, opset_import: ["": 5]>
    g (int32[2] i, float[2] w) => (float[2] y) <float[2] w = {0.5, 3}> {
        a = Cast <to = "FLOAT"> (i)
        y = Add (a, w)
    }"#;
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default());
    assert_text(&after, r#"a = Cast <to = "FLOAT16"> (i)"#);
    assert_eq!((done.casts, done.constants), (0, 1));
    let mut none = model(text);
    let error = narrow(&mut none, Half::Bfloat16, &NarrowOptions::default()).unwrap_err();
    assert!(matches!(error, NarrowError::NotTaken(reason) if reason.half == Some(Half::Bfloat16)));
    assert_eq!(text_of(&none), text_of(&model(text)));
}

#[test]
fn statistics_of_normalizations_stay() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[2,4] x, float[4] s) => (float[2,4] y, float[2,1] mean) {
        y, mean = LayerNormalization (x, s)
    }"#;
    let (after, done) = convert(text, Half::Float16, &NarrowOptions::default());
    let graph = after.graph(after.main_graph());
    let elems: Vec<ElemType> =
        graph.outputs().iter().map(|output| after.ty(output.value()).unwrap().elem()).collect();
    assert_eq!(elems, [ElemType::Float16, ElemType::Float]);
    assert_eq!(done.casts, 0);
}

#[test]
fn quantized_parts_follow_their_scales() {
    let text = |version: i64| {
        format!(
            r#"<ir_version: 10, opset_import: ["": {version}]>
    g (float[4] x) => (float[4] y) <float s = {{0.1}}, uint8 z = {{128}}> {{
        q = QuantizeLinear (x, s, z)
        d = DequantizeLinear (q, s, z)
        y = Relu (d)
    }}"#
        )
    };
    let (_, done) = convert(&text(21), Half::Float16, &NarrowOptions::default());
    assert_eq!((done.casts, done.wide.len()), (0, 0));
    // Version 13 has scales of float only.
    let (after, done) = convert(&text(13), Half::Float16, &NarrowOptions::default());
    assert_eq!(done.wide.len(), 2, "{}", text_of(&after));
    assert_eq!(done.casts, 1, "{}", text_of(&after));
}

/// Casts around an operator between pairs narrow nothing. A part of several operators computes between two casts.
#[test]
fn what_is_between_pairs_that_stay_is_not_surrounded_by_casts() {
    let text = |version: i64| {
        format!(
            r#"<ir_version: 10, opset_import: ["": {version}]>
    g (float[4,4] x) => (float[4,4] y)
    <float s = {{0.1}}, uint8 z = {{128}}, float[4,4] w = {{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}},
     int8[4,4] v = {{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}}, int8 zero = {{0}}, float[4] b = {{1, 2, 3, 4}}> {{
        p = MatMul (x, w)
        q1 = QuantizeLinear (p, s, z)
        d1 = DequantizeLinear (q1, s, z)
        dv = DequantizeLinear (v, s, zero)
        m = MatMul (d1, dv)
        c = Add (m, b)
        q2 = QuantizeLinear (c, s, z)
        d2 = DequantizeLinear (q2, s, z)
        e = Abs (d2)
        f = Sqrt (e)
        h = Exp (f)
        q3 = QuantizeLinear (h, s, z)
        d3 = DequantizeLinear (q3, s, z)
        y = Neg (d3)
    }}"#
        )
    };
    let options = NarrowOptions::default().with_run(false);
    let (after, done) = convert(&text(13), Half::Float16, &options);
    let pairs = done.wide.iter().filter(|wide| wide.reason == WideReason::Pairs);
    let pairs: Vec<&str> = pairs.map(|wide| wide.op.as_str()).collect();
    assert_eq!(pairs, ["MatMul", "Add"], "{}", text_of(&after));
    // Behind the first product, before and behind three operators, and in front of the last one.
    assert_eq!(done.casts, 4, "{}", text_of(&after));
    assert_eq!(done.nodes, 5, "{}", text_of(&after));
    let mut again = after.clone();
    let second = narrow(&mut again, Half::Float16, &options);
    assert!(second.is_err() || text_of(&again) == text_of(&after), "{}", text_of(&again));
    // Scales take the type in version 19.
    let (after, done) = convert(&text(19), Half::Float16, &options);
    assert_eq!((done.casts, done.wide.len()), (0, 0), "{}", text_of(&after));
}

#[test]
fn models_that_name_values_are_refused() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "ai.onnx.preview.training": 1]>
    g (float[2] x) => (float[2] d) {
        y = Mul (x, x)
        d = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x)
    }"#;
    let mut source = model(text);
    let error = narrow(&mut source, Half::Float16, &NarrowOptions::default()).unwrap_err();
    assert!(matches!(error, NarrowError::Training), "{error}");
}

/// Unknown operators keep what they take and make.
#[test]
fn unknown_operators_stay() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "acme": 1]>
    g (float[2] x) => (float[2] y) { a = Exp (x) b = acme.Magic (a) y = Exp (b) }"#;
    let mut source = model(text);
    let done = narrow(&mut source, Half::Float16, &NarrowOptions::default()).unwrap();
    assert_eq!(done.wide[0].reason, WideReason::Unknown);
    assert!(done.not_run.is_some());
    let casts = source.nodes_in(source.main_graph()).filter(|&node| source.node(node).is(op::CAST)).count();
    // The type of `b` is not known, so nothing is cast behind it.
    assert_eq!((done.casts, casts), (1, 1), "{}", text_of(&source));
}

#[test]
fn a_narrow_model_becomes_float_again() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[N,2] x, bool[N] mask) => (float[N,2] y) <float[2,2] w = {0.5, -0.75, 0.25, 2}, float low = {-60000}> {
        p = MatMul (x, w)
        axes = Constant <value_ints = [1]> ()
        column = Unsqueeze (mask, axes)
        m = Where (column, p, low)
        zero = ConstantOfShape <value = float[1] {0.5}> (axes)
        s = Add (m, zero)
        y = Relu (s)
    }"#;
    for half in [Half::Float16, Half::Bfloat16] {
        for keep_io in [false, true] {
            let options = NarrowOptions::default().with_keep_io(keep_io);
            let (mut narrow, _) = convert(&text.replace("60000", "1024"), half, &options);
            let done = widen(&mut narrow, &NarrowOptions::default()).unwrap();
            assert_is_valid(&narrow);
            assert_eq!((done.casts, done.wide.len()), (0, 0));
            // Interface, constants and nodes are as before, and so is what they compute.
            assert_eq!(narrow.nodes(narrow.main_graph()).count(), 7, "{}", text_of(&narrow));
            assert!(!text_of(&narrow).contains("float16"), "{}", text_of(&narrow));
            assert_eq!(narrow.value_info(narrow.main_graph()).count(), 0, "{}", text_of(&narrow));
            assert!(snr(&text.replace("60000", "1024"), &narrow).is_infinite());
        }
    }
}

#[test]
fn what_takes_narrow_numbers_only_keeps_them() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "com.acme": 1]>
    g (float16[N] x) => (float16[N] y, float[N] z) {
        a = Sqrt (x)
        b = com.acme.Own (a)
        y = Exp (b)
        z = Cast <to = 1> (a)
    }"#;
    let mut model = model(text);
    let done = widen(&mut model, &NarrowOptions::default().with_keep_io(true)).unwrap();
    assert_eq!(done.wide.iter().map(|node| node.op.as_str()).collect::<Vec<_>>(), ["Own", "Exp"]);
    assert_text(
        &model,
        "x_float = Cast <to = 1> (x)
        b = com.acme.Own (a_float16)",
    );
    let mut wide = self::model(
        r#"<ir_version: 10, opset_import: ["": 20]> g (float[N] x) => (float[N] y) { y = Sqrt (x) }"#,
    );
    let done = widen(&mut wide, &NarrowOptions::default()).unwrap();
    assert_eq!((done.nodes, done.unchanged.is_some()), (0, true));
}

#[test]
fn both_narrow_types_become_float() {
    let text = r#"<ir_version: 10, opset_import: ["": 22]>
    g (float16[N] x) => (bfloat16[N] y) {
        a = Sqrt (x)
        b = Cast <to = 16> (a)
        y = Exp (b)
    }"#;
    let mut model = model(text);
    let cast = node_of(&model, "b");
    let options = NarrowOptions::default();
    widen(&mut model, &options).unwrap();
    assert_is_valid(&model);
    assert_text(&model, "g (float[N] x) => (float[N] y) {\na = Sqrt (x)\ny = Exp (a)");
    assert!(model.get_node(cast).is_none());
}

#[test]
fn a_cast_to_an_output_without_a_type_states_no_size_that_only_inference_names() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[?, N] x) => (y) { z = Tile (x, r) y = Relu (z) }"#;
    let text = text.replace("=> (y) {", "=> (y) <int64[2] r = {1, 2}> {");
    let (after, done) =
        convert(&text, Half::Float16, &NarrowOptions::default().with_keep_io(true).with_run(false));
    assert_eq!((done.nodes, done.casts), (2, 2));
    assert_text(&after, "y = Cast <to = 1> (y_float16)");
    let output = after.graph(after.main_graph()).outputs()[0].value();
    let shape = after.ty(output).and_then(Type::shape).unwrap();
    assert_eq!(shape.dims(), [Dim::Unknown, Dim::Unknown]);
}

#[test]
fn an_input_that_is_an_output_has_one_element_type_however_often_it_is_declared() {
    let text = r#"<ir_version: 3, opset_import: ["": 17]>
    g (float[2,2] w, float[2,2] x, float[2,2] x2) => (float[?,?] y, float[?,?] w, float[?,?] z)
      <float[2,2] w = {0.1, 0.2, 0.3, 0.4}> { y = MatMul (x, w) z = Relu (x2) }"#;
    for half in [Half::Float16, Half::Bfloat16] {
        let mut model = model(text);
        narrow(&mut model, half, &NarrowOptions::default().with_run(false)).unwrap();
        assert_is_valid(&model);
        let elem = half.elem();
        for output in model.graph(model.main_graph()).outputs() {
            let own = output.own().and_then(|own| own.ty.as_ref()).map_or(elem, |ty| ty.elem());
            assert_eq!((own, model.ty(output.value()).map(|ty| ty.elem())), (elem, Some(elem)));
        }
    }
}
