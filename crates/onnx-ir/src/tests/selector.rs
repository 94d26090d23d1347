//! Selectors: parsing, resolution, and the selectors of elements.

use onnx_diag::Locus;
use onnx_schema::{attr, op};
use onnx_types::Symbol;

use crate::{Attribute, Element, Model, NewNode, Places, Position, Selector, Selectors};

/// A model with names that look like selectors, names that occur twice, a nested graph and a function.
fn model() -> Model {
    let mut model = Model::new();
    let main = model.main_graph();
    let long = "long/".repeat(40);
    for name in ["x", "node(0)", "a b", "\"x\"", "twice", "twice", "(node(1))", "n\u{202e}", long.as_str()] {
        model.add_graph_input(main, name, None);
    }
    let x = model.graph(main).inputs()[0];
    let mut at = x;
    for name in ["", "same", "same", "x", "main()"] {
        at = model.build_at(Position::End(main)).op(op::RELU, [at]).name(name).output().unwrap();
    }
    let body = model.new_graph(Symbol::EMPTY);
    let inner = model.build_at(Position::End(body)).op(op::ABS, [at]).output_named("inner").unwrap();
    model.push_graph_output(body, inner);
    let around = NewNode::new(op::LOOP).attribute(Attribute::new(attr::BODY, body));
    model.add_node(Position::End(main), around).unwrap();
    let [domain, name] = ["com.acme", "Block"].map(|text| model.intern(text));
    let function = model.add_function(domain, name, Symbol::EMPTY);
    let body = model.function(function).body();
    let input = model.add_graph_input(body, "x", None);
    model.build_at(Position::End(body)).op(op::RELU, [input]).output_named("inner").unwrap();
    model
}

#[test]
fn every_selector_of_an_element_resolves_to_exactly_this_element() {
    let model = model();
    let selectors = Selectors::new(&model);
    let mut texts = Vec::new();
    for graph in model.all_graphs() {
        let text = selectors.text(Element::Graph(graph)).unwrap();
        assert_eq!(selectors.elements(&selectors.parse(&text).unwrap()), [Element::Graph(graph)]);
        texts.push(text);
        for node in model.nodes(graph) {
            let text = selectors.text(Element::Node(node)).unwrap();
            assert_eq!(selectors.nodes(&selectors.parse(&text).unwrap()), [node], "{text}");
            texts.push(text);
        }
        for &input in model.graph(graph).inputs() {
            let is_twice = model.str(model.value(input).name()) == "twice";
            let text = selectors.text(Element::Value(input));
            assert_eq!(text.is_none(), is_twice);
            let Some(text) = text else { continue };
            assert_eq!(selectors.values(&selectors.parse(&text).unwrap()), [input], "{text}");
            texts.push(text);
        }
    }
    let unique: std::collections::BTreeSet<&String> = texts.iter().collect();
    assert_eq!(unique.len(), texts.len());
    texts.retain(|text| text.len() < 100);
    assert_eq!(
        texts,
        [
            // A text that a name equals is put between parentheses.
            "(main())",
            "(node(0))",
            "node(1)",
            "node(2)",
            "node(3)",
            "node(4)",
            "node(5)",
            "x",
            "\"node(0)\"",
            "\"a b\"",
            "\"\\\"x\\\"\"",
            "\"(node(1))\"",
            "\"n\\u{202e}\"",
            "body(node(5), body)",
            "in(body(node(5), body), node(0))",
            "function(com.acme.Block)",
            "in(function(com.acme.Block), node(0))",
            "in(function(com.acme.Block), x)",
        ]
    );
}

