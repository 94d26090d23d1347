//! Operands, results, graphs, overloads, selection and provenance of calls.

use onnx_functions::{InlineOptions, inline, inline_all};
use onnx_ir::{Origin, Owner, Position, TrainingInfo};

use crate::{check, errors, maker, nodes, nodes_of, parse};

#[test]
fn inputs_that_a_call_omits_are_omitted() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x, float low) => (float[N] y, float[N] z) {
            y = my.Clamp (x)
            z = my.Clamp (x, low)
        }
        <domain: "my", opset_import: ["": 20]> Clamp (p, low, high) => (q) { q = Clip (p, low, high) }"#,
        &["y = Clip (x)", "z = Clip (x, low)"],
        &[],
    );
}

#[test]
fn results_that_are_inputs_become_the_operands() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y, float[N] z) {
            a, b = my.Both (x)
            z, c = my.Both (a)
            y = Add (b, c)
        }
        <domain: "my", opset_import: ["": 20]> Both (p) => (p, q) { q = Neg (p) }"#,
        &["b = Neg (x)", "c = Neg (x)", "z = Identity (x)", "y = Add (b, c)"],
        &[],
    );
}

/// The slots of values that were replaced are used again.
#[test]
fn results_that_are_inputs_are_followed_through_values_that_are_gone() {
    check(
        r#"<ir_version: 10, opset_import: ["": 18, "my": 1]>
        g (float[N] x) => (float[N] y) { y = my.G (x) }
        <domain: "my", opset_import: ["": 18, "my": 1]> F (c) => (c) { }
        <domain: "my", opset_import: ["": 18, "my": 1]> K (p) => (o) {
            u = my.F (p)
            o = Neg (p)
        }
        <domain: "my", opset_import: ["": 18, "my": 1]> G (p) => (r) {
            r = my.K (p)
            z = my.K (r)
        }"#,
        &["y = Neg (x)", "z = Neg (y)"],
        &[],
    );
}

#[test]
fn a_result_that_is_listed_twice_is_one_value() {
    // The checker reports it; there is a meaning nevertheless.
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y, float[N] z) { y, z = my.Same (x) }
        <domain: "my", opset_import: ["": 20]> Same (p) => (q, q) { q = Neg (p) }"#,
    );
    inline_all(&mut model, &InlineOptions::default()).unwrap();
    model.verify_sorted().unwrap();
    assert_eq!(nodes(&model), ["y = Neg (x)", "z = Identity (y)"]);
}

#[test]
fn results_that_are_not_used_are_computed_and_unnamed_outputs_are_no_results() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { , y = my.Two (x) }
        <domain: "my", opset_import: ["": 20]> Two (p) => (q, r) { q = Neg (p) r = Abs (p) }"#,
        &["q = Neg (x)", "y = Abs (x)"],
        &[],
    );
}

#[test]
fn an_omitted_input_that_is_an_output_keeps_the_call() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { y = my.F (x) }
        <domain: "my", opset_import: ["": 20]> F (p, o) => (q, o) { q = Neg (p) }"#,
        &["y = my.F (x)"],
        &["`my.F`: the call omits `o`, which is an output of a graph of the function"],
    );
}

#[test]
fn an_omitted_input_that_an_operator_needs_keeps_the_call() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { y = my.F (x) }
        <domain: "my", opset_import: ["": 20]> F (p, o) => (q) { q = Add (p, o) }"#,
        &["y = my.F (x)"],
        &["`my.F`: the call omits `o`, without which `Add` is not valid"],
    );
}

#[test]
fn overloads_are_functions_of_their_own() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { a = my.F:one (x) y = my.F (a) }
        <domain: "my", opset_import: ["": 20]> F (p) => (q) { q = Neg (p) }
        <domain: "my", overload: "one", opset_import: ["": 20]> F (p) => (q) { q = Abs (p) }"#,
        &["a = Abs (x)", "y = Neg (a)"],
        &[],
    );
}

#[test]
fn a_standard_operator_takes_precedence_over_a_function_of_its_name() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) { y = Neg (x) }
        <domain: "", opset_import: ["": 20]> Neg (p) => (q) { q = Abs (p) }"#,
    );
    let done = inline_all(&mut model, &InlineOptions::default()).unwrap();
    assert_eq!(
        (done.calls.len(), done.removed_functions, nodes(&model)),
        (0, 0, vec!["y = Neg (x)".to_owned()])
    );
}

#[test]
fn calls_in_branches_capture_values_around_them() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (bool c, float[N] x) => (float[N] y) {
            t = Abs (x)
            y = If (c) <then_branch = a () => (p) { p = my.F (t) }, else_branch = b () => (q) { q = my.F (x) }>
        }
        <domain: "my", opset_import: ["": 20]> F (t) => (r) { s = Neg (t) r = Exp (s) }"#,
        &[
            "t = Abs (x)",
            "y = If (c)",
            "{",
            "s = Neg (t)",
            "p = Exp (s)",
            "} => p",
            "{",
            "F/s = Neg (x)",
            "q = Exp (F/s)",
            "} => q",
        ],
        &[],
    );
}

#[test]
fn a_body_that_uses_an_undefined_name_stays() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { k = Abs (x) y = my.F (k) }
        <domain: "my", opset_import: ["": 20]> F (p) => (q) { q = Add (p, k) }"#,
    );
    let done = inline_all(&mut model, &InlineOptions::default()).unwrap();
    let kept: Vec<String> = done.kept().map(|(_, reason)| reason.to_string()).collect();
    assert_eq!(kept, ["the function uses `k`, which nothing defines"]);
    model.verify_sorted().unwrap();
}

