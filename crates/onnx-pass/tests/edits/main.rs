//! Five edits with their proofs, each in a correct form and in forms that drop a precondition.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests may fail"
)]

mod attack;
mod batch_normalization;
mod calls;
mod common_subexpression;
mod conditional;
mod equal_constants;
mod feeds;
mod figures;
mod general;
mod inputs;
mod normalization;
mod pattern;
mod pipeline;
mod proofs;
mod queries;
mod reshape;
mod squeeze;

use onnx_codec::{EncodeOptions, encode};
use onnx_ir::{Model, NodeId, ValueId};
use onnx_pass::passes::Report;
use onnx_pass::{Entry, Exactness, Level, PassCx, PassOptions, Patch, Proof, Refusal};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

/// The first line about an edit that is right for a reason that it has not queried.
const UNCONFIRMED: &str = "the results differ only for operands that the model does not compute: the edit relies on \
     something about them that it has not queried";

fn parse(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

fn bytes(model: &Model) -> Vec<u8> {
    encode(model, &EncodeOptions::default()).unwrap().to_vec()
}

/// The nodes of the main graph, one a line.
fn nodes(model: &Model) -> Vec<String> {
    let text = print_model(model, &PrintOptions::default()).unwrap().text;
    let body = text.rsplit_once("> {").map_or_else(|| text.rsplit_once(") {").unwrap().1, |(_, body)| body);
    body.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "}").map(str::to_owned).collect()
}

/// Runs a pass and returns the model, the report and the verdicts.
fn run(text: &str, pass: fn(&mut PassCx<'_>) -> Report) -> (Model, Report, Vec<String>) {
    let mut model = parse(text);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let report = pass(&mut cx);
    let verdicts = cx.journal().iter().map(|entry: &Entry| entry.verdict.to_string()).collect();
    drop(cx);
    model.verify().unwrap();
    (model, report, verdicts)
}

/// Checks the nodes after a pass and the verdicts of its edits, in which `#` is any number.
#[track_caller]
fn check(text: &str, pass: fn(&mut PassCx<'_>) -> Report, expected: &[&str], verdicts: &[&str]) {
    let (model, report, found) = run(text, pass);
    assert_eq!(report.refusals.iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(nodes(&model), expected);
    for verdict in &found {
        println!("{verdict}");
    }
    assert_eq!(found.iter().map(|text| without_numbers(text)).collect::<Vec<_>>(), verdicts);
}

fn without_numbers(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if plain.ends_with('#') => {}
            '0'..='9' => plain.push('#'),
            c => plain.push(c),
        }
    }
    plain
}

/// Tries an edit that is wrong: it must be refused at a level, with a reason that begins with these lines, and leave the
/// model as it was, byte for byte.
#[track_caller]
fn refuses(
    text: &str,
    class: Exactness,
    edit: impl FnOnce(&mut Patch<'_, '_>),
    level: Level,
    reason: &[&str],
) -> Refusal {
    let mut model = parse(text);
    let before = bytes(&model);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let mut patch = cx.patch("wrong", class);
    edit(&mut patch);
    let refusal = *patch.commit().expect_err("the edit is wrong");
    assert!(cx.journal().is_empty());
    drop(cx);
    println!("{refusal}");
    model.verify().unwrap();
    assert!(bytes(&model) == before, "the refused edit changed the model");
    assert_eq!(refusal.level, level, "{refusal}");
    let lines: Vec<&str> = refusal.reason.lines().collect();
    assert_eq!(lines, reason);
    refusal
}

/// Commits a patch that must be accepted.
#[track_caller]
fn commits(text: &str, class: Exactness, edit: impl FnOnce(&mut Patch<'_, '_>)) -> (Model, Proof) {
    let mut model = parse(text);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let mut patch = cx.patch("right", class);
    edit(&mut patch);
    let proof = patch.commit().unwrap_or_else(|refusal| panic!("{refusal}"));
    drop(cx);
    model.verify().unwrap();
    (model, proof)
}

/// The value of a name in the main graph or in graphs nested in it.
fn value(model: &Model, name: &str) -> ValueId {
    let mut all = model.graphs_in(model.main_graph()).flat_map(|graph| model.definitions(graph));
    all.find(|&value| model.str(model.value(value).name()) == name).unwrap()
}

fn maker(model: &Model, name: &str) -> NodeId {
    model.value(value(model, name)).producer().unwrap()
}
