//! Results for the values in function bodies: what all calls have in common, if all calls are known.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use onnx_ir::{Model, NodeId, ValueId};
use onnx_shape_infer::{InferOptions, Inference, Justification, MergePolicy, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Symbol;

const FUNCTION: &str = r#"
<domain: "my", opset_import: ["": 20]> F (a) => (b) { t = Transpose (a)  b = Relu (t) }"#;

fn model(graph: &str) -> Model {
    let text =
        format!("<ir_version: 10, opset_import: [\"\": 20, \"my\": 1, \"com.acme\": 1]> {graph}{FUNCTION}");
    parse_model(text, &ParseOptions::default()).unwrap()
}

/// The value of this name in the body of the first function.
fn inner(model: &Model, name: &str) -> ValueId {
    let body = model.function(model.functions()[0]).body();
    let outputs = model.nodes(body).flat_map(|node| model.node(node).outputs().iter().flatten());
    let mut values = model.graph(body).inputs().iter().chain(outputs).copied();
    values.find(|&value| model.str(model.value(value).name()) == name).unwrap()
}

/// The shape of a value, as text.
fn shape(model: &Model, inference: &Inference, name: &str) -> Option<String> {
    let dims = inference.shape(inner(model, name))?;
    let text = dims.iter().map(|&dim| match dim {
        onnx_types::Dim::Known(size) => size.to_string(),
        onnx_types::Dim::Expr(_) => "expression".to_owned(),
        onnx_types::Dim::Var(_) => inference.display(model, dim).to_string(),
        onnx_types::Dim::Unknown => "?".to_owned(),
    });
    Some(text.collect::<Vec<_>>().join(","))
}

#[track_caller]
fn check(graph: &str, expected: Option<&str>) {
    let model = model(graph);
    let inference = infer(&model, &InferOptions::default());
    assert_eq!(shape(&model, &inference, "t").as_deref(), expected, "{graph}");
}

#[test]
fn sizes_are_those_of_all_calls() {
    check("g (float[N,4] x) => (y) { y = my.F (x) }", Some("4,N"));
    check("g (float[N,4] x, float[3,4] z) => (y, w) { y = my.F (x)  w = my.F (z) }", Some("4,?"));
    check("g (float[N,4] x, float[N,4] z) => (y, w) { y = my.F (x)  w = my.F (z) }", Some("4,N"));
    check("g (float[N,4] x, float[3] z) => (y, w) { y = my.F (x)  w = my.F (z) }", None);
    check("g (float[N,4] x) => (x) { }", None);
}

/// A size that is known by a symbol of the visit means another one in each call.
#[test]
fn sizes_of_a_visit_are_not_results() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (bool[8] x, bool[8] z) => (y, w) { y = my.F (x)  w = my.F (z) }
        <domain: "my", opset_import: ["": 20]> F (a) => (b) { t = NonZero (a)  b = Identity (t) }"#;
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let inference = infer(&model, &InferOptions::default());
    assert_eq!(shape(&model, &inference, "t").as_deref(), Some("1,?"));
    assert_eq!(shape(&model, &inference, "a").as_deref(), Some("8"));
}

#[test]
fn element_types_of_all_calls_are_known_if_they_are_one() {
    let model = model("g (float[N,4] x, double[3,4] z) => (y, w) { y = my.F (x)  w = my.F (z) }");
    let inference = infer(&model, &InferOptions::default());
    assert_eq!(inference.elem(inner(&model, "t")), None);
    assert_eq!(shape(&model, &inference, "t").as_deref(), Some("4,?"));
}

/// A call in a branch that is not visited may have any arguments.
#[test]
fn a_call_that_is_not_visited_leaves_nothing_known() {
    let with = |condition: &str| {
        format!(
            "g (float[2,4] x, bool c, float[3] z) => (y) {{
                {condition}
                w = my.F (x)
                y = If (d) <then_branch = p () => (u) {{ u = my.F (z) }}, else_branch = q () => (v) {{ v = Neg (z) }}>
            }}"
        )
    };
    check(&with("d = Identity (c)"), None);
    check(&with("d = Constant <value = bool {0}> ()"), None);
    check("g (float[2,4] x) => (y, w) { y = my.F (x)  w = com.acme.Unknown (x) }", Some("4,2"));
}

/// What is wrong with the model may be the reason why a call has other arguments than it seems to have.
#[test]
fn a_contradiction_leaves_nothing_known() {
    check("g (float[2,4] x, float[3] z) => (y, w) { y = my.F (x)  w = Add (x, z) }", None);
}

#[test]
fn training_graphs_may_call_with_anything() {
    let mut model = model("g (float[2,4] x) => (y) { y = my.F (x) }");
    model.info_mut().training.push(onnx_ir::TrainingInfo::default());
    let inference = infer(&model, &InferOptions::default());
    assert_eq!(shape(&model, &inference, "t"), None);
}

/// An update forgets the results if it visits a call again, and keeps them otherwise.
#[test]
fn updates_keep_what_holds() {
    let text = "g (float[2,4] x, float[5] z) => (y, w) { v = Identity (x)  y = my.F (v)  w = Neg (z) }";
    for (node, expected) in [(0, None), (2, Some("4,2"))] {
        let mut model = model(text);
        let revision = model.revision();
        let inference = infer(&model, &InferOptions::default());
        let node = model.nodes(model.main_graph()).nth(node).unwrap();
        let (op, nothing) = (model.intern("Abs"), Symbol::EMPTY);
        model.set_op(node, nothing, op, nothing);
        let graph = model.main_graph();
        if expected.is_none() {
            // The call has another argument.
            let z = model.graph(graph).inputs()[1];
            model.replace_node(node, &[Some(z)]).unwrap();
        }
        let changes = model.changes_since(&revision);
        let updated = inference.update(&model, &InferOptions::default(), &changes);
        assert_eq!(shape(&model, &updated, "t").as_deref(), expected);
    }
}

