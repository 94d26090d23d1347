//! Functions and graphs that are nested deeply or widely cost time in proportion to the model.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fmt::Write as _;

use onnx_diag::Position;
use onnx_ir::{Model, ValueId};
use onnx_shape_infer::{InferOptions, Inference, Ty, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::{Dim, ElemType};

fn run(text: &str) -> (Model, Inference) {
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let inference = infer(&model, &InferOptions::default());
    (model, inference)
}

fn output(model: &Model) -> ValueId {
    model.graph(model.main_graph()).outputs()[0].value()
}

fn codes(inference: &Inference) -> Vec<String> {
    inference.findings().diagnostics().iter().map(|finding| finding.rule.id().to_string()).collect()
}

/// A model that calls the first of functions which `body` makes from their number, as text.
fn functions(count: usize, body: impl Fn(usize) -> String) -> String {
    let mut text = String::from(
        "<ir_version: 10, opset_import: [\"\" : 18, \"f\" : 1]>\n\
         g (float[N] x, bool c) => (float[] z) { y = f.f0 (x) z = Relu (y) }\n",
    );
    for number in 0..count {
        let last = number + 1 == count;
        let body = if last { "y = Relu (x)".to_owned() } else { body(number + 1) };
        let _ = writeln!(
            text,
            "<domain: \"f\", opset_import: [\"\" : 18, \"f\" : 1]> f{number} (x) => (y) {{ {body} }}"
        );
    }
    text
}

#[test]
fn functions_that_double_per_level() {
    let (model, inference) = run(&functions(200, |next| format!("a = f.f{next} (x) y = f.f{next} (a)")));
    assert_eq!(codes(&inference), [""; 0]);
    let symbol = model.names().get("N").unwrap();
    assert_eq!(inference.ty(output(&model)), Ty::tensor(ElemType::Float, [Dim::Var(symbol)]));
}

#[test]
fn calls_in_branches_double_per_level() {
    let (model, inference) = run(&functions(100, |next| {
        format!(
            "s = Shape (x) y = If <then_branch = t () => (p) {{ p = f.f{next} (x) }}, \
             else_branch = e () => (q) {{ q = f.f{next} (x) }}> (s)"
        )
    }));
    assert_eq!(codes(&inference), [""; 0]);
    assert!(inference.shape(output(&model)).is_some());
}

#[test]
fn a_chain_of_ten_thousand_functions() {
    let (model, inference) = run(&functions(10_000, |next| format!("a = f.f{next} (x) y = Relu (a)")));
    assert_eq!(codes(&inference), [""; 0]);
    assert_eq!(inference.shape(output(&model)).map(<[Dim]>::len), Some(1));
}

#[test]
fn a_chain_that_is_too_long_ends_with_a_finding() {
    let (model, inference) = run(&functions(20_000, |next| format!("y = f.f{next} (x)")));
    assert_eq!(codes(&inference), ["ONNX3018"]);
    assert_eq!(inference.shape(output(&model)), None);
}

/// Loops in each other, each of which makes the carried value longer.
fn loops(depth: usize, innermost: &str) -> String {
    let mut text = String::from(
        "<ir_version: 10, opset_import: [\"\" : 18]>\n\
         g (float[N, 4] x, int64 n, bool c) => (float[] z) { ",
    );
    for level in 0..depth {
        let (name, from) = (if level == 0 { "z".to_owned() } else { format!("w{level}") }, level);
        let carried = if level == 0 { "x".to_owned() } else { format!("v{from}") };
        let inside = level + 1;
        // The input of the loop comes after its body.
        let _ =
            write!(text, "{name} = Loop <body = b{inside} (i{inside}, c{inside}, v{inside}) => (c{inside}, ");
        let result = if inside == depth { "r".to_owned() } else { format!("w{inside}") };
        let _ = write!(text, "{result}) {{ ");
        let _ = carried;
    }
    text.push_str(innermost);
    for level in (0..depth).rev() {
        let carried = if level == 0 { "x".to_owned() } else { format!("v{level}") };
        let _ = write!(text, " }}> (n, c, {carried})");
    }
    text.push_str(" }");
    text
}

#[test]
fn loops_in_loops_stay_within_the_limit() {
    for (innermost, same) in [("r = Relu (v50)", true), ("r = Concat <axis = 0> (v50, x)", false)] {
        let (model, inference) = run(&loops(50, innermost));
        assert_eq!(codes(&inference), [""; 0]);
        let dims = inference.shape(output(&model)).unwrap();
        let symbol = model.names().get("N").unwrap();
        assert_eq!(dims.len(), 2);
        assert_eq!(dims[0] == Dim::Var(symbol), same);
        assert_eq!(dims[1], Dim::Known(4));
    }
}

/// A value that moves on by one place per run changes one more carried value per visit: all are dropped soon.
#[test]
fn values_that_move_on_from_run_to_run() {
    let count = 300;
    let names = |prefix: &str| (0..count).map(|at| format!("{prefix}{at}")).collect::<Vec<_>>().join(", ");
    let mut body = String::new();
    for at in 1..count {
        let _ = writeln!(body, "r{at} = Relu (v{})", at - 1);
    }
    let initial = vec!["x"; count].join(", ");
    let text = format!(
        "<ir_version: 10, opset_import: [\"\" : 18]>\n\
         g (float[N, 4] x, float[N, 5] y, int64 n, bool c) => (float[] o0) {{ {} = Loop <body = b (i, go, {}) => (go, {}) {{ \
         r0 = Concat <axis = 1> (v0, x) {body} }}> (n, c, {initial}) }}",
        names("o"),
        names("v"),
        names("r"),
    );
    let (model, inference) = run(&text);
    assert_eq!(codes(&inference), [""; 0]);
    let graph = model.main_graph();
    let node = model.graph(graph).first().unwrap();
    for &value in model.node(node).outputs().iter().flatten() {
        assert_eq!(inference.elem(value), Some(ElemType::Float));
        // The last ones only become longer after 300 runs, but they do.
        assert!(inference.shape(value).is_none_or(|dims| dims[1] != Dim::Known(4)));
    }
}

#[test]
fn a_limit_leaves_no_claims_about_bodies() {
    let model = parse_model(loops(50, "r = Concat <axis = 0> (v50, x)"), &ParseOptions::default()).unwrap();
    let mut options = InferOptions::default();
    options.execution.limits.inference_depth = 20;
    let inference = infer(&model, &options);
    assert_eq!(codes(&inference), ["ONNX3018"]);
    for graph in model.all_graphs() {
        for node in model.nodes(graph) {
            for &value in model.node(node).outputs().iter().flatten() {
                let dims = inference.shape(value);
                assert!(dims.is_none_or(|dims| dims[0].known().is_none()), "{value:?} {dims:?}");
            }
        }
    }
}

#[test]
fn findings_in_nested_graphs_and_functions_name_the_whole_way() {
    let text = r#"
<ir_version: 10, opset_import: ["" : 18, "own" : 1]>
g (bool c, float[2] x, float[3] y) => (float[] z, float[] w)
{
   z = If (c) <then_branch = inner () => (float[] a) {
      b = Neg (x)
      a = Add (b, y)
   }, else_branch = other () => (float[] e) {
      e = Neg (x)
   }>
   w = own.both (x, y)
}
<opset_import: ["" : 18], domain: "own">
both (p, q) => (r)
{
   r = Mul (p, q)
}
"#;
    let (_, inference) = run(text);
    let found: Vec<String> = inference
        .findings()
        .diagnostics()
        .iter()
        .map(|found| match found.locus.position() {
            Some(Position::Text { line, column, .. }) => format!("{line}:{column}: {}", found.locus),
            _ => found.locus.to_string(),
        })
        .collect();
    let nested = r#"7:7: graph "g" / node #0 If / attribute "then_branch" / graph "inner" / node #1 Add"#;
    assert_eq!(found, [nested, r#"16:4: function "both" of domain "own" / node #0 Mul"#]);
}
