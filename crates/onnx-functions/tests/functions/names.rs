//! Names, types and references to values outside of the data flow.

use onnx_functions::{InlineOptions, Naming, inline_all};
use onnx_ir::{QuantAnnotation, ValueRef};
use onnx_types::{Dim, Type};

use crate::{check, nodes, parse};

#[test]
fn names_of_named_calls_are_prefixes_and_numbers_follow() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x, float[N] t) => (float[N] y) {
            [first] a = my.F (x)
            [second] b = my.F (a)
            c = my.F (b)
            d = my.F (c)
            y = Add (d, t)
        }
        <domain: "my", opset_import: ["": 20]> F (p) => (q) { [inner] t = Neg (p) q = Exp (t) }"#,
        &[
            "[inner] first/t = Neg (x)",
            "a = Exp (first/t)",
            "[second/inner] second/t = Neg (a)",
            "b = Exp (second/t)",
            "[F/inner] F/t = Neg (b)",
            "c = Exp (F/t)",
            "[F/inner_1] F/t_1 = Neg (c)",
            "d = Exp (F/t_1)",
            "y = Add (d, t)",
        ],
        &[],
    );
}

#[test]
fn every_name_has_the_path_on_request() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { [top] y = my.Outer (x) }
        <domain: "my", opset_import: ["": 20, "my": 1]> Outer (p) => (q) { [low] r = my.Inner (p) q = Abs (r) }
        <domain: "my", opset_import: ["": 20]> Inner (p) => (q) { t = Neg (p) q = Exp (t) }"#,
    );
    inline_all(&mut model, &InlineOptions::default().with_naming(Naming::Always)).unwrap();
    assert_eq!(nodes(&model), ["top/low/t = Neg (x)", "top/r = Exp (top/low/t)", "y = Abs (top/r)"]);
}

#[test]
fn types_of_the_body_lose_the_variables_of_the_function() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N, 3] x) => (float[M, N] y) { y = my.F (x) }
        <domain: "my", opset_import: ["": 20]> F (p) => (q) <float[3, N] t> {
            t = Transpose (p)
            q = Transpose (t)
        }"#,
    );
    inline_all(&mut model, &InlineOptions::default()).unwrap();
    let dims = |name: &str| {
        let value = model.find_value(model.main_graph(), name).unwrap();
        model.ty(value).and_then(Type::shape).unwrap().dims().to_vec()
    };
    // `N` of the function is not `N` of the graph.
    assert_eq!(dims("t"), [Dim::Known(3), Dim::Unknown]);
    let [m, n] = ["M", "N"].map(|name| Dim::Var(model.names().get(name).unwrap()));
    assert_eq!(dims("y"), [m, n]);
}

#[test]
fn annotations_follow_the_values() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) <float s = {1.0}> { a = my.Outer (x) y = Abs (a) }
        <domain: "my", opset_import: ["": 20, "my": 1]> Outer (p) => (q) { q = my.Inner (p) }
        <domain: "my", opset_import: ["": 20]> Inner (p, o) => (q) { q = Neg (p) }"#,
    );
    let graph = model.main_graph();
    let annotation = |tensor| QuantAnnotation::new(ValueRef::Value(tensor), Vec::new());
    let a = model.find_value(graph, "a").unwrap();
    model.graph_mut(graph).quantization.push(annotation(a));
    let inner = model.function(model.functions()[1]).body();
    let formals = model.graph(inner).inputs().to_vec();
    model.graph_mut(inner).quantization.extend(formals.into_iter().map(annotation));
    inline_all(&mut model, &InlineOptions::default()).unwrap();
    model.verify_sorted().unwrap();
    let tensors: Vec<ValueRef> = model.graph(graph).quantization.iter().map(|entry| entry.tensor).collect();
    let value = |name: &str| ValueRef::Value(model.find_value(graph, name).unwrap());
    // That of the omitted input is gone.
    assert_eq!(tensors, [value("a"), value("x")]);
}

#[test]
fn types_in_graphs_of_a_call_keep_the_variables_of_the_caller() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (bool c, float[N] x) => (float[N] y) {
            y = my.F <b: graph = t () => (float[N] p) { p = Neg (x) }> (c, x)
        }
        <domain: "my", opset_import: ["": 20]> F <b> (c, v) => (w) {
            w = If (c) <then_branch: graph = @b, else_branch: graph = e () => (f) { f = Abs (v) }>
        }"#,
    );
    inline_all(&mut model, &InlineOptions::default()).unwrap();
    model.verify_sorted().unwrap();
    let branch = model.graphs_in(model.main_graph()).nth(1).unwrap();
    let p = model.graph(branch).outputs()[0].value();
    let n = Dim::Var(model.names().get("N").unwrap());
    assert_eq!(model.ty(p).and_then(Type::shape).unwrap().dims(), [n]);
}

#[test]
fn a_name_that_a_graph_of_a_call_shares_with_another_graph_stays_taken() {
    // The graph goes with the call; the name `t` is still that of a value in the other branch.
    let (model, _) = check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x, bool c) => (float[N] y, float[N] w) {
            y = my.F <b = one () => (r) { t = Neg (x) r = Abs (t) }> (x)
            w = If (c) <
                then_branch = two () => (u) { t = Exp (x) u = Abs (t) },
                else_branch = three () => (v) { v = Abs (x) }
            >
        }
        <domain: "my", opset_import: ["": 20]> F <b> (p) => (q) { t = Exp (p) q = Log (t) }"#,
        &[
            "F/t = Exp (x)",
            "y = Log (F/t)",
            "w = If (c)",
            "{",
            "t = Exp (x)",
            "u = Abs (t)",
            "} => u",
            "{",
            "v = Abs (x)",
            "} => v",
        ],
        &[],
    );
    assert!(model.functions().is_empty());
}