#[test]
fn functions_that_stay_are_expanded_too() {
    // `Half` is not selected, and is called from the graph and from a function that goes.
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { a = my.Top (x) y = my.Half (a) }
        <domain: "my", opset_import: ["": 20, "my": 1]> Top (p) => (q) { r = my.Half (p) q = my.Leaf (r) }
        <domain: "my", opset_import: ["": 20, "my": 1]> Half (p) => (q) { q = my.Leaf (p) }
        <domain: "my", opset_import: ["": 20]> Leaf (p) => (q) { q = Neg (p) }
        <domain: "my", opset_import: ["": 20, "my": 1]> Library (p) => (q) { q = my.Leaf (p) }"#,
    );
    let done = inline(&mut model, &InlineOptions::default(), |model, _, function| {
        model.str(model.function(function).name()) != "Half"
    });
    let done = done.unwrap();
    model.verify_sorted().unwrap();
    assert_eq!(nodes(&model), ["r = my.Half (x)", "a = Neg (r)", "y = my.Half (a)"]);
    let left: Vec<String> = model
        .functions()
        .iter()
        .map(|&function| {
            let record = model.function(function);
            format!("{}: {}", model.str(record.name()), nodes_of(&model, record.body()).join(", "))
        })
        .collect();
    // A function that nothing called before is kept: the model may be a library.
    assert_eq!(left, ["Half: q = Neg (p)", "Library: q = Neg (p)"]);
    assert_eq!((done.inlined(), done.removed_functions), (4, 2));
    assert_eq!(errors(&model), Vec::<String>::new());
}

#[test]
fn inlined_nodes_come_from_the_call_and_the_body() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
g (float[N] x) => (float[N] y) { y = my.Outer (x) }
<domain: "my", opset_import: ["": 20, "my": 1]> Outer (p) => (q) { q = my.Inner (p) }
<domain: "my", opset_import: ["": 20]> Inner (p) => (q) { q = Neg (p) }"#;
    let mut model = parse(text);
    inline_all(&mut model, &InlineOptions::default()).unwrap();
    let node = maker(&model, "y");
    let Origin::Derived(id) = model.node_origin(node) else { panic!("it is derived") };
    let derivation = model.derivation(id).unwrap();
    let sources: Vec<&str> = derivation.sources.iter().map(|source| model.str(source.op)).collect();
    assert_eq!((model.str(derivation.pass), sources), ("inline", vec!["Inner", "Neg"]));
    let lines: Vec<u32> = model
        .root_origins(node)
        .into_iter()
        .map(|origin| match origin {
            Origin::Text { line, .. } => line,
            other => panic!("{other:?}"),
        })
        .collect();
    // The call in the graph, the call in the outer function, and the node of the inner one.
    assert_eq!(lines, [2, 3, 4]);
}

#[test]
fn custom_operators_of_a_registry_are_no_calls() {
    let mut set = onnx_schema::OperatorSet::new("my", 2);
    set.add(onnx_schema::declare("F", 1).input("X", "").output("Y", "")).unwrap();
    let registry = onnx_schema::Registry::STANDARD.with(&set).unwrap();
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { y = my.G (x) }
        <domain: "my", opset_import: ["": 20, "my": 2]> G (p) => (q) { q = my.F (p) }"#,
    );
    let options = InlineOptions::default().with_registry(&registry);
    let done = inline_all(&mut model, &options).unwrap();
    // The operator is the same in both versions of its set.
    assert_eq!((done.inlined(), nodes(&model)), (1, vec!["y = my.F (x)".to_owned()]));
}

#[test]
fn calls_in_training_graphs_are_inlined() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { y = my.F (x) }
        <domain: "my", opset_import: ["": 20]> F (p) => (q) { q = Neg (p) }
        <domain: "my", opset_import: ["": 20]> G (p) => (q) { q = Abs (p) }"#,
    );
    let x = model.graph(model.main_graph()).inputs()[0];
    let algorithm = model.new_training_graph(Owner::Algorithm);
    model.info_mut().training.push(TrainingInfo::of_algorithm(algorithm));
    let mut build = model.build_at(Position::End(algorithm));
    let z = build.call("my", "F", [x]).output_named("z").unwrap();
    let w = build.call("my", "G", [z]).output_named("w").unwrap();
    model.push_graph_output(algorithm, w);
    let done = inline(&mut model, &InlineOptions::default(), |model, _, function| {
        model.str(model.function(function).name()) == "F"
    });
    assert_eq!(done.unwrap().removed_functions, 1);
    model.verify_sorted().unwrap();
    assert_eq!(nodes(&model), ["y = Neg (x)"]);
    assert_eq!(nodes_of(&model, algorithm), ["z = Neg (x)", "w = my.G (z)"]);
    assert_eq!(model.erase_unused_functions(), 0);
}

#[test]
fn nodes_that_call_a_standard_operator_instead_are_reported() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) { y = Relu (x) }
        <domain: "", opset_import: ["": 20]> Relu (p) => (q) { q = Neg (p) }"#,
    );
    let done = inline_all(&mut model, &InlineOptions::default()).unwrap();
    assert_eq!(
        (done.inlined(), done.removed_functions, nodes(&model)),
        (0, 0, vec!["y = Relu (x)".to_owned()])
    );
    let found = done.findings(&model);
    let messages: Vec<&str> = found.diagnostics().iter().map(|found| found.message.as_str()).collect();
    assert_eq!(messages, ["a node calls the standard operator `Relu`, and not the function of this name"]);
}
