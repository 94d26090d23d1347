//! Rules on models.

use onnx_pass::{PassCx, PassOptions};
use onnx_rewrite::RuleSet;
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_graph};

/// Applies rules to a graph, and compares the nodes.
fn check(rules: &str, graph: &str, nodes: &str) {
    let rules = if rules.is_empty() { RuleSet::standard().unwrap() } else { RuleSet::parse(rules).unwrap() };
    let text = format!("<ir_version: 10, opset_import: [\"\": 20]> {graph}");
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let report = rules.apply(&mut cx);
    assert!(report.refusals.is_empty(), "{:?}", report.refusals);
    drop(cx);
    model.verify_sorted().unwrap();
    let printed = print_graph(&model, model.main_graph(), &PrintOptions::default()).unwrap().text;
    let body = printed.split_once("{\n").unwrap().1.rsplit_once('}').unwrap().0;
    let lines = |text: &str| {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(lines(body), lines(nodes), "{printed}");
}

#[test]
fn transpositions_are_composed() {
    check(
        "",
        "g (float[2,3,4] x) => (float[4,3,2] y) { a = Transpose <perm = [1, 0, 2]> (x) b = Neg (a) c = Transpose (b) d = Transpose <perm = [2, 0, 1]> (c) y = Relu (d) }",
        "a = Transpose <perm = [1, 0, 2]> (x)
         b = Neg (a)
         val_0 = Transpose <perm = [0, 2, 1]> (b)
         y = Relu (val_0)",
    );
}
