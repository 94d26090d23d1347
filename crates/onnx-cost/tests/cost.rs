//! The cost of models: each formula against a number that was computed by hand.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use onnx_cost::{Amount, Cost, CostOptions, cost};
use onnx_ir::Model;
use onnx_text::{ParseOptions, parse_model};

fn parse(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

fn of(body: &str) -> Cost {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21]>\n{body}");
    cost(&parse(&text), &CostOptions::default()).unwrap()
}

/// Multiply-accumulates and operations of the last node.
#[track_caller]
fn check(body: &str, macs: u64, operations: u64) {
    let found = of(body);
    let node = found.nodes.last().unwrap();
    assert_eq!(
        (&node.macs, &node.operations),
        (&Amount::Known(macs), &Amount::Known(operations)),
        "{node:?}"
    );
    assert_eq!(found.unknown_nodes, 0, "{:?}", node.why_unknown);
}

#[test]
fn sums_of_products() {
    // 8·6·6 outputs, each a sum over 3·3·3 products; with a bias one more operation each.
    check("g (float[1,3,8,8] x, float[8,3,3,3] w) => (float[a,b,c,d] y) { y = Conv (x, w) }", 7_776, 15_552);
    check(
        "g (float[1,3,8,8] x, float[8,3,3,3] w, float[8] b) => (float[m,n,c,d] y) { y = Conv (x, w, b) }",
        7_776,
        15_840,
    );
    // Two groups: a window of 2 channels.
    check(
        "g (float[1,4,8,8] x, float[8,2,1,1] w) => (float[a,b,c,d] y) { y = Conv <group = 2> (x, w) }",
        1_024,
        2_048,
    );
    // 4·5·5 inputs, each multiplied with 6·3·3 weights.
    check(
        "g (float[1,4,5,5] x, float[4,6,3,3] w) => (float[a,b,c,d] y) { y = ConvTranspose (x, w) }",
        5_400,
        10_800,
    );
    check("g (float[2,3,4] x, float[4,5] w) => (float[a,b,c] y) { y = MatMul (x, w) }", 120, 240);
    check("g (float[4] x, float[4,5] w) => (float[a] y) { y = MatMul (x, w) }", 20, 40);
    check("g (float[3,4] x, float[4,5] w, float[5] c) => (float[a,b] y) { y = Gemm (x, w, c) }", 60, 135);
    check(
        "g (float[4,3] x, float[4,5] w) => (float[a,b] y) { y = Gemm <transA = 1, alpha = 0.5> (x, w) }",
        60,
        135,
    );
    check(
        "g (float[2,3,4] x, float[2,4,5] w) => (float[a,b,c] y) { y = Einsum <equation = \"bij,bjk->bik\"> (x, w) }",
        120,
        240,
    );
    check(
        "g (float[2,3,4] x, float[2,4,5] w) => (float[a,b,c] y) { y = Einsum <equation = \"...ij,...jk\"> (x, w) }",
        120,
        240,
    );
    check("g (float[3,3] x) => (float y) { y = Einsum <equation = \"ii->\"> (x) }", 0, 3);
}

#[test]
fn operations_on_elements() {
    check("g (float[2,3] x, float[3] y) => (float[a,b] z) { z = Add (x, y) }", 0, 6);
    check("g (float[2,3] x) => (float[a,b] z) { z = Exp (x) }", 0, 6);
    check("g (float[2,3] x) => (float[a,b] z) { z = Sum (x, x, x) }", 0, 12);
    check("g (float[2,3] x) => (float[a,b] z) { z = Mean (x, x, x) }", 0, 18);
    check("g (float[2,3] x) => (float[a,b] z) { z = Transpose (x) }", 0, 0);
    check("g (float[2,3] x) => (float[a,b] z) { z = Softmax (x) }", 0, 30);
    check("g (float[2,3] x, float[3] s) => (float[a,b] z) { z = LayerNormalization (x, s) }", 0, 36);
    check("g (float[1,1,4,4] x) => (float[a,b,c,d] z) { z = MaxPool <kernel_shape = [2,2]> (x) }", 0, 36);
    check("g (float[1,1,4,4] x) => (float[a,b,c,d] z) { z = AveragePool <kernel_shape = [2,2]> (x) }", 0, 45);
    check("g (float[2,3] x) => (float[a,b] z) { z = ReduceSum (x) }", 0, 6);
    check("g (float[2,3] x) => (float[a,b] z) { z = ReduceMean (x) }", 0, 7);
}

