//! Calls become bodies and nodes become functions: what the models are afterwards.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests may fail")]

mod attributes;
mod bodies;
mod calls;
mod cost;
mod housekeeping;
mod names;
mod outlining;
mod repeated;
mod versions;

use onnx_check::CheckOptions;
use onnx_diag::Severity;
use onnx_functions::{InlineOptions, Inlined, inline_all};
use onnx_ir::{AttrValue, Event, GraphId, Model, NodeId, ValueId};
use onnx_text::{ParseOptions, parse_model};

fn parse(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

/// The nodes of the main graph and of graphs nested in it, one a line; graphs are in braces, with their outputs.
fn nodes(model: &Model) -> Vec<String> {
    nodes_of(model, model.main_graph())
}

fn nodes_of(model: &Model, root: GraphId) -> Vec<String> {
    let events = model.walk(root).filter_map(|event| match event {
        Event::Node(node) => Some(line(model, node)),
        Event::Enter(graph) if graph != root => Some("{".to_owned()),
        Event::Leave(graph) if graph != root => {
            let outputs = model.graph(graph).outputs().iter().map(|output| name(model, Some(output.value())));
            Some(format!("}} => {}", outputs.collect::<Vec<_>>().join(", ")))
        }
        _ => None,
    });
    events.collect()
}

/// A node, with the numbers in its attributes.
fn line(model: &Model, node: NodeId) -> String {
    let record = model.node(node);
    let list = |values: &mut dyn Iterator<Item = Option<ValueId>>| {
        values.map(|value| name(model, value)).collect::<Vec<_>>().join(", ")
    };
    let attributes = record.attributes().iter().filter_map(|attribute| {
        let value = match attribute.value() {
            AttrValue::Float(number) => number.to_string(),
            AttrValue::Int(number) => number.to_string(),
            AttrValue::Floats(numbers) => format!("{numbers:?}"),
            _ => return None,
        };
        Some(format!("{} = {value}", model.str(attribute.name())))
    });
    let attributes: Vec<String> = attributes.collect();
    let mut text = list(&mut record.outputs().iter().copied());
    text.push_str(" = ");
    if !record.domain().is_empty() {
        text.push_str(&format!("{}.", model.str(record.domain())));
    }
    text.push_str(model.str(record.op()));
    if !attributes.is_empty() {
        text.push_str(&format!(" <{}>", attributes.join(", ")));
    }
    text.push_str(&format!(" ({})", list(&mut record.inputs())));
    match model.str(record.name()) {
        "" => text,
        name => format!("[{name}] {text}"),
    }
}

fn name(model: &Model, value: Option<ValueId>) -> &str {
    value.map_or("", |value| model.str(model.value(value).name()))
}

/// The errors of the checker.
fn errors(model: &Model) -> Vec<String> {
    let found = onnx_check::check(model, &CheckOptions::default());
    let errors = found.diagnostics().iter().filter(|found| found.severity == Severity::Error);
    errors.map(|error| error.message.to_string()).collect()
}

/// Inlines all calls of a model that the checker accepts, and checks the nodes of the main graph, and the reasons for calls
/// that stay.
#[track_caller]
fn check(text: &str, expected: &[&str], kept: &[&str]) -> (Model, Inlined) {
    let mut model = parse(text);
    assert_eq!(errors(&model), Vec::<String>::new());
    let done = inline_all(&mut model, &InlineOptions::default()).unwrap();
    model.verify_sorted().unwrap();
    assert_eq!(nodes(&model), expected);
    let found: Vec<String> =
        done.kept().map(|(call, reason)| format!("{}: {reason}", done.path(call, &model))).collect();
    assert_eq!(found, kept);
    assert_eq!(errors(&model), Vec::<String>::new());
    // No name is needed twice.
    assert!(model.name_plan().is_trivial(), "{:?}", nodes(&model));
    (model, done)
}

/// The node that makes a value of the main graph.
fn maker(model: &Model, name: &str) -> NodeId {
    let value = model.find_value(model.main_graph(), name).unwrap();
    model.value(value).producer().unwrap()
}
