//! Splitting: where models are cut, and the interfaces of the parts.

#![allow(clippy::unwrap_used, reason = "a test")]

use onnx_check::{CheckOptions, check};
use onnx_compose::{ComposeError, Parts, SplitOptions, SplitPart, split};
use onnx_ir::Model;
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

fn model(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

fn print(model: &Model) -> String {
    print_model(model, &PrintOptions::default()).unwrap().text
}

fn parts(text: &str, parts: Parts) -> Vec<SplitPart> {
    let parts = split(&model(text), parts, &SplitOptions::default()).unwrap();
    for part in &parts {
        part.model.verify().unwrap();
        let found = check(&part.model, &CheckOptions::default());
        assert!(!found.has_errors(), "{:?}\n{}", found.diagnostics(), print(&part.model));
    }
    parts
}

/// The interface of each part.
fn interfaces(parts: &[SplitPart]) -> Vec<String> {
    let names = |model: &Model, values: Vec<onnx_ir::ValueId>| {
        values
            .iter()
            .map(|&value| model.str(model.value(value).name()).to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let interface = |part: &SplitPart| {
        let graph = part.model.graph(part.model.main_graph());
        let inputs = names(&part.model, graph.inputs().to_vec());
        let outputs = names(&part.model, graph.outputs().iter().map(onnx_ir::GraphOutput::value).collect());
        format!("{inputs} -> {outputs}")
    };
    parts.iter().map(interface).collect()
}

const LAYERS: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N, 2] x, float[N, 2] bias, float[N, 2] rest) => (float[N, 2] y, float[N, 2] b)
<float[2, 2] w0 = {1, 2, 3, 4}, float[2, 2] w1 = {1, 2, 3, 4}, float[2, 2] w2 = {1, 2, 3, 4}, float[2, 2] w3 = {1, 2, 3, 4}> {
   one = Constant <value_float = 1.0> ()
   a = MatMul (x, w0)
   b = Add (a, one)
   c = MatMul (b, w1)
   d = Add (c, bias)
   e = MatMul (d, w2)
   f = Add (e, b)
   g = MatMul (f, w3)
   h = Add (g, bias)
   y = Mul (h, one)
}"#;

/// What exporters compute from weights at the beginning would cross every cut.
#[test]
fn values_that_depend_on_weights_only_are_in_the_first_part_that_uses_them() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[N, 2] x) => (float[N, 2] y, float[2, 2] k)
    <int8[2, 2] w0 = {1, 2, 3, 4}, int8[2, 2] w1 = {1, 2, 3, 4}, float s = {0.5}> {
       d0 = DequantizeLinear (w0, s)
       d1 = DequantizeLinear (w1, s)
       t1 = Transpose <perm = [1, 0]> (d1)
       k = Neg (t1)
       a = MatMul (x, d0)
       b = Relu (a)
       c = MatMul (b, t1)
       y = Add (c, b)
    }"#;
    let parts = parts(text, Parts::Count(2));
    assert_eq!(interfaces(&parts), ["x -> a", "a -> y k"]);
}

#[test]
fn parts_have_what_they_need_and_later_parts_use() {
    let parts = parts(LAYERS, Parts::Count(2));
    assert_eq!(interfaces(&parts), ["x bias rest -> b d", "bias b d -> y"]);
    assert_eq!(parts.iter().map(|part| part.weight_bytes).collect::<Vec<_>>(), [32, 32]);
    // Every part that uses a constant has it.
    assert!(parts.iter().all(|part| print(&part.model).contains("Constant")));
    assert!(print(&parts[1].model).contains("float[N,2] d"), "{}", print(&parts[1].model));
}

#[test]
fn bytes_and_nodes_are_balanced() {
    let four = parts(LAYERS, Parts::Count(4));
    assert_eq!(four.iter().map(|part| part.weight_bytes).collect::<Vec<_>>(), [16, 16, 16, 16]);
    let nodes = parts(LAYERS, Parts::CountByNodes(3));
    assert_eq!(nodes.len(), 3);
    assert!(nodes.iter().all(|part| (3..=4).contains(&part.model.node_count())), "{:?}", interfaces(&nodes));
    let bytes = parts(LAYERS, Parts::Bytes(40));
    assert_eq!(bytes.iter().map(|part| part.weight_bytes).collect::<Vec<_>>(), [32, 32]);
    // A node that needs more has a separate part.
    assert_eq!(parts(LAYERS, Parts::Bytes(1)).iter().filter(|part| part.weight_bytes == 16).count(), 4);
    assert_eq!(interfaces(&parts(LAYERS, Parts::Bytes(1_000))), ["x bias rest -> y b"]);
    assert_eq!(parts(LAYERS, Parts::Count(1)).len(), 1);
}

#[test]
fn a_model_is_not_cut_where_types_are_unknown() {
    let text = r#"<ir_version: 10, opset_import: ["": 21, "acme": 1]>
    g (float[4] x) => (float[4] y) { a = Neg (x)  b = acme.Op (a)  c = acme.Op (b)  y = Abs (c) }"#;
    assert_eq!(interfaces(&parts(text, Parts::Count(2))), ["x -> a", "a -> y"]);
    let whole = model(text);
    let error = split(&whole, Parts::Count(3), &SplitOptions::default()).unwrap_err();
    let expected =
        "the model can be cut into at most 2 parts, because types are not known elsewhere, not into 3";
    assert_eq!(error.to_string(), expected);
    assert!(matches!(error, ComposeError::Advised(_, Some(_), _)));
    assert!(split(&whole, Parts::Count(0), &SplitOptions::default()).is_err());
}

#[test]
fn the_point_that_the_fewest_values_cross_is_cut() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[4] x) => (float[4] y) {
       a = Neg (x)  b = Abs (a)  c = Exp (a)  d = Add (b, c)
       e = Neg (d)  f = Abs (e)  p = Neg (f)  q = Exp (f)  r = Add (p, q)
       s = Neg (r)  t = Abs (s)  u = Exp (s)  v = Add (t, u)  w = Neg (v)  y = Abs (w)
    }"#;
    assert_eq!(interfaces(&parts(text, Parts::CountByNodes(2))), ["x -> f", "f -> y"]);
}

#[test]
fn outputs_that_nodes_do_not_make_are_of_the_last_part() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[4] x, float[4] z) => (float[4] y, float[4] z, float[4] w) <float[4] w = {1, 2, 3, 4}> {
       a = Neg (x)  y = Abs (a)
    }"#;
    assert_eq!(interfaces(&parts(text, Parts::Count(2))), ["x -> a", "z a -> y z w"]);
}

#[test]
fn captures_of_nested_graphs_and_dead_nodes_are_considered() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (bool c, float[4] x) => (float[4] y) {
       a = Neg (x)
       dead = Exp (a)
       b = Abs (a)
       y = If (c) <
          then_branch = t () => (r) { r = Add (a, b) },
          else_branch = e () => (s) { s = Sub (b, x) }
       >
    }"#;
    let parts = parts(text, Parts::CountByNodes(3));
    assert_eq!(interfaces(&parts), ["x -> a", "a -> b", "c x a b -> y"]);
}
