//! Selectors: parsing, resolution, and the selectors of elements.
#![allow(clippy::unwrap_used, reason = "a test")]

use onnx_diag::Locus;
use onnx_ir::{Attribute, Model, NewNode, Places, Position};
use onnx_schema::{attr, op};
use onnx_select::{Element, Selector, Selectors};
use onnx_types::Symbol;

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
        assert_eq!(selectors.elements(&selectors.parse(&text).unwrap()).unwrap(), [Element::Graph(graph)]);
        texts.push(text);
        for node in model.nodes(graph) {
            for &value in model.node(node).outputs().iter().flatten() {
                let text = selectors.text(Element::Value(value)).unwrap();
                assert_eq!(selectors.values(&selectors.parse(&text).unwrap()).unwrap(), [value], "{text}");
            }
            let text = selectors.text(Element::Node(node)).unwrap();
            assert_eq!(selectors.nodes(&selectors.parse(&text).unwrap()).unwrap(), [node], "{text}");
            texts.push(text);
        }
        for &input in model.graph(graph).inputs() {
            // Two inputs of a graph with one name cannot be distinguished.
            let is_twice = model.str(model.value(input).name()) == "twice";
            let text = selectors.text(Element::Value(input));
            assert_eq!(text.is_none(), is_twice);
            let Some(text) = text else { continue };
            assert_eq!(selectors.values(&selectors.parse(&text).unwrap()).unwrap(), [input], "{text}");
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
    assert_eq!(selectors.elements(&selectors.parse("node(0)").unwrap()).unwrap(), input(1));
    assert_eq!(selectors.elements(&selectors.parse("\"x\"").unwrap()).unwrap(), input(3));
    assert_eq!(selectors.elements(&selectors.parse("a b").unwrap()).unwrap(), input(2));
    // `x` names a value and a node: the expected kind decides.
    let x = selectors.parse("x").unwrap();
    assert_eq!(selectors.nodes(&x).unwrap(), [model.nodes(main).nth(3).unwrap()]);
    assert_eq!(selectors.values(&x).unwrap(), [model.graph(main).inputs()[0]]);
    // A name of a nested graph is visible, one of a function only through `in`.
    assert_eq!(selectors.values(&selectors.parse("inner").unwrap()).unwrap().len(), 1);
    assert_eq!(
        selectors.values(&selectors.parse("in(function(com.acme.Block), inner)").unwrap()).unwrap().len(),
        1
    );
    assert_eq!(selectors.nodes(&selectors.parse("same").unwrap()).unwrap().len(), 2);
    assert_eq!(selectors.nodes(&selectors.parse("absent").unwrap()).unwrap().len(), 0);
}

