//! Inference of one node, and guards.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use onnx_ir::{Model, NodeId};
use onnx_shape_infer::{
    FactScope, InferOptions, Inference, Relation, Strength, infer, infer_function, infer_node,
};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::{Dim, ElemType, Shape, Type};

fn parsed(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

/// The first node of a function's body.
fn first_of_function(model: &Model) -> NodeId {
    let body = model.function(model.functions()[0]).body();
    model.nodes(body).next().unwrap()
}

fn output(model: &Model, inference: &Inference, node: NodeId) -> Option<Vec<Dim>> {
    inference.shape(model.node(node).output(0).unwrap()).map(<[Dim]>::to_vec)
}

/// A function whose input is declared as `float[SHAPE]`, and inference of its first node.
fn in_function(shape: &[i64], body: &str, imports: &str) -> (Model, NodeId) {
    let text = format!(
        r#"<ir_version: 10, opset_import: ["": 18, "my": 1]> g () => () {{}}
        <domain: "my", opset_import: [{imports}]> F {body}"#
    );
    let mut model = parsed(&text);
    let node = first_of_function(&model);
    let input = model.node(node).input(0).unwrap();
    model.set_type(input, Some(Type::tensor(ElemType::Float, Some(Shape::known(shape)))));
    (model, node)
}

#[test]
fn a_reference_without_a_call_is_unknown_and_not_the_default() {
    let body = "<axis> (x) => (y) { y = Flatten <axis: int = @axis> (x) }";
    let (model, node) = in_function(&[2, 3, 4], body, r#""": 18"#);
    let inference = infer_node(&model, node, &InferOptions::default());
    assert_eq!(output(&model, &inference, node), None);
    assert_eq!(inference.elem(model.node(node).output(0).unwrap()), Some(ElemType::Float));
    // A call that omits the attribute has the default of the operator.
    let function = model.functions()[0];
    let given = Type::tensor(ElemType::Float, Some(Shape::known(&[2, 3, 4])));
    let inference = infer_function(&model, function, &[Some(given)], &[], &InferOptions::default());
    assert_eq!(output(&model, &inference, node), Some(vec![2.into(), 12.into()]));
}

#[test]
fn a_node_of_a_function_uses_the_imports_of_the_function() {
    let body = "(x) => (y) { y = Squeeze <axes = [0]> (x) }";
    let (model, node) = in_function(&[1, 1, 3], body, r#""": 11"#);
    let inference = infer_node(&model, node, &InferOptions::default());
    assert_eq!(output(&model, &inference, node), Some(vec![1.into(), 3.into()]));
}

#[test]
fn a_nested_node_of_a_function_has_no_known_call() {
    let body = "<axis> (x, c) => (y) { t = Neg (x) y = If <then_branch = a () => (p) { \
        p = Flatten <axis: int = @axis> (x) }, else_branch = b () => (q) { q = Flatten (x) }> (c) }";
    let (model, first) = in_function(&[2, 3, 4], body, r#""": 18"#);
    let conditional = model.node(first).next().unwrap();
    let inference = infer_node(&model, conditional, &InferOptions::default());
    assert_eq!(output(&model, &inference, conditional), None);
}

/// The guards of a model: the relation as text, and whether it holds in all runs.
fn guards(text: &str) -> Vec<(String, bool)> {
    let model = parsed(text);
    let inference = infer(&model, &InferOptions::default());
    let facts: Vec<_> = inference.facts().guards().copied().collect();
    assert!(facts.iter().all(|fact| fact.strength == Strength::Assumed && !fact.reason.is_empty()));
    facts
        .into_iter()
        .map(|fact| {
            let show = |dim| inference.display(&model, dim).to_string();
            let text = match fact.relation {
                Relation::AtMost(a, b) => format!("{} <= {}", show(a), show(b)),
                Relation::Default(value) => format!("default {}", model.str(model.value(value).name())),
                other => format!("{other:?}"),
            };
            (text, fact.scope == FactScope::Model)
        })
        .collect()
}

#[test]
fn a_loop_that_collects_has_an_iteration() {
    let found = guards(
        r#"<ir_version: 10, opset_import: ["": 18]> g (float[N, 2] x, int64 m, float[K] k) => (float[] y) {
            a = Loop <body = b (i, go) => (go, u) { u = Transpose (x) }> (m)
            n = Shape (k)
            scalar = Constant <value_ints = [-1]> ()
            one = Constant <value_int = 1> ()
            trips = Squeeze (n)
            more = Add (trips, one)
            b = Loop <body = b (i, go) => (go, u) { u = Transpose (x) }> (trips)
            c = Loop <body = b (i, go) => (go, u) { u = Transpose (x) }> (more)
            y = Loop <body = b (i, go) => (go, u) { u = ReduceSum <keepdims = 0> (x) }> (trips)
        }"#,
    );
    assert_eq!(found, [("1 <= unk__0".to_owned(), true), ("1 <= K".to_owned(), true)]);
}

#[test]
fn guards_apply_where_their_graph_runs() {
    let model = |condition: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 18]> g (float[S] x, bool c) => (float[] y)
            <int64[1] one = {{1}}, int64[1] end = {{9223372036854775807}}, bool yes = {{1}}, bool no = {{0}}> {{
                y = If <then_branch = a () => (p) {{ p = Slice (x, one, end) }},
                    else_branch = b () => (q) {{ q = Neg (x) }}> ({condition})
            }}"#
        )
    };
    assert_eq!(guards(&model("yes")), [("1 <= S".to_owned(), true)]);
    assert_eq!(guards(&model("c")), [("1 <= S".to_owned(), false)]);
    assert_eq!(guards(&model("no")), []);
}

#[test]
fn a_constant_that_the_caller_can_override_is_guarded() {
    let model = |version: i64| {
        format!(
            r#"<ir_version: {version}, opset_import: ["": 8]> g (float[6] x, int64[2] shape = {{2, 3}}) => (float[] y) {{
                y = Reshape (x, shape)
            }}"#
        )
    };
    assert_eq!(guards(&model(3)), [("default shape".to_owned(), true)]);
    assert_eq!(guards(&model(4)), []);
}

#[test]
fn no_size_is_negative_without_a_guard() {
    let found = guards(
        r#"<ir_version: 10, opset_import: ["": 18]> g (float[N] x, float[1, 1, S] z) => (float[] y) {
            a, b, y = Split <num_outputs = 3> (x)
            c = MaxPool <kernel_shape = [3], strides = [3], dilations = [2]> (z)
        }"#,
    );
    let expected = ["2*((N + 2)//3) <= N", "5 <= S"];
    assert_eq!(found, expected.map(|text| (text.to_owned(), true)));
}

/// The parts of a `Concat` are one sum, so that thousands need no more expressions than a few.
#[test]
fn many_parts_are_one_sum() {
    let parts = vec!["x"; 20_000].join(", ");
    let model = parsed(&format!(
        r#"<ir_version: 10, opset_import: ["": 18]> g (float[N] x) => (y) {{ y = Concat <axis = 0> ({parts}) }}"#
    ));
    let inference = infer(&model, &InferOptions::default());
    let node = model.nodes(model.main_graph()).next().unwrap();
    let shape = output(&model, &inference, node).unwrap();
    assert_eq!(inference.display(&model, shape[0]).to_string(), "20000*N");
    assert!(inference.findings().is_empty());
}