#[test]
fn recurrent_operators() {
    // 5 steps, batch 2, one direction, 4 gates of 3 units: 120 sums of 7 products; 30 units of 4 + 9 operations.
    let text = "g (float[5,2,4] x, float[1,12,4] w, float[1,12,3] r) => (float[a,b,c,d] y)
        { y = LSTM <hidden_size = 3> (x, w, r) }";
    check(text, 840, 2_070);
}

#[test]
fn what_has_no_formula_is_not_free() {
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"my\": 1]>
        g (float[2,3] x) => (float[a,b] z) { y = my.Magic (x) z = Relu (x) v, i = TopK (x, k) }";
    let text = text.replace("g (float[2,3] x)", "g (float[2,3] x, int64[1] k)");
    let found = cost(&parse(&text), &CostOptions::default()).unwrap();
    assert_eq!(found.unknown_nodes, 2);
    assert_eq!(found.operations, Amount::Known(6));
    let why: Vec<_> = found.nodes.iter().filter_map(|node| node.why_unknown.as_deref()).collect();
    let custom = "the operator is not defined by ONNX, or not in this version";
    assert_eq!(why, [custom, "the operator has no formula"]);
    // The output of the custom operator has no size; those of `TopK` have a size without a name.
    assert_eq!(found.unknown_values, 1);
}

#[test]
fn open_sizes_give_expressions() {
    let text = "g (float[N,4] x) <float[4,5] w> => (float[N,5] y) { h = MatMul (x, w) y = Relu (h) }";
    let text =
        text.replace("<float[4,5] w>", "").replace("g (float[N,4] x)", "g (float[N,4] x, float[4,5] w)");
    let found = of(&text);
    assert_eq!(found.macs, Amount::Expression("20*N".to_owned()));
    assert_eq!(found.operations, Amount::Expression("45*N".to_owned()));
    // Both nodes have outputs of 20 bytes for each row.
    assert_eq!(found.activation_bytes, Amount::Expression("40*N".to_owned()));
    // The inputs, the product, and at the end the result with the product.
    assert_eq!(found.peak_bytes, Amount::Expression("56*N + 80".to_owned()));
}

#[test]
fn weights_are_counted_once() {
    let found = of("g (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 2, 3}> {
        a = Add (x, w)
        y = Mul (a, w)
    }");
    assert_eq!((found.parameters, found.weight_bytes), (3, 12));
    let nodes: Vec<u64> = found.nodes.iter().map(|node| node.parameters).collect();
    assert_eq!(nodes, [3, 3]);
    // x for the whole run, then a, then a and y.
    assert_eq!((&found.peak_bytes, found.peak_node.as_deref()), (&Amount::Known(72), Some("y")));
}

#[test]
fn values_die_after_their_last_use() {
    // At most x and two of the chain are live.
    let found = of("g (float[4] x) => (float[4] y) { a = Relu (x) b = Relu (a) c = Relu (b) y = Relu (c) }");
    assert_eq!(found.peak_bytes, Amount::Known(48));
    assert_eq!(found.activation_bytes, Amount::Known(64));
    // `a` stays for a use in a nested graph.
    let found = of("g (float[4] x, bool k) => (float[4] y) {
        a = Relu (x)
        b = Relu (x)
        c = Relu (b)
        y = If (k) <then_branch = t () => (float[4] p) { p = Add (a, c) }, else_branch = e () => (float[4] q) { q = Identity (c) }>
    }");
    // x, k, a, c, the output and p.
    assert_eq!(found.peak_bytes, Amount::Known(16 + 1 + 4 * 16));
}