/// The shape of `t` after an update of a model with calls of [2, 4] and [3, 4], and of `Neg`.
#[track_caller]
fn check_update(edit: impl FnOnce(&mut Model, [NodeId; 3]), expected: Option<&str>) {
    let text = "g (float[2,4] x, float[3,4] z) => (y, w, v) { y = my.F (x)  w = my.F (z)  v = Neg (z) }";
    let mut model = model(text);
    let revision = model.revision();
    let inference = infer(&model, &InferOptions::default());
    assert_eq!(shape(&model, &inference, "t").as_deref(), Some("4,?"));
    let nodes: Vec<NodeId> = model.nodes(model.main_graph()).collect();
    edit(&mut model, nodes.try_into().unwrap());
    let updated = inference.update(&model, &InferOptions::default(), &model.changes_since(&revision));
    assert_eq!(shape(&model, &updated, "t").as_deref(), expected);
}

/// The results of one call fewer can be more precise, and an update does not visit the others.
#[test]
fn updates_forget_results_if_a_call_is_gone() {
    let erase = |model: &mut Model, [call, ..]: [NodeId; 3]| {
        let x = model.graph(model.main_graph()).inputs()[0];
        model.replace_node(call, &[Some(x)]).unwrap();
    };
    check_update(erase, None);
    let retarget = |model: &mut Model, [call, ..]: [NodeId; 3]| {
        let op = model.intern("Relu");
        model.set_op(call, Symbol::EMPTY, op, Symbol::EMPTY);
    };
    check_update(retarget, None);
    let other = |model: &mut Model, [_, _, other]: [NodeId; 3]| {
        let op = model.intern("Relu");
        model.set_op(other, Symbol::EMPTY, op, Symbol::EMPTY);
    };
    check_update(other, Some("4,?"));
}

/// As in a new run, in a node that no call needs.
#[test]
fn updates_forget_results_if_the_model_contradicts_itself() {
    let contradict = |model: &mut Model, [_, _, other]: [NodeId; 3]| {
        let x = model.graph(model.main_graph()).inputs()[0];
        let op = model.intern("Add");
        model.set_op(other, Symbol::EMPTY, op, Symbol::EMPTY);
        model.set_input(other, 1, Some(x));
    };
    check_update(contradict, None);
}

#[test]
fn updates_forget_results_if_there_are_training_graphs() {
    check_update(|model, _| model.info_mut().training.push(onnx_ir::TrainingInfo::default()), None);
    check_update(|model, _| model.info_mut().model_version = 2, Some("4,?"));
}

/// Whatever a call rests on, the results in the body rest on it.
#[test]
fn results_rest_on_all_guards() {
    let justified = |declared: &str| {
        let graph = format!(
            "g (float[N,4] x) => (y, r) <{declared}> {{ u = com.acme.U (x)  r = Neg (u)  y = my.F (x) }}"
        );
        let model = model(&graph);
        let inference = infer(&model, &InferOptions::default());
        inference.justification(&model, inner(&model, "t"))
    };
    assert_eq!(justified("float[N,4] y"), Justification::Proved);
    assert!(matches!(justified("float[3] u"), Justification::Assumed { .. }));
}

/// A declared type can have the symbol of a value that was erased, if the types were written into the model before.
#[test]
fn calls_and_branches_can_have_symbols_of_erased_values() {
    let call = "y = my.F (b)";
    let branch = "y = If (c) <then_branch = p () => (u) { u = Transpose (b) }, else_branch = q () => (v) { v = Neg (b) }>";
    let iteration = "y = Loop (n, c, b) <body = p (int64 i, bool d, s) => (e, t) { e = Identity (d)  t = Concat <axis = 0> (s, b) }>";
    for user in [call, branch, iteration] {
        let text =
            format!("g (float[N,4] x, bool c, int64 n) => (y) {{ a = NonZero (x)  b = Neg (a)  {user} }}");
        let mut model = model(&text);
        let mut inference = infer(&model, &InferOptions::default());
        inference.apply(&mut model, MergePolicy::Refine).unwrap();
        let revision = model.revision();
        let graph = model.main_graph();
        let nodes: Vec<NodeId> = model.nodes(graph).collect();
        let [a, b, user] = nodes[..] else { panic!("three nodes") };
        let x = model.graph(graph).inputs()[0];
        let [acme, unknown] = ["com.acme", "Unknown"].map(|name| model.intern(name));
        model.set_op(b, acme, unknown, Symbol::EMPTY);
        model.set_input(b, 0, Some(x));
        model.erase_node(a).unwrap();
        // The type of `b` is the same as before, so the update visits the user only if it was edited.
        let (domain, op) = (model.node(user).domain(), model.node(user).op());
        model.set_op(user, acme, unknown, Symbol::EMPTY);
        model.set_op(user, domain, op, Symbol::EMPTY);
        let updated = inference.update(&model, &InferOptions::default(), &model.changes_since(&revision));
        let again = infer(&model, &InferOptions::default());
        let output = model.graph(graph).outputs()[0].value();
        let known = |inference: &Inference| inference.shape(output).map(<[_]>::len);
        assert_eq!(known(&updated), known(&again), "{text}");
        assert!(known(&again).is_some());
    }
}
