//! `onnx outline`: nodes become functions and calls of them.

use onnx_diag::{Diagnostic, Locus, Sink};
use onnx_functions::{
    FunctionReason, OutlineError, OutlineOptions, OutlinedBlock, outline, outline_repeated, rules,
};
use onnx_ir::{FunctionId, Model, NodeId, Places};
use onnx_schema::Registry;
use onnx_select::{Element, Selectors};
use serde::Serialize;

use crate::args::{Changed, ExternalArgs, OutlineArgs};
use crate::change::{self, Judged};
use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, display_name, load_to_copy};
use crate::output::{Out, shown};
use crate::progress::Progress;
use crate::selection::Context;
use crate::{size, store, weights};

pub(crate) fn run(args: &OutlineArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let in_place = args.in_place.in_place;
    let changed = Changed { path: &args.input_file, from: args.input.from, in_place };
    let placement = args.output.placement(Some(&changed), &ExternalArgs::DEFAULT, out)?;
    let progress = Progress::start("outlining", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load_to_copy(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    let inputs = loaded.files()?;
    let before = main_nodes(&loaded.model);
    let (blocks, found) = match args.only.as_slice() {
        [] => repeated(&mut loaded, args)?,
        texts => {
            let context = Context::new(&loaded)?;
            of_selection(&mut loaded.model, &context, texts, &args.function)?
        }
    };
    let is_refused = !found.is_empty();
    let judged = Judged::new(found, &loaded, &args.input.severity)?;
    let item = Item::new(&loaded, &blocks, before);
    progress.aside(|| {
        if !is_refused {
            describe(&loaded.model, &blocks, before, out);
        }
        change::report(&loaded, &judged, ("outline/1", &item), out)
    })?;
    if is_refused {
        return Ok(Outcome::Findings);
    }
    let to = placement.destination(loaded.execution.clone(), args.output.write, inputs);
    let files = weights::place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// Outlines the repeated blocks of the main graph.
fn repeated(loaded: &mut Loaded, args: &OutlineArgs) -> Result<(Vec<OutlinedBlock>, Sink), Failure> {
    let options = OutlineOptions::default()
        .with_domain(&args.domain)
        .with_min_nodes(args.min_nodes)
        .with_execution(loaded.execution.clone());
    let graph = loaded.model.main_graph();
    match outline_repeated(&mut loaded.model, graph, &options) {
        Ok(blocks) => Ok((blocks, Sink::new())),
        Err(OutlineError::Stopped(stopped)) => Err(stopped.into()),
        Err(OutlineError::Refused(reason)) => Ok((Vec::new(), refusal(&loaded.model, &[], &reason))),
        Err(error) => Err(Failure::new(error)),
    }
}

/// Outlines the nodes that selectors denote, together.
fn of_selection(
    model: &mut Model,
    context: &Context,
    texts: &[String],
    function: &str,
) -> Result<(Vec<OutlinedBlock>, Sink), Failure> {
    let Some((domain, name)) = function.rsplit_once('.') else {
        return Err(Failure::new(format_args!("`{}` has no domain", shown(function)))
            .help("write `--function DOMAIN.NAME` or `--function DOMAIN.NAME:OVERLOAD`"));
    };
    let (name, overload) = name.split_once(':').unwrap_or((name, ""));
    let nodes = context.nodes(model, texts)?;
    let count = nodes.iter().map(|&node| model.walk_node(node).nodes().count()).sum();
    match outline(model, &nodes, (domain, name, overload), Registry::STANDARD) {
        Ok(call) => {
            let function = called(model, call)?;
            Ok((vec![OutlinedBlock { function, calls: vec![call], nodes: count }], Sink::new()))
        }
        Err(reason) => Ok((Vec::new(), refusal(model, &nodes, &reason))),
    }
}

fn called(model: &Model, call: NodeId) -> Result<FunctionId, Failure> {
    model.function_called(model.node(call)).ok_or_else(|| Failure::new("the call has no function"))
}

/// The diagnostic for nodes that cannot become a function, at the first of them.
fn refusal(model: &Model, nodes: &[NodeId], reason: &FunctionReason) -> Sink {
    let locus = nodes.first().map_or_else(Locus::model, |&node| Places::new(model).node(node));
    let mut sink = Sink::new();
    sink.report(Diagnostic::new(&rules::NODES_NOT_OUTLINED, locus, reason.to_string()));
    sink
}

fn main_nodes(model: &Model) -> u64 {
    model.graph(model.main_graph()).node_count() as u64
}

/// Tells what was outlined.
fn describe(model: &Model, blocks: &[OutlinedBlock], before: u64, out: &Out) {
    for block in blocks {
        let calls = size::plural(block.calls.len() as u64, "call");
        let name = shown(&name(model, block));
        out.detail(1, &format!("{name}: {calls}, {}", size::plural(block.nodes as u64, "node")));
    }
    let functions = size::plural(blocks.len() as u64, "function");
    let calls: usize = blocks.iter().map(|block| block.calls.len()).sum();
    let calls = size::plural(calls as u64, "call");
    let [before, after] = [before, main_nodes(model)].map(size::grouped);
    out.summary(&format!("outlined {functions} with {calls}: {before} -> {after} nodes of the main graph"));
}

fn name(model: &Model, block: &OutlinedBlock) -> String {
    let record = model.function(block.function);
    change::identity(model, (record.domain(), record.name(), record.overload()))
}

/// A model, as an item of `outline/1`.
#[derive(Serialize)]
struct Item<'a> {
    name: &'a str,
    nodes_before: u64,
    nodes_after: u64,
    functions: Vec<Function>,
}

#[derive(Serialize)]
struct Function {
    function: String,
    /// Number of nodes of the body.
    nodes: u64,
    calls: Vec<Call>,
}

#[derive(Serialize)]
struct Call {
    selector: Option<String>,
    name: String,
}

impl<'a> Item<'a> {
    fn new(loaded: &'a Loaded, blocks: &[OutlinedBlock], before: u64) -> Self {
        let model = &loaded.model;
        let selectors = Selectors::new(model);
        let functions = blocks.iter().map(|block| Function {
            function: name(model, block),
            nodes: block.nodes as u64,
            calls: (block.calls.iter())
                .map(|&call| Call {
                    selector: selectors.text(Element::Node(call)),
                    name: model.str(model.node(call).name()).to_owned(),
                })
                .collect(),
        });
        Item {
            name: &loaded.name,
            nodes_before: before,
            nodes_after: main_nodes(model),
            functions: functions.collect(),
        }
    }
}
