//! Every limit holds, and what it causes says which one to raise.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use std::fmt::Write as _;

use bytes::Bytes;
use onnx_check::{CheckOptions, check};
use onnx_codec::{DecodeOptions, EncodeOptions, FileSource, decode, encode};
use onnx_compose::{ReduceOptions, reduce};
use onnx_eval::{Evaluator, Value};
use onnx_ir::{Model, NewNode, OpsetImport, Position};
use onnx_pass::{PassCx, PassOptions, Trial, passes};
use onnx_schema::{domain, op};
use onnx_select::{ModelFacts, Selection};
use onnx_shape_infer::{InferOptions, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::tensor::{DataSource as _, Tensor};
use onnx_types::{Execution, LIMITS, Limits};

/// A model with two of everything.
const TEXT: &str = r#"<ir_version: 10, opset_import: ["": 18, "f": 1]>
g (float[N] x, bool c) => (float[] z) {
   between = If (c) <then_branch = t () => (p) { p = f.a (x) }, else_branch = e () => (q) { q = f.b (x) }>
   z = Relu (between)
}
<domain: "f", opset_import: ["": 18]>
a (x) => (y) { y = Relu (x) }
<domain: "f", opset_import: ["": 18]>
b (x) => (y) { y = Neg (x) }
"#;

fn limits(name: &str, to: u64) -> Limits {
    let mut limits = Limits::default();
    limits.set(name, to).unwrap();
    limits
}

fn model() -> Model {
    parse_model(TEXT, &ParseOptions::default()).unwrap()
}

fn file() -> Bytes {
    encode(&model(), &EncodeOptions::default()).unwrap().into_bytes()
}

/// What decoding says with a limit.
fn decoded(name: &str, to: u64) -> String {
    let options = DecodeOptions::default().with_execution(limits(name, to));
    decode(file(), &options).map_or_else(|error| error.to_string(), |_| "it is read".to_owned())
}

/// What parsing says with a limit.
fn parsed(name: &str, to: u64) -> String {
    let options = ParseOptions::default().with_execution(limits(name, to));
    parse_model(TEXT, &options).map_or_else(|error| error.to_string(), |_| "it is read".to_owned())
}

/// The messages of inference with a limit.
fn inferred(model: &Model, name: &str, to: u64) -> String {
    let mut options = InferOptions::default();
    options.execution.limits = limits(name, to);
    let inference = infer(model, &options);
    inference.findings().diagnostics().iter().map(|found| format!("{}\n", found.message)).collect()
}

#[track_caller]
fn names(text: &str, name: &str) {
    assert!(text.contains(&format!("raise the limit `{name}`")), "{name}: {text}");
}

#[test]
fn limits_of_reading_hold_and_are_named() {
    for name in
        ["message_depth", "input_bytes", "string_bytes", "nodes", "values", "graphs", "functions", "entries"]
    {
        names(&decoded(name, 1), name);
        assert_eq!(decoded(name, 1000), "it is read", "{name}");
    }
    // Three tensors: empty initializers, or a sparse one and another.
    for initializers in [b"\x3a\x06\x2a\x00\x2a\x00\x2a\x00".as_slice(), b"\x3a\x04\x7a\x00\x2a\x00"] {
        let with = |to| DecodeOptions::default().with_execution(limits("tensors", to));
        let read = |to| decode(Bytes::from_static(initializers), &with(to)).map(drop);
        names(&read(2).unwrap_err().to_string(), "tensors");
        assert!(read(3).is_ok());
    }
    for name in ["nodes", "values", "graphs", "functions", "text_depth", "text_bytes"] {
        names(&parsed(name, 1), name);
        assert_eq!(parsed(name, 1000), "it is read", "{name}");
    }
}

/// A limit is the greatest size that is accepted, wherever in the model its parts are. Nodes of the outer graph that follow a
/// node with a graph count as those before it, and the values of the last node and of the outputs count as well.
#[test]
fn sizes_are_counted_exactly() {
    let header = "<ir_version: 10, opset_import: [\"\": 18, \"f\": 1]>\n";
    let texts = [
        TEXT.to_owned(),
        format!(
            "{header}g (bool c) => (float[] z) {{
                y = If (c) <then_branch = t () => (p) {{ a = F () p = F () }}, else_branch = e () => (q) {{ q = F () r = F () }}>
                z = F (y)  v = F (y)  w = F (y)
            }}"
        ),
        format!("{header}g () => () {{ a, b, b, , c = F (d, e, d, , d) }}"),
        format!("{header}g () => (float[] unresolved) {{ }}"),
        format!("{header}g () => () {{ }} <domain: \"f\"> h (a, b) => (c, d) {{ e = F (a) }}"),
    ];
    for text in texts {
        let model = parse_model(&text, &ParseOptions::default()).unwrap();
        let bytes = encode(&model, &EncodeOptions::default()).unwrap().into_bytes();
        for (name, count) in
            [("nodes", model.node_count()), ("values", model.value_count()), ("graphs", model.graph_count())]
        {
            for to in 0..=count as u64 + 1 {
                let decoded =
                    decode(bytes.clone(), &DecodeOptions::default().with_execution(limits(name, to)));
                let parsed = parse_model(&text, &ParseOptions::default().with_execution(limits(name, to)));
                let fits = count as u64 <= to;
                assert_eq!((decoded.is_ok(), parsed.is_ok()), (fits, fits), "{name} {to}: {text}");
            }
        }
    }
}

