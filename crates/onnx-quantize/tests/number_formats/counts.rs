//! Numbers that count, and positions: they stay `float`.

use onnx_quantize::{Half, MeasureOptions, NarrowOptions, WideReason, measure, narrow};

use super::{assert_is_valid, model, text_of};

/// The operators that stay because they count.
fn counting(text: &str, half: Half) -> (onnx_ir::Model, Vec<String>) {
    let mut result = model(text);
    let done = narrow(&mut result, half, &NarrowOptions::default().with_run(false)).unwrap();
    assert_is_valid(&result);
    let wide = done.wide.iter().filter(|node| node.reason == WideReason::Count);
    let mut names: Vec<String> = wide.map(|node| node.op.clone()).collect();
    names.sort();
    (result, names)
}

/// A loop that counts in `float` up to a number that the narrow types do not reach in steps of one.
#[test]
fn counters_of_loops_stay_exact() {
    let text = r#"<ir_version: 8, opset_import: ["": 17]>
    g (float[4] x) => (float total, float[4] y)
    <float zero = {0}, float one = {1}, bool t = {1}, float last = {2100}, float[4] half = {0.5, 0.5, 0.5, 0.5}> {
        start = Mul (x, half)
        total, y = Loop (, t, zero, start) <body = body (int64 i, bool c, float count, float[4] v) => (bool d, float next, float[4] w) {
            next = Add (count, one)
            d = Less (next, last)
            w = Mul (v, half)
        }>
    }"#;
    for half in [Half::Float16, Half::Bfloat16] {
        let (result, names) = counting(text, half);
        assert_eq!(names[..2], ["Add", "Less"], "{names:?}\n{}", text_of(&result));
        let graph = result.graph(result.main_graph());
        let elem = |index: usize| result.ty(graph.outputs()[index].value()).unwrap().elem();
        assert_eq!((elem(0).name(), elem(1)), ("float", half.elem()));
        let outputs = measure(&model(text), &result, &MeasureOptions::default()).unwrap();
        assert_eq!((outputs[0].name.as_str(), outputs[0].max_error), ("total", 0.0));
    }
}

/// What `Scan` carries, and a sum behind `Where`.
#[test]
fn sums_of_scans_stay_exact() {
    let text = r#"<ir_version: 8, opset_import: ["": 17]>
    g (float[N,4] x) => (float[1] total, float[N,4] y) <float[1] zero = {0}, float[1] one = {1}, float[4] low = {0, 0, 0, 0}> {
        total, y = Scan <num_scan_inputs = 1, body = body (float[1] count, float[4] v) => (float[1] next, float[4] w) {
            more = Add (count, one)
            largest = ReduceMax <keepdims = 1> (v)
            is_any = Cast <to = 9> (largest)
            next = Where (is_any, more, count)
            w = Max (v, low)
        }> (zero, x)
    }"#;
    let (result, names) = counting(text, Half::Float16);
    assert_eq!(names, ["Add", "Scan", "Where"], "{}", text_of(&result));
}

/// A value that a loop hands on is none.
#[test]
fn what_a_loop_hands_on_becomes_narrow() {
    let text = r#"<ir_version: 8, opset_import: ["": 17]>
    g (float[4] x, float[4] z) => (float[4] last, float[4] y) <bool t = {1}, int64 n = {3}> {
        start = Exp (x)
        kept = Neg (z)
        same, y = Loop (n, t, kept, start) <body = body (int64 i, bool c, float[4] k, float[4] v) => (bool d, float[4] l, float[4] w) {
            d = Identity (c)
            l = Identity (k)
            w = Mul (v, k)
        }>
        last = Neg (same)
    }"#;
    let (_, names) = counting(text, Half::Float16);
    assert!(names.is_empty(), "{names:?}");
}

/// The angles of positions, as transformers with rotary embeddings compute them.
#[test]
fn angles_of_positions_stay_exact() {
    let text = r#"<ir_version: 10, opset_import: ["": 22]>
    g (int64[1,N] ids, float[1,N,2] x) => (float[1,N,2] y) <float[1,1,2] rates = {1, 0.01}, int64[1] last = {2}> {
        position = Cast <to = 1> (ids)
        column = Unsqueeze (position, last)
        angle = MatMul (column, rates)
        cosine = Cos (angle)
        y = Mul (x, cosine)
    }"#;
    for half in [Half::Float16, Half::Bfloat16] {
        let (result, names) = counting(text, half);
        assert_eq!(names, ["Cast", "Cos", "MatMul", "Unsqueeze"], "{}", text_of(&result));
        let graph = result.graph(result.main_graph());
        assert_eq!(result.ty(graph.outputs()[0].value()).unwrap().elem(), half.elem());
    }
}

/// Positions that become integers again, or are compared, in tensors of any rank.
#[test]
fn positions_that_become_integers_stay_exact() {
    let text = r#"<ir_version: 8, opset_import: ["": 17]>
    g (float[1,N] mask, int64[1,N] distance, float[1,N] x) => (int64[1,N] position, bool[1,N] is_near, float[1,N] y)
    <int64 axis = {1}, float one = {1}, float eight = {8}> {
        sums = CumSum (mask, axis)
        less = Sub (sums, one)
        position = Cast <to = 7> (less)
        far = Cast <to = 1> (distance)
        part = Div (far, eight)
        logarithm = Log (part)
        is_near = Less (logarithm, one)
        y = Exp (x)
    }"#;
    let (result, names) = counting(text, Half::Float16);
    assert_eq!(names, ["Cast", "CumSum", "Div", "Less", "Log", "Sub"], "{}", text_of(&result));
    // A mask that is only added is none.
    let text = r#"<ir_version: 8, opset_import: ["": 17]>
    g (int64[1,N] mask, float[1,N] x) => (float[1,N] y) <float one = {1}, float low = {-1e4}> {
        wide = Cast <to = 1> (mask)
        open = Sub (one, wide)
        added = Mul (open, low)
        sum = Add (x, added)
        y = Softmax (sum)
    }"#;
    let (_, names) = counting(text, Half::Float16);
    assert!(names.is_empty(), "{names:?}");
}

/// The operators of which `Clip` is made do not take `bfloat16` before version 16.
#[test]
fn operators_whose_body_does_not_take_the_type_stay() {
    for (version, is_wide) in [(13, true), (15, true), (16, false), (21, false)] {
        let text = format!(
            r#"<ir_version: 8, opset_import: ["": {version}]>
            g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {{0.1, -0.7, 0.3, 1.9}}, float low = {{0}}, float high = {{6}}> {{
                p = MatMul (x, w)
                c = Clip (p, low, high)
                y = MatMul (c, w)
            }}"#
        );
        for half in [Half::Float16, Half::Bfloat16] {
            let mut result = model(&text);
            let done = narrow(&mut result, half, &NarrowOptions::default().with_run(false)).unwrap();
            assert_is_valid(&result);
            let wide: Vec<_> = done.wide.iter().map(|node| (node.op.as_str(), node.reason)).collect();
            let wanted = if is_wide && half == Half::Bfloat16 {
                vec![("Clip", WideReason::Signature)]
            } else {
                vec![]
            };
            assert_eq!(wide, wanted, "{version}");
        }
    }
}
