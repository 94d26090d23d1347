//! `onnx compare --inner`: what can be the reason of a difference.

use crate::compare::{HEAD, folder};
use crate::run::{Folder, onnx};

/// Exports of two states of the weights: nodes are paired by what they compute, and the weight that differs is named.
#[test]
fn the_weights_that_only_one_model_has_are_named() {
    let of = |start: i32| {
        (start..start + 16).map(|n| format!("{}", f64::from(n) / 8.0)).collect::<Vec<_>>().join(",")
    };
    let model = |weights: [i32; 2], nodes: &str| {
        let [u, v] = weights.map(of);
        format!(
            "(float[N,4] x) => (float[N,4] y) <float[4,4] u = {{{u}}}, float[4,4] v = {{{v}}}> {{ {nodes} }}"
        )
    };
    let one = "s = Sin (x) p = MatMul (s, u) c = Cos (p) q = MatMul (c, v) last = Neg (q) y = Sin (last)";
    let two = "val_1 = Sin (x) val_2 = MatMul (val_1, u) val_3 = Cos (val_2) val_4 = Mul (val_3, val_3)
        val_5 = MatMul (val_4, v) val_6 = Neg (val_5) y = Sin (val_6)";
    let folder = folder(&model([0, 1], one), &model([5, 9], two));
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --set N=3 --runs 1").exits(1);
    run.says("inner values diverge after the node MatMul `val_2` of B, in A MatMul `p`:")
        .says("the weight `u` float[4,4] of MatMul `p` has elements that no weight of A has")
        .says("of 2 weights of B, 2 have elements that no weight of A has, first `u` float[4,4] of MatMul");
    // One of them is the reason.
    folder.put("b.onnxtxt", format!("{HEAD} g {}", model([0, 9], two)));
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --set N=3 --runs 1").exits(1);
    run.says("of 2 weights of B, 1 has elements that no weight of A has, first `v` float[4,4] of MatMul");
    // None is: in whatever order the elements are.
    let transposed = model([0, 1], two).replace("u = {0,0.125", "u = {0.125,0");
    folder.put("b.onnxtxt", format!("{HEAD} g {transposed}"));
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --set N=3 --runs 1").exits(1);
    run.says("all weights of each model have the elements of weights of the other one");
    // A bias that one of them lacks.
    let conv = |bias: &str, operand: &str| {
        format!(
            "(float[1,1,4,4] x) => (float[1,8,4,4] y) <float[8,1,1,1] w = {{1,2,3,4,5,6,7,8}}{bias}> {{ c = Conv (x, w{operand}) y = Sin (c) }}"
        )
    };
    folder.put("a.onnxtxt", format!("{HEAD} g {}", conv(", float[8] v = {9,8,7,6,5,4,3,2}", ", v")));
    folder.put("b.onnxtxt", format!("{HEAD} g {}", conv("", "").replace("c", "k")));
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --runs 1").exits(1);
    run.says("the node has 3 operands in A, and 2 in B")
        .says("of 2 weights of the node in A, 1 has elements that no weight of B has, first `v` float[8] of Conv `c`");
}

/// Where results are not compared, any of their nodes can be the reason.
#[test]
fn nodes_without_compared_results_are_counted() {
    let folder = folder(
        "(float[2] x) => (float[2] y) { y = Neg (x) }",
        "(float[2] x) => (float[2] y) { p = Exp (x) q = Abs (p) y = Relu (q) }",
    );
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner").exits(1);
    let text = "they diverge after the node Relu `y` of B, in A Neg `y`, or one of 2 nodes before it, whose results are not compared:";
    run.says(text);
}

/// One of two models has its constants folded: what is left of them has nothing to do with those of the other one.
#[test]
fn folded_constants_are_not_compared_with_others() {
    let model = |nodes: &str| {
        format!(r#"<ir_version: 8, opset_import: ["": 17]> g (float[2,4] x) => (float[2,4] y) {{ {nodes} }}"#)
    };
    let folder = Folder::with(
        "a.onnxtxt",
        model(
            "one = Constant <value = float[1] {1}> () d = Constant <value = float[1] {8}> () q = Sqrt (d) s = Div (one, q)
             h = Sqrt (s) y = Mul (x, h)",
        ),
    );
    folder.put("b.onnxtxt", model("v1 = Constant <value = float[1] {0.59460354}> () y = Mul (x, v1)"));
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner").exits(0).lacks("diverge");

    // Counters gave one name to two constants.
    folder.put("c.onnxtxt", model("one = Constant <value = float[1] {0.59460354}> () y = Mul (x, one)"));
    onnx(&folder, "compare a.onnxtxt c.onnxtxt --inner").exits(0).lacks("diverge");
    onnx(&folder, "compare c.onnxtxt a.onnxtxt --inner").exits(0).lacks("diverge");
}
