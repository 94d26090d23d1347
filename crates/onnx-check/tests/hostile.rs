//! Hostile models: nesting and floods.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::time::{Duration, Instant};

use onnx_check::{CheckOptions, check};
use onnx_ir::raw::{ModelWriter, NodeFields};
use onnx_ir::{Attribute, GraphId, Model};
use onnx_text::{ParseOptions, parse_model};

/// A model of nodes, as text, without inputs and outputs.
fn model(nodes: &str) -> Model {
    let text = format!("<ir_version: 10, opset_import: [\"\": 18]> g () => () {{ {nodes} }}");
    parse_model(&text, &ParseOptions::default()).unwrap()
}

/// Checks a hostile model: it must end, soon, and find this many errors.
fn check_hostile(model: &Model, errors: u64) {
    let start = Instant::now();
    let sink = check(model, &CheckOptions::default());
    assert_eq!(sink.counts().errors, errors);
    // Generous: it takes milliseconds where the work is linear, and hours where it is not.
    assert!(start.elapsed() < Duration::from_secs(20));
}

/// No text nests so deeply: its parser has a limit.
#[test]
fn nesting_takes_no_stack() {
    let mut writer = ModelWriter::new(onnx_schema::interner());
    let main = writer.main_graph();
    let [name, op, domain] = ["body", "Frob", "d"].map(|name| writer.intern(name));
    writer.set_graph_name(main, name);
    writer.info_mut().ir_version = 10;
    writer.info_mut().opset_imports.push(onnx_ir::OpsetImport::new(domain, 1));
    let mut inner = None;
    for depth in 0..50_000 {
        let graph = if depth == 49_999 { main } else { writer.new_graph(name) };
        let attributes = inner.map(|inner: GraphId| Attribute::new(name, inner)).into_iter().collect();
        let outer = writer.enter(graph, false);
        writer.write_node(NodeFields { op, domain, attributes, ..NodeFields::default() }, &[], &[]);
        writer.leave(outer);
        inner = Some(graph);
    }
    check_hostile(&writer.finish(), 50_000);
}

#[test]
fn floods_are_counted_in_linear_time() {
    // A name that nothing defines, one that is defined twice, an operator that does not exist.
    let nodes: String = (0..20_000).map(|index| format!("y = Frobnicate (undefined{index})\n")).collect();
    check_hostile(&model(&nodes), 20_000 + 19_999 + 20_000);
}

#[test]
fn the_same_model_gives_the_same_findings() {
    let node = |index: u32| format!("y{} = Frob{} (u{})\n", index % 7, index % 5, index % 11);
    let model = model(&(0..100).map(node).collect::<String>());
    let [once, again] =
        [model.clone(), model].map(|model| check(&model, &CheckOptions::default()).into_diagnostics());
    assert_eq!(once, again);
    assert!(once.len() > 100);
}

/// What is not kept is counted the same under both profiles.
#[test]
fn what_is_not_kept_is_counted_the_same() {
    use onnx_check::Profile;
    let nodes: String = (0..500).map(|index| format!("y{index} = Frobnicate (undefined)\n")).collect();
    let model = model(&nodes);
    let counts = [Profile::Spec, Profile::Reference].map(|profile| {
        let sink = check(&model, &CheckOptions::default().with_profile(profile));
        let kept: Vec<_> = sink.diagnostics().iter().map(|found| found.locus.to_string()).collect();
        (sink.counts().errors, kept)
    });
    assert!(counts[0].0 >= 500);
    assert_eq!(counts[0], counts[1]);
}
