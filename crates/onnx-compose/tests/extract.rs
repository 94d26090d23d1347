//! Extraction: what becomes the model, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test")]

use onnx_check::{CheckOptions, check};
use onnx_compose::{ComposeError, ExtractOptions, extract, extract_nodes};
use onnx_ir::{Model, ValueId};
use onnx_select::Selectors;
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

fn model(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

fn print(model: &Model) -> String {
    print_model(model, &PrintOptions::default()).unwrap().text
}

fn values(model: &Model, selector: &str) -> Vec<ValueId> {
    let selectors = Selectors::new(model);
    selectors.values(&selectors.parse(selector).unwrap()).unwrap()
}

fn valid(model: &Model) {
    model.verify().unwrap();
    let found = check(model, &CheckOptions::default());
    assert!(!found.has_errors(), "{:?}\n{}", found.diagnostics(), print(model));
}

fn extracted(text: &str, inputs: &[&str], outputs: &[&str]) -> Model {
    let mut model = model(text);
    let all = |names: &[&str]| names.iter().flat_map(|name| values(&model, name)).collect::<Vec<_>>();
    let (inputs, outputs) = (all(inputs), all(outputs));
    let inputs = (!inputs.is_empty()).then_some(inputs.as_slice());
    extract(&mut model, inputs, &outputs, &ExtractOptions::default()).unwrap();
    valid(&model);
    model
}

const CHAIN: &str = r#"<ir_version: 10, opset_import: ["": 21, "my": 1], metadata_props: ["author": "me"]>
g (float[N, 4] x, float[4] bias) => (float[N, 4] y, float[N, 4] z) <float[4] w = {1, 2, 3, 4}, float[4] v = {0, 0, 0, 0}> {
   a = Relu (x)
   b = Add (a, w)
   c = my.Twice (b)
   y = Add (c, bias)
   z = my.Unused (a)
}
<domain: "my", opset_import: ["": 21]> Twice (p) => (q) { q = Add (p, p) }
<domain: "my", opset_import: ["": 21]> Unused (p) => (q) { q = Neg (p) }"#;

#[test]
fn the_part_between_values_has_the_weights_functions_and_metadata_that_it_needs() {
    let part = extracted(CHAIN, &["a"], &["c"]);
    let text = print(&part);
    assert!(text.contains("(float[N,4] a) => (float[N,4] c)"), "{text}");
    assert!(text.contains("Twice") && !text.contains("Unused"), "{text}");
    assert!(text.contains(" w = ") && !text.contains(" v = "), "{text}");
    assert!(text.contains("author"), "{text}");
    assert_eq!(part.node_count(), 3);
}

#[test]
fn without_inputs_they_are_those_that_the_outputs_need() {
    assert!(print(&extracted(CHAIN, &[], &["z"])).contains("(float[N,4] x) => (float[N,4] z)"));
}

#[test]
fn the_order_of_inputs_and_outputs_is_that_of_the_request() {
    let text = print(&extracted(CHAIN, &["bias", "a"], &["z", "y"]));
    assert!(text.contains("(float[4] bias, float[N,4] a) => (float[N,4] z, float[N,4] y)"), "{text}");
}

#[test]
fn everything_is_the_model() {
    let text = CHAIN.replace(", float[4] v = {0, 0, 0, 0}", "");
    let before = print(&model(&text));
    assert_eq!(print(&extracted(&text, &["x", "bias"], &["y", "z"])), before);
}

#[test]
fn every_path_that_is_not_cut_is_reported_and_the_model_stays() {
    let mut model = model(CHAIN);
    let before = print(&model);
    let [a, y] = ["b", "y"].map(|name| values(&model, name)[0]);
    let [z] = ["z"].map(|name| values(&model, name)[0]);
    let error = extract(&mut model, Some(&[a]), &[y, z], &ExtractOptions::default()).unwrap_err();
    let ComposeError::Uncovered(paths) = &error else { panic!("{error}") };
    let mut paths: Vec<String> = paths.iter().map(|path| path.path.join(" ")).collect();
    paths.sort();
    assert_eq!(paths, ["bias y", "x a z"]);
    assert_eq!(error.findings(&model).diagnostics().len(), 2);
    assert_eq!(print(&model), before);
}

#[test]
fn a_part_whose_input_has_no_type_is_refused() {
    let mut model = model(
        r#"<ir_version: 10, opset_import: ["": 21, "acme": 1]>
        g (float[4] x) => (float[4] y) { a = acme.Op (x)  y = Relu (a) }"#,
    );
    let [a, y] = ["a", "y"].map(|name| values(&model, name)[0]);
    let error = extract(&mut model, Some(&[a]), &[y], &ExtractOptions::default()).unwrap_err();
    assert!(matches!(&error, ComposeError::UnknownType(unknown, _) if unknown == &[a]), "{error}");
    assert_eq!(model.node_count(), 2);
}

#[test]
fn a_part_whose_output_has_no_rank_is_refused() {
    let mut model = model(
        r#"<ir_version: 10, opset_import: ["": 21, "acme": 1]>
        g (float[4] x) => (float[4] y) <float b> { a = acme.Op (x)  b = Identity (a)  c = Cast <to = 1> (a)  y = Relu (c) }"#,
    );
    let c = values(&model, "c");
    let error = extract(&mut model, None, &c, &ExtractOptions::default()).unwrap_err();
    assert!(matches!(&error, ComposeError::UnknownType(..)), "{error}");
}

const BRANCHES: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (bool c, float[N] x) => (float[N] y) <float[1] w = {2}> {
   a = Relu (x)
   y = If (c) <
      then_branch = t () => (r) { n = Neg (a)  m = Mul (n, w)  r = Exp (m) },
      else_branch = e () => (s) { s = Abs (x) }
   >
}"#;

#[test]
fn captures_of_a_nested_graph_become_inputs() {
    let mut model = model(BRANCHES);
    let values = ["n", "r"].map(|name| values(&model, name)[0]);
    extract(&mut model, Some(&values[..1]), &values[1..], &ExtractOptions::default()).unwrap();
    valid(&model);
    let text = print(&model);
    assert!(text.contains("t (float[N] n) => (float[N] r)"), "{text}");
    let mut model = self::model(BRANCHES);
    let r = self::values(&model, "r");
    extract(&mut model, None, &r, &ExtractOptions::default()).unwrap();
    valid(&model);
    assert!(print(&model).contains("t (float[N] a) => (float[N] r)"), "{}", print(&model));
    assert_eq!(model.node_count(), 3);
}

#[test]
fn nodes_with_nested_graphs_keep_what_these_capture() {
    let part = extracted(BRANCHES, &["c", "a", "x"], &["y"]);
    assert_eq!(part.node_count(), 5);
}

#[test]
fn a_part_of_a_body_has_the_operator_sets_of_the_function() {
    let text = r#"<ir_version: 10, opset_import: ["": 21, "my": 1]>
    g (float[N] x) => (float[N] y) { y = my.F (x) }
    <domain: "my", opset_import: ["": 20]> F <alpha: float = 0.5> (p) => (q) <float[N] p, float[N] a, float[N] q> {
       a = LeakyRelu <alpha: float = @alpha> (p)
       q = Neg (a)
    }"#;
    let mut model = model(text);
    let a = values(&model, "in(function(my.F), a)");
    extract(&mut model, None, &a, &ExtractOptions::default()).unwrap();
    valid(&model);
    let printed = print(&model);
    assert!(
        printed.contains("\"\": 20") && printed.contains("0.5") && !printed.contains("domain:"),
        "{printed}"
    );

    let mut model = self::model(&text.replace("<alpha: float = 0.5>", "<alpha>"));
    let a = values(&model, "in(function(my.F), a)");
    let error = extract(&mut model, None, &a, &ExtractOptions::default()).unwrap_err();
    assert!(error.to_string().contains("attribute `alpha` of the call"), "{error}");
}

#[test]
fn selected_nodes_have_the_boundary_that_the_others_require() {
    let mut model = model(CHAIN);
    let nodes: Vec<_> = model.nodes(model.main_graph()).collect();
    extract_nodes(&mut model, &nodes[..2], &ExtractOptions::default()).unwrap();
    valid(&model);
    assert!(print(&model).contains("(float[N,4] x) => (float[N,4] a, float[N,4] b)"), "{}", print(&model));
}

#[test]
fn a_sibling_of_a_cut_output_stays() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[4] x) => (float[2] y) { a, b = Split <num_outputs = 2> (x)  y = Add (a, b) }"#;
    let part = extracted(text, &["a", "x"], &["y"]);
    assert_eq!(part.node_count(), 2);
}

#[test]
fn requests_without_a_part_are_refused() {
    let mut model = model(BRANCHES);
    let [n, y] = ["n", "y"].map(|name| values(&model, name)[0]);
    let options = ExtractOptions::default();
    for result in [
        extract(&mut model, None, &[], &options),
        extract(&mut model, None, &[n, y], &options),
        extract(&mut model, Some(&[n]), &[y], &options),
        extract_nodes(&mut model, &[], &options),
    ] {
        assert!(matches!(result, Err(ComposeError::Refused(..))), "{result:?}");
    }
    valid(&model);
}
