//! Selection: selectors of elements, facts, patterns, and limits.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use onnx_ir::{Model, Owner};
use onnx_select::{Element, ModelFacts, SelectError, Selection, Selectors};
use onnx_smith::{SmithOptions, from_seed};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::{Execution, Limits};

fn parsed(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

/// Every node, value and graph of a generated model has a selector, and it denotes exactly this element.
#[test]
fn every_element_has_a_selector_that_denotes_it() {
    let mut count = 0;
    for seed in 0..150 {
        let model = from_seed(seed, &SmithOptions::default()).model;
        let facts = ModelFacts::new(&model);
        let selection = Selection::new(&facts);
        let check = |element: Element| {
            let text = selection.selectors().text(element);
            let text = text.unwrap_or_else(|| panic!("{seed}: {element:?} has no selector"));
            let found = match element {
                Element::Node(_) => selection.nodes(&text).unwrap().into_iter().map(Element::Node).collect(),
                Element::Value(_) => {
                    selection.values(&text).unwrap().into_iter().map(Element::Value).collect()
                }
                Element::Graph(_) => selection.elements(&text).unwrap(),
            };
            assert_eq!(found, [element], "{seed}: {text}");
        };
        for graph in model.all_graphs() {
            if matches!(model.graph(model.root(graph)).owner(), Owner::Initialization | Owner::Algorithm) {
                continue;
            }
            check(Element::Graph(graph));
            model.nodes(graph).map(Element::Node).for_each(check);
            for value in model.definitions(graph) {
                check(Element::Value(value));
                count += 1;
            }
        }
    }
    assert!(count > 2_000, "{count}");
}

/// The sets of a model, computed by their definitions.
#[test]
fn flow_is_reachability() {
    for seed in 0..60 {
        let model = from_seed(seed, &SmithOptions::default()).model;
        let facts = ModelFacts::new(&model);
        let selection = Selection::new(&facts);
        let nodes: Vec<_> = model.nodes(model.main_graph()).collect();
        for (index, &node) in nodes.iter().enumerate() {
            let below = selection.nodes(&format!("down(node({index}))")).unwrap();
            for (other, &user) in nodes.iter().enumerate() {
                let above = selection.nodes(&format!("up(node({other}))")).unwrap();
                assert_eq!(below.contains(&user), above.contains(&node), "{seed}: {index} {other}");
            }
            let near = selection.nodes(&format!("near(node({index}), 1)")).unwrap();
            let mut both =
                selection.nodes(&format!("up(node({index}), 1) | down(node({index}), 1)")).unwrap();
            both.sort_by_key(|node| nodes.iter().position(|other| other == node));
            assert_eq!(near, both, "{seed}: {index}");
        }
    }
}

#[test]
fn errors_list_candidates() {
    let model = parsed(
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) {
        ["/a/relu"] logits = Relu (x) ["/a/exp"] h = Exp (logits) y = Add (h, h) }"#,
    );
    let facts = ModelFacts::new(&model);
    let selection = Selection::new(&facts);
    for (text, candidates) in
        [("/a", &["/a/**"][..]), ("logit", &["logits"]), ("/a/exq", &["/a/exp"]), ("zzz", &[]), ("l", &[])]
    {
        let error = selection.nodes(text).unwrap_err();
        assert_eq!(error.candidates(), candidates, "{text}");
        assert_eq!(error.to_string(), format!("no node of the model matches `{text}`"));
    }
    let error = selection.node("Relu() | Exp()").unwrap_err();
    assert_eq!(error.candidates(), ["node(0)", "node(1)"]);
    assert_eq!(error.to_string(), "2 nodes of the model match `Relu() | Exp()`, and one is needed");
    // A name that is misspelled in a list is not left out.
    let error = selection.nodes("logits, absent").unwrap_err();
    assert_eq!(error.to_string(), "no node of the model matches `absent`");
    let error = selection.nodes("Relu(x)").unwrap_err();
    assert!(matches!(&error, SelectError::Malformed { error, .. } if error.offset == Some(6)), "{error}");
}

/// A search that is not completed is an error, never a smaller set.
#[test]
fn exponential_patterns_end_with_the_limit() {
    let mut text = String::from(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[2] x) => (float[2] y) { v0 = Relu (x)\n",
    );
    for index in 1..40 {
        text.push_str(&format!("v{index} = Add (v{}, v{})\n", index - 1, index / 2));
    }
    text.push_str("y = Neg (v39) }");
    let model = parsed(&text);
    let limits = Limits::default().with_selector_steps(200_000);
    let facts = ModelFacts::new(&model).with_execution(Execution::from(limits));
    let selection = Selection::new(&facts);
    let deep = format!("{}\"absent\"{}", "Add(".repeat(30), ", _)".repeat(30));
    let error = selection.nodes(&deep).unwrap_err();
    assert_eq!(error.limit(), Some("selector_steps"), "{error}");
    assert_eq!(selection.nodes("Add(Add(Add(_)))").unwrap().len(), 37);
    // Long and deep patterns are refused.
    for text in [
        "Add(".repeat(200_000),
        "Relu() -> ".repeat(20_000) + "Relu()",
        format!("Add<a = \"{}\">()", "x".repeat(1 << 20)),
    ] {
        assert!(selection.nodes(&text).is_err());
    }
    let many = "Add(_) | ".repeat(100_000) + "Add()";
    let limited = selection.nodes(&many).unwrap_err();
    assert_eq!(limited.limit(), Some("selector_steps"));
}

