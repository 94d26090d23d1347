//! Reduction of models.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use std::convert::Infallible;

use onnx_check::{CheckOptions, check};
use onnx_compose::{ReduceError, ReduceOptions, Reduction, reduce};
use onnx_ir::Model;
use onnx_pass::Trial;
use onnx_smith::{SmithOptions, from_seed};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::{Execution, Limits};

fn parsed(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

fn has_op(model: &Model, op: &str) -> bool {
    let mut graphs = model.all_graphs();
    graphs.any(|graph| model.nodes(graph).any(|node| model.str(model.node(node).op()) == op))
}

fn while_holds(model: &Model, mut holds: impl FnMut(&Model) -> bool) -> Reduction {
    let trial = |model: &Model| Ok::<_, Infallible>(if holds(model) { Trial::Bad } else { Trial::Good });
    reduce(model, &ReduceOptions::default(), trial).unwrap()
}

fn chain(length: usize, middle: &str) -> Model {
    let mut text = String::from(
        "<ir_version: 10, opset_import: [\"\": 21, \"ai.onnx.ml\": 3]> g (float[N, 64] x) => (float[N, 64] y) <float[64] w = {",
    );
    text.push_str(&vec!["1.5"; 64].join(", "));
    text.push_str("}> {\nv0 = Add (x, w)\n");
    for index in 1..length {
        let op = if index == length / 2 { middle } else { "Relu" };
        text.push_str(&format!("[\"node {index}\"] v{index} = {op} (v{})\n", index - 1));
    }
    text.push_str(&format!("y = Add (v{}, w) }}", length - 1));
    parsed(&text)
}

#[test]
fn one_node_of_many_remains() {
    let done = while_holds(&chain(200, "Erf"), |model| has_op(model, "Erf"));
    let graph = done.model.graph(done.model.main_graph());
    assert_eq!((done.model.node_count(), graph.inputs().len(), graph.outputs().len()), (1, 1, 1));
    assert_eq!(done.model.initializers(done.model.main_graph()).count(), 0);
    assert_eq!(done.model.info().opset_imports.len(), 1);
    assert!(!check(&done.model, &CheckOptions::default()).has_errors());
    assert!(done.attempts < 120, "{}", done.attempts);
    assert!(!done.is_limited);
}

#[test]
fn what_the_failure_needs_remains() {
    // Two nodes that are far apart, and one of the weights.
    let done = while_holds(&chain(100, "Erf"), |model| has_op(model, "Erf") && has_op(model, "Add"));
    assert_eq!(done.model.node_count(), 2);
    let wide = |model: &Model| {
        let size = |value| model.ty(value).and_then(|ty| ty.shape()?.dims().last()?.known());
        let inputs = model.graph(model.main_graph()).inputs();
        has_op(model, "Erf") && inputs.iter().any(|&value| size(value).is_some_and(|size| size >= 5))
    };
    let done = while_holds(&chain(20, "Erf"), wide);
    let input = done.model.graph(done.model.main_graph()).inputs()[0];
    let size = done.model.ty(input).unwrap().shape().unwrap().dims()[1].known();
    assert_eq!(size, Some(8), "64 is halved while it is at least 5");
}

#[test]
fn what_cannot_be_reduced_is_refused() {
    let model = chain(5, "Erf");
    let answer = |trial: Trial| reduce(&model, &ReduceOptions::default(), |_| Ok::<_, Infallible>(trial));
    assert!(matches!(answer(Trial::Good), Err(ReduceError::NotBad)));
    assert!(matches!(answer(Trial::Undecided), Err(ReduceError::Undecided)));
    let failed = reduce(&model, &ReduceOptions::default(), |_| Err("no"));
    assert!(matches!(failed, Err(ReduceError::Trial("no"))));
}

#[test]
fn the_number_of_attempts_is_limited() {
    let limits = Limits::default().with_reduce_attempts(5);
    let options = ReduceOptions::default().with_execution(Execution::from(limits));
    let mut count = 0;
    let done = reduce(&chain(50, "Erf"), &options, |model| {
        count += 1;
        Ok::<_, Infallible>(if has_op(model, "Erf") { Trial::Bad } else { Trial::Good })
    });
    let done = done.unwrap();
    assert!(done.is_limited);
    assert_eq!((count, done.attempts), (5, 5));
    assert!(has_op(&done.model, "Erf"));
}

/// On generated models: the property holds, every model that is tried is valid, and the same models are tried again.
#[test]
fn generated_models_are_reduced_deterministically_to_valid_models() {
    for seed in 0..25 {
        let model = from_seed(seed, &SmithOptions::default()).model;
        let last = model.nodes(model.main_graph()).last();
        let Some(op) = last.map(|node| model.str(model.node(node).op()).to_owned()) else { continue };
        let run = || {
            let mut tried = Vec::new();
            let done = while_holds(&model, |model| {
                assert!(!check(model, &CheckOptions::default()).has_errors(), "{seed}");
                tried.push(model.node_count());
                has_op(model, &op)
            });
            assert!(has_op(&done.model, &op), "{seed}");
            assert!(done.model.node_count() <= model.node_count());
            (tried, done.model.node_count())
        };
        assert_eq!(run(), run(), "{seed}");
    }
}

/// The declared sizes of the inputs and outputs of all graphs, `0` for those that are not numbers.
fn declared(model: &Model) -> Vec<(String, Vec<i64>)> {
    let graphs = model.all_graphs().map(|graph| model.graph(graph));
    let values = graphs.flat_map(|graph| {
        graph.inputs().iter().copied().chain(graph.outputs().iter().map(onnx_ir::GraphOutput::value))
    });
    let sizes = values.filter_map(|value| {
        let dims = model.ty(value)?.shape()?.dims().iter().map(|dim| dim.known().unwrap_or(0)).collect();
        Some((model.str(model.value(value).name()).to_owned(), dims))
    });
    sizes.collect()
}

#[test]
fn inputs_of_nested_graphs_follow_the_new_sizes() {
    for carried in ["float[]", "float[N, 4]"] {
        let model = parsed(&format!(
            "<ir_version: 9, opset_import: [\"\": 18]>
            g (float[N, 4] x, int64 n) => (float[N, 4] y) {{
               y = Loop (n, \"\", x) <body = b (int64[1] i, bool c, {carried} s) => (bool d, {carried} t) {{
                  t = Add (s, x)
                  d = Identity (c)
               }}>
            }}"
        ));
        let done = while_holds(&model, |model| {
            let sizes = declared(model);
            let in_loop =
                sizes.iter().filter(|(name, dims)| ["x", "s", "t"].contains(&&**name) && dims.len() == 2);
            let mut sizes: Vec<i64> = in_loop.map(|(_, dims)| dims[1]).collect();
            sizes.dedup();
            assert_eq!(sizes.len(), 1, "{carried}: {sizes:?}");
            has_op(model, "Loop")
        });
        let sizes = declared(&done.model);
        let of = |name: &str| sizes.iter().find(|(known, _)| known == name).map(|(_, dims)| &**dims);
        assert_eq!((of("x"), of("s"), of("t")), (Some(&[0, 1][..]), Some(&[0, 1][..]), Some(&[0, 1][..])));
        // A vector of one element, which only inference takes for a scalar.
        assert_eq!(of("i"), Some(&[1][..]));
    }
}

#[test]
fn functions_that_are_called_remain() {
    let text = |function: &str| {
        format!(
            "<ir_version: 9, opset_import: [\"\": 18, \"loc\": 1]>
            g (float[N] x) => (float[N] y) {{
               a = Relu (x)
               b = Neg (a)
               y = loc.G (b)
            }}
            {function}"
        )
    };
    let function = "<domain: \"loc\", opset_import: [\"\": 18]> G (a) => (b) { b = Abs (a) }
        <domain: \"loc\", opset_import: [\"\": 18]> H (a) => (b) { b = Exp (a) }";
    let done = while_holds(&parsed(&text(function)), |model| {
        assert!(!has_op(model, "G") || !model.functions().is_empty(), "the call has no function");
        has_op(model, "G")
    });
    assert_eq!(done.model.functions().len(), 1);
    assert_eq!(done.model.nodes(done.model.main_graph()).count(), 1);
    // An operator of the runtime stays one.
    let done = while_holds(&parsed(&text("")), |model| has_op(model, "G"));
    assert_eq!((done.model.functions().len(), done.model.node_count()), (0, 1));
}
