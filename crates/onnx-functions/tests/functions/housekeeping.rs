//! Order and identities of functions, and linking.

use onnx_functions::{
    InlineOptions, deduplicate, function_sizes, inline, inline_all, link, missing_functions, outline,
    separate_functions, sort_functions,
};
use onnx_ir::{Model, NodeId};
use onnx_schema::Registry;

use crate::{errors, maker, nodes, parse};

fn functions(model: &Model) -> Vec<String> {
    let names = model.functions().iter().map(|&function| {
        let record = model.function(function);
        let [domain, name, overload] =
            [record.domain(), record.name(), record.overload()].map(|part| model.str(part));
        let overload = if overload.is_empty() { String::new() } else { format!(":{overload}") };
        format!("{domain}.{name}{overload}")
    });
    names.collect()
}

/// A model with functions, in each of which `FN` stands for its head.
fn model(body: &str, functions: &str) -> Model {
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 20, \"d\": 1]>\ng (float[N] x) => (float[N] y) {{ {body} }}\n{functions}"
    );
    parse(&text.replace("FN", "<domain: \"d\", opset_import: [\"\": 20, \"d\": 1]>"))
}

#[test]
fn callees_come_first() {
    let mut model = model(
        "y = d.a (x)",
        "FN a (x) => (y) { t = d.c (x) y = d.b (t) } FN b (x) => (y) { y = d.c (x) } FN c (x) => (y) { y = Neg (x) } FN u (x) => (y) { y = Abs (x) }",
    );
    assert!(sort_functions(&mut model, Registry::STANDARD));
    assert_eq!(functions(&model), ["d.c", "d.b", "d.a", "d.u"]);
    assert!(!sort_functions(&mut model, Registry::STANDARD));
    model.verify_sorted().unwrap();
    assert_eq!(model.erase_unused_functions(), 1);
    assert_eq!(errors(&model), Vec::<String>::new());
}

#[test]
fn equal_functions_become_one_with_those_that_call_them() {
    let mut model = model(
        "t = d.a (x) u = d.b (t) v = d.other (u) y = If (c) <then_branch = p () => (q) { q = d.b (v) }, else_branch = r () => (s) { s = d.a (v) }>",
        "FN n1 (x) => (y) { k = Neg (x) y = Abs (k) } FN n2 (p) => (q) { r = Neg (p) q = Abs (r) }
        FN a (x) => (y) { y = d.n1 (x) } FN b (x) => (y) { y = d.n2 (x) } FN other (x) => (y) { k = Neg (x) y = Abs (x) }",
    );
    assert_eq!(deduplicate(&mut model, Registry::STANDARD), 2);
    model.verify_sorted().unwrap();
    assert_eq!(functions(&model), ["d.n1", "d.a", "d.other"]);
    assert_eq!(
        nodes(&model),
        [
            "t = d.a (x)",
            "u = d.a (t)",
            "v = d.other (u)",
            "y = If (c)",
            "{",
            "q = d.a (v)",
            "} => q",
            "{",
            "s = d.a (v)",
            "} => s"
        ]
    );
    assert_eq!(deduplicate(&mut model, Registry::STANDARD), 0);
}

#[test]
fn functions_that_differ_stay() {
    let heads = ["<domain: \"d\", opset_import: [\"\": 20]>", "<domain: \"d\", opset_import: [\"\": 13]>"];
    for (first, second) in [
        (
            "f <a: int = 1> (x) => (y) { y = Softmax <axis: int = @a> (x) }",
            "h <a: int = 2> (x) => (y) { y = Softmax <axis: int = @a> (x) }",
        ),
        ("f (x) => (y) { y = Softmax <axis = 1> (x) }", "h (x) => (y) { y = Softmax <axis = 0> (x) }"),
        ("f (x, z) => (y) { y = Sub (x, z) }", "h (x, z) => (y) { y = Sub (z, x) }"),
        ("f (x) => (y) { y = Neg (x) }", "h (x) => (y, z) { y = Neg (x) z = Abs (x) }"),
    ] {
        let text = format!("{} {first} {} {second}", heads[0], heads[0]);
        assert_eq!(
            deduplicate(&mut model("y = d.f (x) z = d.h (x)", &text), Registry::STANDARD),
            0,
            "{text}"
        );
    }
    // Another version of the operator set may be another operator.
    let text =
        format!("{} f (x) => (y) {{ y = Neg (x) }} {} h (x) => (y) {{ y = Neg (x) }}", heads[0], heads[1]);
    assert_eq!(deduplicate(&mut model("y = d.f (x) z = d.h (x)", &text), Registry::STANDARD), 0);
    // The default of the operator is the same as none.
    let text = "FN f (x) => (y) { y = Softmax <axis = -1> (x) } FN h (x) => (y) { y = Softmax (x) }";
    assert_eq!(deduplicate(&mut model("y = d.f (x) z = d.h (x)", text), Registry::STANDARD), 1);
}

