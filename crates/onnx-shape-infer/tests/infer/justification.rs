//! What results depend on: proved, proved in a graph, or assumed with guards.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use onnx_ir::{Model, ValueId};
use onnx_shape_infer::{Answer, FactScope, InferOptions, Inference, Justification, Strength, Ty, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Dim;

fn parsed(graph: &str) -> Model {
    let text = format!("<ir_version: 10, opset_import: [\"\": 20, \"my\": 1]> {graph}");
    parse_model(&text, &ParseOptions::default()).unwrap()
}

fn run(graph: &str) -> (Model, Inference) {
    let model = parsed(graph);
    let inference = infer(&model, &InferOptions::default());
    assert!(inference.findings().diagnostics().is_empty());
    for graph in model.graphs_in(model.main_graph()) {
        for value in model.definitions(graph) {
            let is_assumed = !inference.justification(&model, value).guards().is_empty();
            assert_eq!(
                inference.depends_on_guards(&model, value),
                is_assumed,
                "{}",
                model.str(model.value(value).name())
            );
        }
    }
    (model, inference)
}

/// The value of a name in the main graph or in graphs nested in it.
fn value(model: &Model, name: &str) -> ValueId {
    let mut all = model.graphs_in(model.main_graph()).flat_map(|graph| model.definitions(graph));
    all.find(|&value| model.str(model.value(value).name()) == name).unwrap()
}

fn dim(model: &Model, inference: &Inference, name: &str, axis: usize) -> Dim {
    inference.shape(value(model, name)).unwrap()[axis]
}

fn describe(model: &Model, inference: &Inference, justification: &Justification) -> String {
    let graph = |graph| format!("in {}", model.str(model.graph(graph).name()));
    let guards = |guards: &[onnx_shape_infer::Fact]| {
        let conditions = guards.iter().map(|&fact| {
            let condition = onnx_shape_infer::Guard::new(model, inference, fact).condition;
            assert!(inference.guards(model).any(|guard| guard.condition == condition));
            condition
        });
        conditions.collect::<Vec<_>>().join(", ")
    };
    match justification {
        Justification::Proved => "proved".to_owned(),
        Justification::ProvedIn(scope) => format!("proved {}", graph(*scope)),
        Justification::Assumed { guards: facts, graph: None } => format!("if {}", guards(facts)),
        Justification::Assumed { guards: facts, graph: Some(scope) } => {
            format!("if {} {}", guards(facts), graph(*scope))
        }
        other => format!("{other:?}"),
    }
}

#[track_caller]
fn check(graph: &str, expected: &[(&str, &str)]) {
    let (model, inference) = run(graph);
    for (name, expected) in expected {
        let found = inference.justification(&model, value(&model, name));
        assert_eq!(describe(&model, &inference, &found), *expected, "`{name}`");
    }
}

fn answer(model: &Model, inference: &Inference, answer: Option<Answer>) -> String {
    match answer {
        None => "unknown".to_owned(),
        Some(Answer { holds, justification }) => {
            format!("{holds}, {}", describe(model, inference, &justification))
        }
    }
}

const CUTS: &str = "<int64[1] one = {1}, int64[1] two = {2}, int64[1] all = {9223372036854775807}>";

#[test]
fn results_depend_on_the_guards_of_what_they_are_computed_by() {
    check(
        &format!(
            "g (float[N] x, float[M] y) => (r) {CUTS} {{ a = Slice (x, one, all) b = Relu (a) c = Neg (y) \
             d = Slice (y, one, all) r = Concat <axis = 0> (b, d) }}"
        ),
        &[
            ("a", "if 1 <= N"),
            ("b", "if 1 <= N"),
            ("c", "proved"),
            ("d", "if 1 <= M"),
            ("r", "if 1 <= N, 1 <= M, 0 <= N + M - 2"),
            ("x", "proved"),
            ("one", "proved"),
        ],
    );
}

/// The second node finds that `N - 1` is a size, which only the first one has assumed.
#[test]
fn what_another_node_has_assumed_is_a_guard() {
    check(
        &format!(
            "g (float[N] x, float[N] y) => (a, b, c) {CUTS} {{ a = Slice (x, one, all) b = Slice (y, one, all) \
             c = Relu (b) }}"
        ),
        &[("a", "if 1 <= N"), ("b", "if 1 <= N"), ("c", "if 1 <= N")],
    );
    // A convolution proves that its size is not negative; the pool relies on it. The convolution's own input is cut.
    check(
        "g (float[1, 1, N] x, float[1, 1, K] y, float[1, 1, 2] w) => (b, d) \
             <int64[1] one = {1}, int64[1] axis = {2}, int64[1] all = {9223372036854775807}> { \
             a = Slice (x, one, all, axis) b = Conv (a, w) s = Shape (x) n = Gather (s, axis) \
             two = Constant <value_ints = [2]> () m = Sub (n, two) d = Expand (one, m) }",
        &[("b", "if 1 <= N"), ("d", "if 1 <= N")],
    );
}

#[test]
fn values_of_graphs_that_may_not_run_are_proved_in_them() {
    let text = format!(
        "g (float[N] x, float[M] y, bool c) => (z) {CUTS} {{ \
         z = If (c) <then_branch = t () => (p) {{ p = Add (x, y) q = Slice (x, one, all) }}, \
         else_branch = e () => (r) {{ r = Neg (x) }}> }}"
    );
    check(&text, &[("p", "if 1 <= N in t"), ("r", "if 1 <= N in e"), ("z", "if 1 <= N")]);
    let text = text.replace("q = Slice (x, one, all)", "q = Relu (y)");
    check(&text, &[("p", "proved in t"), ("r", "proved in e"), ("z", "proved")]);
    // If the condition is known, one branch is executed.
    let text = text
        .replace("bool c)", "bool unused)")
        .replace("{ z = If", "{ c = Constant <value = bool {1}> () z = If");
    check(&text, &[("p", "proved"), ("r", "proved in e"), ("z", "proved")]);
}

#[test]
fn inputs_of_loop_bodies_depend_on_what_the_loop_is_given() {
    check(
        &format!(
            "g (float[N] x, int64 n, bool c) => (z) {CUTS} {{ a = Slice (x, one, all) \
             z = Loop (n, c, a) <body = b (i, go, v) => (go, w) {{ w = Relu (v) }}> }}"
        ),
        &[("w", "if 1 <= N in b"), ("z", "if 1 <= N")],
    );
    let (model, inference) = run(&format!(
        "g (float[N] x, int64 n, bool c) => (z) {CUTS} {{ a = Slice (x, one, all) \
         z = Loop (n, c, a) <body = b (i, go, v) => (go, w) {{ w = Relu (v) }}> }}"
    ));
    let relu = model.value(value(&model, "w")).producer().unwrap();
    let carried = model.node(relu).input(0).unwrap();
    let found = inference.justification(&model, carried);
    assert_eq!(describe(&model, &inference, &found), "if 1 <= N in b");
}

#[test]
fn declared_types_and_defaults_are_guards_of_what_uses_them() {
    check(
        "g (float[2] x) => (b, c) <float[2, 3] a> { a = my.Strange (x) b = Relu (a) c = Neg (x) }",
        &[("a", "if declared(`a`)"), ("b", "if declared(`a`)"), ("c", "proved")],
    );
    // The reshape gives only the rank.
    check(
        "g (float[N] x, int64[2] s) => (b) <float[5, 3] a> { a = Reshape (x, s) b = Relu (a) }",
        &[("b", "if declared(`a`)")],
    );
    let text = "<ir_version: 3, opset_import: [\"\": 20]> g (float[6] x, float[6] y, int64[2] s = {2, 3}) => (b, c) { \
                b = Reshape (x, s) c = Relu (y) }";
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let inference = infer(&model, &InferOptions::default());
    let of = |name| {
        let found = inference.justification(&model, value(&model, name));
        describe(&model, &inference, &found)
    };
    assert_eq!([of("b"), of("s"), of("c")], ["if default(`s`)", "if default(`s`)", "proved"]);
}

#[test]
fn dimensions_and_elements_have_a_justification() {
    let (model, inference) = run(&format!(
        "g (float[N] x, int64[1] k) => (a) {CUTS} {{ a = Slice (x, one, all) s = Shape (a) t = Shape (x) \
         u = Slice (x, one, k) }}"
    ));
    let of = |found: Option<Justification>| found.map(|found| describe(&model, &inference, &found));
    let [a, s, t, u, x] = ["a", "s", "t", "u", "x"].map(|name| value(&model, name));
    let assumed = Some("if 1 <= N".to_owned());
    assert_eq!(of(inference.dim_justification(&model, a, 0)), assumed);
    assert_eq!(of(inference.dim_justification(&model, a, 1)), None);
    assert_eq!(of(inference.content_justification(&model, s)), assumed);
    assert_eq!(of(inference.content_justification(&model, t)), Some("proved".to_owned()));
    assert_eq!(of(inference.content_justification(&model, x)), None);
    // Nothing is known of this size: its symbol says nothing.
    assert_eq!(of(inference.dim_justification(&model, u, 0)), None);
}

#[test]
fn answers_have_a_justification() {
    let (model, inference) = run(&format!(
        "g (float[N] x, float[M] y, float[K] z, float[L] v, float[P, 1] p, float[Q] q, bool c) => (r) {CUTS} {{ \
         a = Slice (x, one, all) b = MatMul (a, y) d = MatMul (y, z) \
         r = If (c) <then_branch = t () => (o) {{ o = MatMul (v, y) }}, \
         else_branch = e () => (w) {{ w = MatMul (y, z) }}> }}"
    ));
    let [n, m, k, l, p] = ["x", "y", "z", "v", "p"].map(|name| dim(&model, &inference, name, 0));
    let cut = dim(&model, &inference, "a", 0);
    let eq = |a, b| answer(&model, &inference, inference.eq(&model, a, b));
    let le = |a, b| answer(&model, &inference, inference.le(&model, a, b));
    assert_eq!(eq(m, k), "true, proved");
    assert_eq!(eq(k, m), "true, proved");
    assert_eq!(eq(m, m), "true, proved");
    assert_eq!(eq(n, p), "unknown");
    // The operand has this size only if the slice has it.
    assert_eq!(eq(cut, m), "true, if 1 <= N");
    assert_eq!(eq(l, m), "true, proved in t");
    assert_eq!(inference.facts().eq(inference.exprs(), l, m), None);
    assert_eq!(eq(cut, n), "false, proved");
    assert_eq!(le(Dim::Known(1), n), "true, if 1 <= N");
    assert_eq!(le(Dim::Known(0), cut), "true, if 1 <= N");
    assert_eq!(le(Dim::Known(0), n), "true, proved");
    assert_eq!(le(Dim::Known(2), n), "unknown");
    assert_eq!(inference.facts().le(inference.exprs(), Dim::Known(0), cut), Some(true));
}

#[test]
fn several_nodes_prove_the_same() {
    let (model, inference) = run(
        "g (float[N] x, float[M] y, bool c) => (d) { d = MatMul (x, y) e = MatMul (x, y) \
         r = If (c) <then_branch = t () => (o) { o = MatMul (x, y) }, else_branch = e () => (w) { w = Neg (d) }> }",
    );
    let [n, m] = ["x", "y"].map(|name| dim(&model, &inference, name, 0));
    let relation = onnx_shape_infer::Relation::Equal(n, m);
    let found: Vec<_> =
        inference.facts().conclusions(relation).map(|fact| (fact.strength, fact.scope)).collect();
    let then = model.graph_of(value(&model, "o"));
    let proved = (Strength::Proved, FactScope::Model);
    assert_eq!(found, [proved, proved, (Strength::Proved, FactScope::Graph(then))]);
}

/// A guard that another node proves holds in every run, unless that proof depends on the guard.
#[test]
fn guards_that_another_node_proves_are_discharged() {
    let constants = "<int64[1] one = {1}, int64[1] all = {9223372036854775807}>";
    let of = |nodes: &str| {
        let (model, inference) = run(&format!(
            "g (float[N] x, float[M] w) => (b) {constants} {{ b = Slice (x, one, all) {nodes} }}"
        ));
        let guards: Vec<_> = inference.guards(&model).map(|guard| guard.condition).collect();
        let text = describe(&model, &inference, &inference.justification(&model, value(&model, "b")));
        (text, guards, inference.discharged(&model).len())
    };
    let assumed = ("if 1 <= N".to_owned(), vec!["1 <= N".to_owned()], 0);
    assert_eq!(of(""), assumed);
    // The size at the second place of the shape must not be 0, which would copy a second dimension of `w`.
    let proof = "t = Concat <axis = 0> (one, s) p = Reshape (w, t)";
    assert_eq!(of(&format!("s = Shape (x) {proof}")), ("proved".to_owned(), Vec::new(), 1));
    assert_eq!(of(&format!("r = Shape (b) s = Add (r, one) {proof}")), assumed);
    // What is granted remains when the node is gone, unless no output depended on the node.
    for (outputs, expected) in [("b, p", "proved"), ("b", "if 1 <= N")] {
        let (mut model, mut inference) = run(&format!(
            "g (float[N] x, float[M] w) => ({outputs}) {constants} {{ b = Slice (x, one, all) s = Shape (x) {proof} }}"
        ));
        inference.grant_proved(&model);
        let revision = model.revision();
        let node = model.value(value(&model, "p")).producer().unwrap();
        model.replace_node(node, &[Some(value(&model, "w"))]).unwrap();
        let inference = inference.update(&model, &InferOptions::default(), &model.changes_since(&revision));
        let justification = inference.justification(&model, value(&model, "b"));
        assert_eq!(describe(&model, &inference, &justification), expected);
        assert_eq!(inference.guards(&model).count(), 1);
        assert_eq!(inference.discharged(&model).len(), usize::from(expected == "proved"));
    }
    // A node of a graph that need not run proves nothing about other graphs.
    let branches = "c = IsNaN (x) d = Squeeze (c) q = If (d) <then_branch = f () => (p) { s = Shape (x) PROOF }, \
                    else_branch = e () => (z) { z = Neg (w) }>";
    assert_eq!(of(&branches.replace("PROOF", proof)), assumed);
}

/// A guard of two branches is a condition of both.
#[test]
fn one_relation_can_guard_two_graphs() {
    let (model, inference) = run(&format!(
        "g (float[N] x, bool c, bool d) => (z, w) {CUTS} {{ \
         z = If (c) <then_branch = t () => (p) {{ p = Slice (x, one, all) }}, else_branch = e () => (r) {{ r = Neg (x) }}> \
         w = If (d) <then_branch = u () => (q) {{ q = Slice (x, one, all) }}, else_branch = f () => (s) {{ s = Neg (x) }}> }}"
    ));
    let graphs: Vec<_> =
        inference.guards(&model).map(|guard| (guard.condition, guard.graph.unwrap())).collect();
    let of = |name: &str| ("1 <= N".to_owned(), format!("graph `{name}`"));
    assert_eq!(graphs, [of("t"), of("u")]);
    let guards = |name| inference.justification(&model, value(&model, name)).guards().to_vec();
    assert_eq!(
        guards("w").iter().map(|fact| fact.scope).collect::<Vec<_>>(),
        [FactScope::Graph(model.graph_of(value(&model, "q")))]
    );
}

#[test]
fn without_assumptions_what_needs_a_guard_is_unknown() {
    let model = parsed(
        "g (float[N] x, float[1, 1, H] h, float[\"K - 1\", K] k, float[K] l, float[2] w) => (y) \
         <float[2, 3] d, int64[1] one = {1}, int64[1] all = {9223372036854775807}, int64[1] most = {2147483647}> { \
         a = Slice (x, one, all) b = MaxPool <kernel_shape = [2], strides = [2]> (h) d = my.Strange (x) \
         e = Add (k, k) y = Slice (x, one, most) }",
    );
    let options = InferOptions::default().with_assumed(false);
    let inference = infer(&model, &options);
    assert_eq!(inference.facts().guards().count(), 0);
    let text = |name, axis| {
        let dim = dim(&model, &inference, name, axis);
        let is_fresh = matches!(dim, Dim::Var(symbol) if inference.origin(symbol).is_some());
        (!is_fresh).then(|| inference.text(&model, dim).unwrap())
    };
    assert_eq!(text("a", 0).as_deref(), Some("max(N - 1, 0)"));
    assert_eq!(text("b", 2), None);
    assert_eq!(inference.ty(value(&model, "d")), Ty::Unknown);
    // No caller can give an input of a negative size.
    assert_eq!(text("e", 0).as_deref(), Some("K - 1"));
    assert_eq!(inference.justification(&model, value(&model, "y")), Justification::Proved);
}

#[test]
fn what_depends_on_guards_is_kept_up_to_date() {
    let text = "g (float[N] x) => (y, z) <int64[1] one = {1}, int64[1] all = {2147483647}> {
        a = Relu (x)
        b = Exp (a)
        y = Neg (b)
        z = Slice (x, one, all)
    }";
    let mut model = parsed(text);
    let options = InferOptions::default();
    let inference = infer(&model, &options);
    let [a, b, y, z] = ["a", "b", "y", "z"].map(|name| value(&model, name));
    assert_eq!(
        [a, b, y, z].map(|value| inference.depends_on_guards(&model, value)),
        [false, false, false, true]
    );
    // What used `a` uses a slice of it.
    let revision = model.revision();
    let [one, all] = ["one", "all"].map(|name| value(&model, name));
    let exp = model.value(b).producer().unwrap();
    let mut build = model.build_at(onnx_ir::Position::Before(exp));
    let slice = build.op(onnx_schema::op::SLICE, [a, one, all]).output().unwrap();
    model.set_input(exp, 0, Some(slice));
    let mut inference = inference.update(&model, &options, &model.changes_since(&revision));
    assert_eq!(
        [a, slice, b, y].map(|value| inference.depends_on_guards(&model, value)),
        [false, true, true, true]
    );
    // Back again: `b` is known not to depend on the guard any more, the rest at the next question that begins anew.
    let revision = model.revision();
    model.set_input(exp, 0, Some(a));
    let slice = model.value(slice).producer().unwrap();
    model.erase_node(slice).unwrap();
    inference = inference.update(&model, &options, &model.changes_since(&revision));
    assert_eq!([a, b].map(|value| inference.depends_on_guards(&model, value)), [false, false]);
    assert_eq!(inference.justification(&model, y), Justification::Proved);
    inference.forget_dependents();
    assert_eq!([b, y, z].map(|value| inference.depends_on_guards(&model, value)), [false, false, true]);
}