#[test]
fn a_complete_text_that_equals_a_name_is_the_name() {
    let model = model();
    let selectors = Selectors::new(&model);
    let main = model.main_graph();
    let input = |index: usize| vec![Element::Value(model.graph(main).inputs()[index])];
    assert_eq!(selectors.elements(&selectors.parse("node(0)").unwrap()), input(1));
    assert_eq!(selectors.elements(&selectors.parse("\"x\"").unwrap()), input(3));
    assert_eq!(selectors.elements(&selectors.parse("a b").unwrap()), input(2));
    // `x` names a value and a node: the expected kind decides.
    let x = selectors.parse("x").unwrap();
    assert_eq!(selectors.nodes(&x), [model.nodes(main).nth(3).unwrap()]);
    assert_eq!(selectors.values(&x), [model.graph(main).inputs()[0]]);
    // A name of a nested graph is visible, one of a function only through `in`.
    assert_eq!(selectors.values(&selectors.parse("inner").unwrap()).len(), 1);
    assert_eq!(selectors.values(&selectors.parse("in(function(com.acme.Block), inner)").unwrap()).len(), 1);
    assert_eq!(selectors.nodes(&selectors.parse("same").unwrap()).len(), 2);
    assert_eq!(selectors.nodes(&selectors.parse("absent").unwrap()).len(), 0);
}

#[test]
fn windows_hold_the_nodes_within_a_distance() {
    let model = model();
    let selectors = Selectors::new(&model);
    let nodes: Vec<_> = model.nodes(model.main_graph()).collect();
    let near = |distance| selectors.nodes(&Selector::parse(&format!("near(node(2), {distance})")).unwrap());
    assert_eq!(near(0), nodes[2..3]);
    assert_eq!(near(1), nodes[1..4]);
    assert_eq!(near(usize::MAX), nodes[0..5]);
}

#[test]
fn what_is_not_a_selector_is_refused_with_its_byte() {
    for (text, message, offset) in [
        ("", "expected a name or a selector function", 0),
        ("node(x)", "expected a number", 5),
        ("node(1", "expected `)`", 6),
        ("node(99999999999999999999)", "expected a number", 5),
        ("nod(1)", "no selector function has this name", 0),
        ("in(x, y)", "expected a graph: `main()`, `body(…)` or `function(…)`", 3),
        ("\"x", "a quoted name does not end", 2),
        ("\"\\q\"", "unknown escape in a quoted name", 3),
        ("\"\\u{d800}\"", "expected `\\u{HEX}`", 3),
        ("a b", "unexpected text", 2),
    ] {
        let error = Selector::parse(text).unwrap_err();
        assert_eq!((error.message, error.offset), (message, offset), "{text}");
    }
    let deep = "(".repeat(100_000);
    assert_eq!(Selector::parse(&deep).unwrap_err().message, "the selector nests too deeply");
}

#[test]
fn places_have_the_selector_of_their_innermost_node_or_value() {
    let model = model();
    let (selectors, places) = (Selectors::new(&model), Places::new(&model));
    let main = model.main_graph();
    let nodes: Vec<_> = model.nodes(main).collect();
    let of = |locus: &Locus| selectors.of_locus(locus);
    assert_eq!(of(&places.input(nodes[2], 0)).as_deref(), Some("node(2)"));
    assert_eq!(of(&places.graph_input(main, 0).ty().dimension(1)).as_deref(), Some("x"));
    assert_eq!(of(&places.graph(main)).as_deref(), Some("(main())"));
    assert_eq!(of(&places.graph_input(main, 4)), None);
    assert_eq!(of(&places.value_info(main, model.graph(main).inputs()[8])).unwrap().len(), 200);
    let body = model.node(nodes[5]).nested_graphs().next().unwrap();
    let inner = model.nodes(body).next().unwrap();
    assert_eq!(of(&places.output(inner, 0)).as_deref(), Some("in(body(node(5), body), node(0))"));
    let function = model.function(model.functions()[0]).body();
    assert_eq!(of(&places.graph(function)).as_deref(), Some("function(com.acme.Block)"));
    for locus in [
        Locus::model(),
        Locus::model().field("ir_version"),
        Locus::model().training_info(0).graph("t").node(0, "", ""),
        Locus::model().graph("g").node(99, "Relu", ""),
        Locus::model().graph("g").value("absent"),
        Locus::model().function("", "absent", ""),
    ] {
        assert_eq!(of(&locus), None, "{locus}");
    }
}