#[test]
fn functions_of_one_identity_are_separated() {
    let mut model = model(
        "y = d.f (x)",
        "FN f (x) => (y) { y = Neg (x) } FN f (p) => (q) { q = Neg (p) } FN f (x) => (y) { y = Abs (x) } FN f_2 (x) => (y) { y = Exp (x) }",
    );
    let separated = separate_functions(&mut model, Registry::STANDARD);
    assert_eq!((separated.merged, separated.renamed.len()), (1, 1));
    assert_eq!(functions(&model), ["d.f", "d.f_3", "d.f_2"]);
    model.verify_sorted().unwrap();
    assert_eq!(errors(&model), Vec::<String>::new());
    assert_eq!(inline_all(&mut model, &InlineOptions::default()).unwrap().inlined(), 1);
    assert_eq!(nodes(&model), ["y = Neg (x)"]);
}

#[test]
fn outlining_equal_nodes_and_merging_gives_one_function() {
    let mut model = model("a = Neg (x) b = Abs (a) c = Neg (b) y = Abs (c)", "");
    for (names, function) in [(["a", "b"], "p"), (["c", "y"], "q")] {
        let members: Vec<NodeId> = names.iter().map(|name| maker(&model, name)).collect();
        outline(&mut model, &members, ("d", function, ""), Registry::STANDARD).unwrap();
    }
    assert_eq!(deduplicate(&mut model, Registry::STANDARD), 1);
    assert_eq!(nodes(&model), ["b = d.p (x)", "y = d.p (b)"]);
}

#[test]
fn sizes_are_those_that_inlining_creates() {
    let model = model(
        "t = d.b (x) u = d.b (t) y = d.r (u)",
        "FN a (x) => (y) { y = Neg (x) } FN b (x) => (y) { t = d.a (x) y = d.a (t) } FN r (x) => (y) { y = d.s (x) } FN s (x) => (y) { y = d.s (x) }",
    );
    let sizes: Vec<(u64, u64, Option<u64>)> = function_sizes(&model, Registry::STANDARD)
        .iter()
        .map(|size| (size.calls, size.nodes, size.expanded))
        .collect();
    assert_eq!(sizes, [(2, 1, Some(1)), (2, 2, Some(4)), (1, 1, None), (2, 1, None)]);
}

#[test]
fn libraries_are_linked_transitively() {
    let library = parse(
        "<ir_version: 10, opset_import: [\"\": 20, \"l\": 2]> g () => () { }
        <domain: \"l\", opset_import: [\"\": 20, \"l\": 2]> top <k: int = 1> (x) => (y) { y = l.low (x) }
        <domain: \"l\", opset_import: [\"\": 20]> low (x) => (y) { y = Neg (x) }
        <domain: \"l\", opset_import: [\"\": 20]> spare (x) => (y) { y = Abs (x) }",
    );
    let mut model =
        parse("<ir_version: 8, opset_import: [\"\": 20]> g (float[N] x) => (float[N] y) { y = l.top (x) }");
    let linked = link(&mut model, &library, Registry::STANDARD).unwrap();
    assert_eq!((linked.len(), functions(&model)), (2, vec!["l.low".to_owned(), "l.top".to_owned()]));
    assert_eq!((model.info().ir_version, errors(&model)), (9, Vec::new()));
    model.verify_sorted().unwrap();
    assert_eq!(link(&mut model, &library, Registry::STANDARD).unwrap(), []);
    // A function of the model with another meaning keeps its name; an equal one is used.
    for (own, expected) in [("Abs", vec!["l.low", "l.low_2", "l.top"]), ("Neg", vec!["l.low", "l.top"])] {
        let mut model = parse(&format!(
            "<ir_version: 8, opset_import: [\"\": 20, \"l\": 2]> g (float[N] x) => (float[N] y) {{ t = l.low (x) y = l.top (t) }}
            <domain: \"l\", opset_import: [\"\": 20]> low (p) => (q) {{ q = {own} (p) }}"
        ));
        link(&mut model, &library, Registry::STANDARD).unwrap();
        assert_eq!(functions(&model), expected);
        inline_all(&mut model, &InlineOptions::default()).unwrap();
        assert_eq!(nodes(&model), [format!("t = {own} (x)"), "y = Neg (t)".to_owned()]);
    }
}