/// A node with very many operands, and a value with very many users.
#[test]
fn fan_in_and_fan_out_are_linear() {
    let count = 20_000;
    let mut text =
        String::from("<ir_version: 10, opset_import: [\"\": 21]> g (float[2] x) => (float[2] y) {\n");
    for index in 0..count {
        text.push_str(&format!("v{index} = Relu (x)\n"));
    }
    let names: Vec<String> = (0..count).map(|index| format!("v{index}")).collect();
    text.push_str(&format!("y = Concat <axis = 0> ({}) }}", names.join(", ")));
    let model = parsed(&text);
    let facts = ModelFacts::new(&model);
    let selection = Selection::new(&facts);
    assert_eq!(selection.nodes("\"v19999\" -> Concat()").unwrap().len(), 1);
    assert_eq!(selection.nodes("Relu() -> Concat()").unwrap().len(), 1);
    assert_eq!(selection.nodes("down(node(0))").unwrap().len(), 2);
    assert_eq!(selection.nodes("up(y)").unwrap().len(), count + 1);
    assert_eq!(selection.nodes("between(x, y)").unwrap().len(), count + 1);
    assert_eq!(selection.values("v1999?").unwrap().len(), 10);
}

/// Random texts never panic, whatever the facts are that they ask for.
#[test]
fn random_selectors_end() {
    const PARTS: [&str; 38] = [
        "x",
        "y",
        "v*",
        "Relu()",
        "Add(_, \"x\")",
        "Add",
        "<alpha = 0.5>",
        "<",
        "(",
        ")",
        "_",
        "0.0",
        "[1, 2]",
        ",",
        "|",
        "&",
        "~",
        "->",
        "type(",
        "float",
        "rank(",
        ">",
        "2",
        "bytes(",
        "MB",
        "unknown()",
        "constant()",
        "finding(",
        "ONNX2001",
        "all()",
        "\"",
        "up(",
        "between(",
        "in(main(),",
        "metadata(",
        "*",
        "@p",
        "...",
    ];
    let model = from_seed(3, &SmithOptions::default()).model;
    let limits = Limits::default().with_selector_steps(100_000);
    let facts = ModelFacts::new(&model).with_execution(Execution::from(limits));
    let selection = Selection::new(&facts);
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut resolved = 0;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..=state % 10 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            text.push_str(PARTS[(state >> 33) as usize % PARTS.len()]);
        }
        let found = (selection.nodes(&text), selection.values(&text), selection.elements(&text));
        resolved += usize::from(found.2.is_ok());
    }
    assert!(resolved > 500, "{resolved}");
    let _ = Selectors::new(&model);
}

/// Operators of other domains have their domain in patterns: the candidates do, and each denotes something.
#[test]
fn candidates_name_the_domain_of_an_operator() {
    let text = r#"<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1, "ai.onnx.ml": 3]>
    g (float[N, 4] x) => (float[N, 4] y) {
       ZipMap = com.microsoft.FusedMatMul <alpha = 2.0> (x, x)
       a = com.microsoft.FusedMatMul <alpha = 2.0> (ZipMap, x)
       b = ai.onnx.ml.ZipMap (a)
       y = Relu (b)
    }"#;
    let model = parsed(text);
    let facts = ModelFacts::new(&model);
    let selection = Selection::new(&facts);
    for (text, candidate) in [
        ("FusedMatMul()", "com.microsoft.FusedMatMul()"),
        ("FusedMatMul", "com.microsoft.FusedMatMul()"),
        ("FusedMatMull()", "com.microsoft.FusedMatMul()"),
        ("com.microsoft::FusedMatMul()", "com.microsoft.FusedMatMul()"),
        ("com.microsft.FusedMatMul()", "com.microsoft.FusedMatMul()"),
        ("FusedMatMul<alpha=2.0>()", "com.microsoft.FusedMatMul<alpha=2.0>()"),
        ("FusedMatMul<alpha=3.0>()", "com.microsoft.FusedMatMul()"),
        ("down(FusedMatMul(), 1)", "down(com.microsoft.FusedMatMul(), 1)"),
        ("FusedMatMul() -> ZipMap()", "com.microsoft.FusedMatMul() -> ai.onnx.ml.ZipMap()"),
        ("ZipMap()", "ai.onnx.ml.ZipMap()"),
        ("ai.onnx.ml::ZipMap()", "ai.onnx.ml.ZipMap()"),
        ("ai.onnx::Relu()", "Relu()"),
        ("Rellu()", "Relu()"),
    ] {
        assert_eq!(selection.candidates(text), [candidate], "{text}");
        assert!(!selection.elements(candidate).unwrap().is_empty(), "{candidate}");
    }
}