#[test]
fn limits_of_findings_hold() {
    let mut text = String::from("<ir_version: 10, opset_import: [\"\": 18]> g () => () {\n");
    for index in 0..50 {
        let _ = writeln!(text, "y{index} = = ()");
    }
    for errors in [1, 7] {
        let options = ParseOptions::default().with_execution(limits("text_errors", errors));
        let Err(error) = parse_model(&text, &options) else { panic!("it is not a text model") };
        assert_eq!(error.findings().counts().errors, errors);
    }
    let text = text.replace("= =", "= Rellu") + "}";
    let mut model = parse_model(&text, &ParseOptions::default()).unwrap();
    let kept =
        |limits: &Limits| check(&model, &CheckOptions::default().with_limits(*limits)).diagnostics().len();
    assert_eq!(kept(&limits("findings_per_rule", 3)), 3);
    assert_eq!(kept(&limits("findings", 2)), 2);
    assert_eq!(kept(&Limits::default()), 50);
    let text = "<ir_version: 10, opset_import: [\"\": 18]> g (float[2] x) => () { y = MatMul () z = MatMul () w = MatMul () }";
    model = parse_model(text, &ParseOptions::default()).unwrap();
    let all = inferred(&model, "findings", 1000).lines().count();
    assert!(all > 1, "{all}");
    assert_eq!(inferred(&model, "findings", 1).lines().count(), 1);
    assert_eq!(inferred(&model, "findings_per_rule", 1).lines().count(), 1);
}

#[test]
fn limits_of_inference_hold() {
    names(&inferred(&model(), "inference_depth", 1), "inference_depth");
    // Followed elements and ranks that are derived from values beyond a limit are left unknown, without a word.
    let text = "<ir_version: 10, opset_import: [\"\": 18]>\n\
                g (float[2,3,4] x, int64[5] r) => (float[] z) { s = Shape (x) z = Reshape (x, s) w = Reshape (x, r) }";
    for (name, to, known) in [("followed_elements", 2, [false, true]), ("inferred_rank", 4, [true, false])] {
        let model = parse_model(text, &ParseOptions::default()).unwrap();
        let mut options = InferOptions::default();
        let nodes: Vec<_> = model.nodes(model.main_graph()).skip(1).collect();
        let ranks = |model: &Model, options: &InferOptions<'_>| {
            let inference = infer(model, options);
            let known = |node: &onnx_ir::NodeId| {
                inference
                    .shape(model.node(*node).outputs()[0].unwrap())
                    .is_some_and(|dims| dims.iter().all(|dim| dim.known().is_some()) || dims.len() == 5)
            };
            nodes.iter().map(known).collect::<Vec<_>>()
        };
        assert_eq!(ranks(&model, &options), [true, true]);
        options.execution.limits = limits(name, to);
        assert_eq!(ranks(&model, &options), known, "{name}");
    }
    // The first 100,000 visits are free.
    let mut model = Model::new();
    model.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, 18));
    let graph = model.main_graph();
    let mut last = model.add_graph_input(graph, "x", None);
    for _ in 0..100_001 {
        let next = model.new_value(onnx_types::Symbol::EMPTY);
        model.add_node(Position::End(graph), NewNode::new(op::RELU).inputs([last]).outputs([next])).unwrap();
        last = next;
    }
    names(&inferred(&model, "visits_per_node", 0), "visits_per_node");
    assert_eq!(inferred(&model, "visits_per_node", 1), "");

    let sum = r#"<ir_version: 10, opset_import: ["": 18]>
        g (float[N, M] x, float[M, K] y) => (float[P, Q] z) { z = Concat <axis = 0> (x, x, y, y) }"#;
    let model = parse_model(sum, &ParseOptions::default()).unwrap();
    names(&inferred(&model, "expression_steps", 0), "expression_steps");
    assert_eq!(inferred(&model, "expression_steps", 16), "");
}

#[test]
fn limits_of_files_and_writing_hold_and_are_named() {
    let folder = tempfile::tempdir().unwrap();
    ["a", "b"].iter().for_each(|name| std::fs::write(folder.path().join(name), "1234").unwrap());
    let source = |name: &str| FileSource::in_directory(folder.path()).unwrap().with_limits(&limits(name, 1));
    names(&source("external_bytes").read("a", 0, None).unwrap_err().to_string(), "external_bytes");
    let source = source("external_files");
    source.read("a", 0, None).unwrap();
    names(&source.read("b", 0, None).unwrap_err().to_string(), "external_files");

    let mut model = model();
    let (graph, name) = (model.main_graph(), model.intern("splat"));
    model.add_initializer(graph, name, Tensor::splat([1000], 1.0_f32).unwrap());
    for name in ["splat_bytes", "message_depth"] {
        let error = encode(&model, &EncodeOptions::within(&limits(name, 1))).unwrap_err();
        names(&error.to_string(), name);
    }
    encode(&model, &EncodeOptions::within(&limits("splat_bytes", 4000))).unwrap();
}