#[test]
fn branches_count_once_and_loops_as_often_as_they_run() {
    let branches = "g (float[4] x, bool k) => (float[4] y) {
        y = If (k) <then_branch = t () => (float[4] p) { h = Exp (x) p = Exp (h) }, else_branch = e () => (float[4] q) { q = Exp (x) }>
    }";
    assert_eq!(of(branches).operations, Amount::Known(8));
    let known =
        branches.replace("If (k)", "If (c)").replace("y = If", "c = Constant <value = bool {0}> () y = If");
    assert_eq!(of(&known).operations, Amount::Known(4));
    let looped = |trips: &str, end: &str| {
        format!(
            "g (float[4] x, int64 n, bool k) => (float[4] y) {{
            m = Constant <value = int64 {{{trips}}}> ()
            y = Loop (m, , x) <body = b (int64 i, bool c, float[4] s) => (bool d, float[4] t)
                {{ d = {end} t = Exp (s) }}>
        }}"
        )
    };
    let found = of(&looped("7", "Identity (c)"));
    assert_eq!((&found.operations, found.loops_counted_once), (&Amount::Known(28), 0));
    assert_eq!(found.nodes.last().unwrap().times, Amount::Known(7));
    let found = of(&looped("7", "Not (c)"));
    // `Not` and `Exp`, once.
    assert_eq!((&found.operations, found.loops_counted_once), (&Amount::Known(5), 1));
    assert_eq!(of(&looped("-1", "Identity (c)")).operations, Amount::Known(0));
    let scan = "g (float[5,4] x) => (float[5,4] y) {
        y = Scan (x) <num_scan_inputs = 1, body = b (float[4] s) => (float[4] t) { t = Exp (s) }>
    }";
    assert_eq!(of(scan).operations, Amount::Known(20));
}

#[test]
fn functions_count_for_each_call() {
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"f\": 1]>
        g (float[2,3] x) => (float[2,3] y) { h = f.Twice (x) y = f.Twice (h) }
        <domain: \"f\", opset_import: [\"\": 21]> Twice (a) => (b) { c = Exp (a) b = Exp (c) }";
    let found = cost(&parse(text), &CostOptions::default()).unwrap();
    assert_eq!((&found.operations, found.nodes.len()), (&Amount::Known(24), 4));
}

#[test]
fn weights_of_functions_count_once() {
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"f\": 1]>
        g (float[2,2] x) => (float[2,2] y) { h = f.Add (x) y = f.Add (h) }
        <domain: \"f\", opset_import: [\"\": 21]> Add (a) => (b) { c = Constant <value = float[2] {1, 2}> () b = Add (a, c) }";
    let found = cost(&parse(text), &CostOptions::default()).unwrap();
    assert_eq!((found.parameters, found.weight_bytes), (2, 8));
}

#[test]
fn sizes_that_are_given_make_numbers() {
    let mut model = parse(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[N,4] x) => (float[N,4] y) { y = Exp (x) }",
    );
    let sizes = [(model.intern("N"), 3)];
    let found = cost(&model, &CostOptions::default().with_sizes(&sizes)).unwrap();
    assert_eq!(found.operations, Amount::Known(12));
}

/// Amounts beyond 63 bits are not known, and no sum wraps.
#[test]
fn numbers_that_are_too_large_are_not_known() {
    let huge = 1_i64 << 40;
    let found = of(&format!("g (float[{huge},{huge}] x) => (float[a,b] y) {{ y = Exp (x) }}"));
    assert_eq!((found.unknown_nodes, &found.operations), (1, &Amount::Known(0)));
    assert_eq!(found.nodes[0].why_unknown.as_deref(), Some("the expression is too large"));
}