#[test]
fn a_library_that_does_not_fit_the_model_is_refused() {
    let refused = |model: &str, library: &str| {
        let (mut model, library) = (parse(model), parse(library));
        let before = functions(&model);
        let error = link(&mut model, &library, Registry::STANDARD).unwrap_err();
        assert_eq!(functions(&model), before);
        model.verify().unwrap();
        error.to_string()
    };
    // The function of the library calls the one of the model that calls it.
    let error = refused(
        r#"<ir_version: 10, opset_import: ["": 20, "d": 1]>
        g (float[N] x) => (float[N] y) { y = d.A (x) }
        <domain: "d", opset_import: ["d": 1]> B (p) => (q) { q = d.A (p) }"#,
        r#"<ir_version: 10, opset_import: ["": 20, "d": 1]>
        g () => () {}
        <domain: "d", opset_import: ["d": 1]> A (p) => (q) { q = d.B (p) }"#,
    );
    assert_eq!(error, "the function `d.A` of the library calls itself, directly or through others");
    // The axes became an operand in version 13.
    let error = refused(
        r#"<ir_version: 10, opset_import: ["": 20, "d": 1]>
        g (float[2,3] x) => (float[2] y) { y = d.Total (x) }"#,
        r#"<ir_version: 10, opset_import: ["": 11, "d": 1]>
        g () => () {}
        <domain: "d", opset_import: ["": 11]> Total (p) => (q) { q = ReduceSum <axes = [1], keepdims = 0> (p) }"#,
    );
    assert!(
        error.starts_with("the function `d.Total` of the library does not fit the model: `ReduceSum`"),
        "{error}"
    );
}

#[test]
fn functions_that_only_each_other_call_go_together() {
    // The graph with the call of `A` goes with the call of `F`, whose body does not use it.
    let text = r#"<ir_version: 10, opset_import: ["": 20, "d": 1]>
        g (float[N] x) => (float[N] y) { y = d.F <b = one () => (r) { r = d.A (x) }> (x) }
        <domain: "d", opset_import: ["": 20]> F <b> (p) => (q) { q = Neg (p) }
        <domain: "d", opset_import: ["": 20, "d": 1]> A (p) => (q) { q = d.B (p) }
        <domain: "d", opset_import: ["": 20, "d": 1]> B (p) => (q) { q = d.A (p) }"#;
    let mut model = parse(text);
    let select = |model: &Model, _, function| model.str(model.function(function).name()) == "F";
    let done = inline(&mut model, &InlineOptions::default(), select).unwrap();
    assert_eq!((done.inlined(), done.removed_functions), (1, 3));
    assert_eq!(nodes(&model), ["y = Neg (x)"]);
}

#[test]
fn what_a_function_that_nothing_calls_names_stays() {
    // `Big` is not expanded, as its size was not expected, so it still calls `F`.
    let text = r#"<ir_version: 10, opset_import: ["": 20, "d": 1]>
        g (float[N] x) => (float[N] y) { y = d.F (x) }
        <domain: "d", opset_import: ["": 20, "d": 1]> Unused (p) => (q) { q = d.F (p) }
        <domain: "d", opset_import: ["": 20]> F (p) => (q) { q = Neg (p) }"#;
    let mut model = parse(text);
    let main = model.main_graph();
    let select = |model: &Model, node, _| model.node(node).graph() == main;
    let done = inline(&mut model, &InlineOptions::default(), select).unwrap();
    assert_eq!((done.inlined(), done.removed_functions), (1, 0));
    assert_eq!(model.functions().len(), 2);
}

#[test]
fn calls_that_nothing_defines_are_listed() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "d": 1]>
        g (float[N] x) => (float[N] y) { a = d.F (x) b = d.G (a) c = e.G (b) y = d.G (c) }
        <domain: "d", opset_import: ["": 20]> F (p) => (q) { q = Neg (p) }"#;
    let model = parse(text);
    let missing = missing_functions(&model, Registry::STANDARD);
    let found: Vec<(&str, &str, usize)> = missing
        .iter()
        .map(|missing| (model.str(missing.function.0), model.str(missing.function.1), missing.nodes.len()))
        .collect();
    assert_eq!(found, [("d", "G", 2), ("e", "G", 1)]);
}