#[test]
fn limits_of_runs_hold_and_are_named() {
    let model = model();
    let run = |name: &str, to: u64| {
        let options = onnx_eval::EvalOptions::default().with_limits(limits(name, to));
        let evaluator = Evaluator::new(&model, &options).unwrap();
        let x = Value::from(Tensor::vector(&[1.0_f32, 2.0]));
        evaluator.run(&[("x", x), ("c", Value::from(Tensor::scalar(true)))])
    };
    // Main graph, branch and function are active in each other, and the nodes run on two elements each.
    for (name, enough) in
        [("run_elements", 2), ("run_bytes", 10_000), ("run_steps", 10_000), ("run_depth", 3)]
    {
        names(&run(name, 1).unwrap_err().to_string(), name);
        assert!(run(name, enough).is_ok(), "{name}");
    }
}

/// An edit whose proof would cost more than a limit is untested, or tested less.
#[test]
fn limits_of_proofs_hold() {
    let text = "<ir_version: 10, opset_import: [\"\": 18]>
        g (float[N,M] x) => (float[N,M] y) { s = Shape (x)  r = Reshape (x, s)  y = Relu (r) }";
    let verdict = |name: &str, to: u64| {
        let mut model = parse_model(text, &ParseOptions::default()).unwrap();
        let options = PassOptions::default().with_untested(true).with_execution(limits(name, to));
        let mut cx = PassCx::new(&mut model, options);
        let refusals = passes::no_identities(&mut cx).refusals;
        let verdicts = cx.journal().iter().map(|entry| entry.verdict.to_string());
        refusals.iter().map(ToString::to_string).chain(verdicts).collect::<String>()
    };
    assert_eq!(verdict("proof_runs", 3), "tested in 3 runs (3 attempts)");
    assert_eq!(verdict("proof_attempts", 5), "tested in 5 runs (5 attempts)");
    for name in ["proof_steps", "proof_bytes"] {
        let verdict = verdict(name, 1);
        assert!(verdict.starts_with("untested") && verdict.contains(&format!("`{name}`")), "{verdict}");
    }
    // Axes of empty tensors count, too.
    assert!(verdict("proof_elements", 0).starts_with("untested"), "{}", verdict("proof_elements", 0));
    // Only tensors with few elements are tried, and few sizes make one.
    assert_eq!(verdict("proof_elements", 4), "tested in 24 runs (43 attempts)");
    // Without its producer, the shape operand is any value.
    assert!(verdict("proof_nodes", 0).contains("the results differ"));
}

/// Reports state how many entries were left out, and an explanation without steps has only its two ends.
#[test]
fn limits_of_reports_hold() {
    let text = "<ir_version: 10, opset_import: [\"\": 18]> g (float[] x) => (z) { y = Relu (x) z = Neg (y) }";
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let inference = infer(&model, &InferOptions::default());
    let report = inference.report(&model, &limits("report_entries", 1));
    assert_eq!((report.unknown.len(), report.dropped), (1, 2));
    let z = model.graph(model.main_graph()).outputs()[0].value();
    let chain = |name: &str, to: u64| inference.explain(&model, &[z], &limits(name, to))[0].chain.len();
    assert_eq!((chain("report_steps", 100), chain("report_steps", 0)), (3, 2));
}

#[test]
fn limits_of_selectors_and_of_reducing_hold_and_are_named() {
    let text = "<ir_version: 10, opset_import: [\"\": 18]> g (float[2] x) => (float[2] z) { y = Relu (x) z = Neg (y) }";
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let select = |to: u64| {
        let facts = ModelFacts::new(&model).with_execution(Execution::from(limits("selector_steps", to)));
        Selection::new(&facts).nodes("all() ~ Relu()").map(|nodes| nodes.len())
    };
    assert_eq!(select(1).unwrap_err().limit(), Some("selector_steps"));
    assert_eq!(select(1000).unwrap(), 1);
    let reduced = |to: u64| {
        let options = ReduceOptions::default().with_execution(Execution::from(limits("reduce_attempts", to)));
        reduce(&model, &options, |_| Ok::<_, std::convert::Infallible>(Trial::Bad)).unwrap().attempts
    };
    assert_eq!(reduced(1), 1);
    assert!(reduced(1000) > 1);
}

#[test]
fn every_limit_is_tried_here() {
    let text = include_str!("limits.rs");
    for limit in LIMITS {
        assert!(text.contains(&format!("\"{}\"", limit.name)), "{}", limit.name);
    }
}