#[test]
fn windows_hold_the_nodes_within_a_distance() {
    let model = model();
    let selectors = Selectors::new(&model);
    let nodes: Vec<_> = model.nodes(model.main_graph()).collect();
    let near =
        |distance| selectors.nodes(&Selector::parse(&format!("near(node(2), {distance})")).unwrap()).unwrap();
    assert_eq!(near(0), nodes[2..3]);
    assert_eq!(near(1), nodes[1..4]);
    // The loop uses a value of the graph in its body.
    assert_eq!(near(usize::MAX), nodes[0..6]);
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
        ("a |", "expected a name or a selector function", 3),
        ("a & & b", "expected a name or a selector function", 4),
        ("Relu(", "a bracket does not end", 5),
        ("Relu<[>()", "the brackets do not match", 6),
        ("Relu<a = 1> x", "expected `(` and operands", 12),
        ("x -> Relu()", "write a name before `->` between quotes", 2),
        ("type(flaot)", "expected an element type, such as `float16`", 5),
        ("bytes(>1XB)", "expected a unit: `B`, `kB`, `MB`, `GB`, `KiB`, `MiB` or `GiB`", 8),
        ("rank(2MB)", "expected `)`", 6),
        ("metadata(a = )", "expected a name or a selector function", 13),
    ] {
        let error = Selector::parse(text).unwrap_err();
        assert_eq!((error.message.as_str(), error.offset), (message, Some(offset)), "{text}");
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

/// Nodes and values that selectors denote, in an expectation.
#[track_caller]
fn check_nodes(text: &str, expected: &[usize]) {
    let model = model();
    let selectors = Selectors::new(&model);
    let nodes: Vec<_> = model.nodes(model.main_graph()).collect();
    let expected: Vec<_> = expected.iter().map(|&index| nodes[index]).collect();
    assert_eq!(selectors.nodes(&selectors.parse(text).unwrap()).unwrap(), expected, "{text}");
}

#[test]
fn sets_are_joined_intersected_and_subtracted() {
    check_nodes("node(2), node(0), node(2)", &[2, 0]);
    check_nodes("node(2) | node(0)", &[2, 0]);
    check_nodes("in(main(), all()) ~ near(node(2), 1)", &[0, 4, 5]);
    check_nodes("in(main(), all()) & up(node(2))", &[0, 1, 2]);
    // `&` and `~` bind more tightly, and are applied from left to right.
    check_nodes("node(0), node(1) ~ node(1)", &[0]);
    check_nodes("(node(0), node(1)) ~ node(0)", &[1]);
    check_nodes("(node(0), node(1)) ~ node(0) & node(0)", &[]);
    check_nodes("sa?e", &[1, 2]);
    check_nodes("(s*)", &[1, 2]);
    check_nodes("\"sa?e\"", &[]);
}

#[test]
fn edges_are_followed_in_one_graph() {
    check_nodes("up(node(1))", &[0, 1]);
    check_nodes("down(node(3), 1)", &[3, 4]);
    // The body of the loop uses the last value.
    check_nodes("down(node(4), 1)", &[4, 5]);
    check_nodes("up(node(5), 1)", &[4, 5]);
    check_nodes("between(node(0), node(2))", &[1, 2]);
    check_nodes("between(x, node(2))", &[0, 1, 2]);
    check_nodes("between(node(2), node(0))", &[]);
    check_nodes("body(node(5), body) & node(0)", &[]);
}

#[test]
fn what_facts_are_needed_for_is_refused_without_them() {
    let model = model();
    let selectors = Selectors::new(&model);
    for text in ["Relu()", "type(float)", "unknown()", "finding(x)"] {
        assert!(selectors.nodes(&selectors.parse(text).unwrap()).is_err(), "{text}");
    }
    for text in ["in(function(absent), all())", "body(all(), body)", "body(node(0), body)"] {
        assert!(selectors.elements(&selectors.parse(text).unwrap()).is_err(), "{text}");
    }
}

#[test]
fn work_is_limited() {
    let model = model();
    let limits = onnx_types::Limits::default().with_selector_steps(100);
    let selectors = Selectors::new(&model).with_limits(&limits);
    let text = "**s*, ".repeat(100) + "x";
    let error = selectors.nodes(&selectors.parse(&text).unwrap()).unwrap_err();
    assert_eq!(error.limit, Some("selector_steps"));
}

/// Random texts of the characters of selectors: they are refused, or resolved, or exceed the limit, and what is parsed is written
/// as a text that means the same.
#[test]
fn random_texts_are_refused_or_mean_what_they_are_written_as() {
    const PARTS: [&str; 44] = [
        "x", "node", "near", "in", "main", "body", "function", "up", "down", "between", "all", "inputs",
        "weights", "type", "rank", "bytes", "metadata", "(", "(", "(", ")", ")", ")", ",", "|", "&", "~",
        "<", ">", "=", "[", "]", "\"", "\\", "->", "*", "**", "?", "1", "9", " ", "/", ".", "\u{e9}",
    ];
    let model = model();
    let limits = onnx_types::Limits::default().with_selector_steps(10_000);
    let selectors = Selectors::new(&model).with_limits(&limits);
    let mut state = 88_172_645_463_325_252_u64;
    let mut parsed = 0;
    for _ in 0..40_000 {
        let mut text = String::new();
        for _ in 0..=state % 12 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            text.push_str(PARTS[(state >> 33) as usize % PARTS.len()]);
        }
        let Ok(selector) = Selector::parse(&text) else { continue };
        parsed += 1;
        let again = Selector::parse(&selector.to_string());
        let is_pattern = selector.to_string().contains(['<', '(']);
        assert!(
            again.as_ref() == Ok(&selector) || is_pattern && again.is_ok(),
            "{text} -> {selector}: {again:?}"
        );
        let first = selectors.elements(&selector).ok();
        assert_eq!(
            first,
            again.ok().and_then(|again| selectors.elements(&again).ok()),
            "{text} -> {selector}"
        );
        let _ = (selectors.nodes(&selector), selectors.values(&selector));
    }
    assert!(parsed > 2_000, "{parsed}");
}

/// The parser and the resolution are linear in the text, and take little stack.
#[test]
fn long_and_deep_texts_end() {
    let run = || {
        let model = model();
        let selectors = Selectors::new(&model);
        let deep = "(".repeat(79) + "x" + &")".repeat(79);
        assert_eq!(selectors.nodes(&Selector::parse(&deep).unwrap()).unwrap().len(), 1);
        let deep = "near(".repeat(79) + "x" + &", 1)".repeat(79);
        assert!(!selectors.nodes(&Selector::parse(&deep).unwrap()).unwrap().is_empty());
        for long in [
            "x,".repeat(500_000) + "x",
            "x&".repeat(500_000) + "x",
            "\"".to_owned() + &"a".repeat(1 << 20) + "\"",
        ] {
            let selector = Selector::parse(&long).unwrap();
            let _ = selectors.nodes(&selector);
        }
        for long in ["near(", "Relu(", "Relu<", "in(main(),", "\"\\u{", "a->", "~"] {
            assert!(Selector::parse(&long.repeat(200_000)).is_err(), "{long}");
        }
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap().join().unwrap();
}
