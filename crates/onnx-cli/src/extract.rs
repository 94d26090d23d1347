//! `onnx extract`: a part of a model becomes a model.

use std::collections::{HashMap, HashSet};

use onnx_check::{CheckOptions, check};
use onnx_compose::{ComposeError, ExtractOptions, Extracted, extract, extract_nodes};
use onnx_diag::Sink;
use onnx_ir::{Model, NodeId, Use, User, ValueId};
use onnx_schema::op;
use serde::Serialize;

use crate::args::{Changed, ExternalArgs, ExtractArgs};
use crate::change::{self, Judged};
use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, display_name, load_to_copy};
use crate::output::{Out, shown};
use crate::progress::Progress;
use crate::selection::Context;
use crate::weights::Placement;
use crate::{size, split, store, weights};

pub(crate) fn run(args: &ExtractArgs, out: &mut Out) -> Result<Outcome, Failure> {
    if let Some(parts) = args.parts {
        return split::run(args, parts, out);
    }
    let in_place = args.in_place.in_place;
    let changed = Changed { path: &args.input_file, from: args.input.from, in_place };
    let placement = args.output.placement(Some(&changed), &ExternalArgs::DEFAULT, out)?;
    let progress = Progress::start("extracting", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load_to_copy(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    let inputs = loaded.files()?;
    let before = loaded.model.node_count();
    let registry = onnx_shape_infer::contrib::registry();
    let context = Context::new(&loaded)?;
    let options = ExtractOptions::default().with_registry(&registry).with_execution(loaded.execution.clone());
    let done = extracted(&mut loaded.model, args, &context, &options)?;
    loaded.execution.interrupt.check()?;
    let (done, found) = match done {
        Ok(done) => (Some(done), invalid(&loaded.model)),
        Err(error) => (None, error.findings(&loaded.model)),
    };
    let judged = Judged::new(found, &loaded, &args.input.severity)?;
    let item = Item::new(&loaded, done.as_ref(), before);
    progress.aside(|| {
        if let Some(done) = &done {
            describe(&loaded.model, done, before, out);
        }
        change::report(&loaded, &judged, ("extract/1", &item), out)
    })?;
    if done.is_none() || (judged.is_refused() && !args.keep_going) {
        return Ok(Outcome::Findings);
    }
    let to = placement.destination(loaded.execution.clone(), args.output.write, inputs);
    let weights = split::placed(placement.weights, &loaded, placement.path);
    let files = weights::place(&mut loaded, &Placement { weights: &weights, ..placement }, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// Extracts what the arguments say; the outer error is about the arguments.
fn extracted(
    model: &mut Model,
    args: &ExtractArgs,
    context: &Context,
    options: &ExtractOptions<'_>,
) -> Result<Result<Extracted, ComposeError>, Failure> {
    if !args.only.is_empty() {
        let nodes = context.nodes(model, &args.only)?;
        use_weights(model, &nodes);
        return Ok(extract_nodes(model, &nodes, options));
    }
    let inputs = match args.inputs.as_slice() {
        [] => None,
        texts => Some(context.values(model, texts)?),
    };
    let outputs: Vec<ValueId> = match args.outputs.as_slice() {
        [] => model.graph(model.main_graph()).outputs().iter().map(onnx_ir::GraphOutput::value).collect(),
        texts => context.values(model, texts)?,
    };
    Ok(extract(model, inputs.as_deref(), &outputs, options))
}

/// Lets nodes use initializers themselves instead of nodes `Identity` that give them other names, which would be inputs of the part.
fn use_weights(model: &mut Model, nodes: &[NodeId]) {
    let selected: HashSet<NodeId> = nodes.iter().copied().collect();
    let mut copies: Vec<(ValueId, ValueId)> = Vec::new();
    let mut weight_of: HashMap<ValueId, ValueId> = HashMap::new();
    for node in model.nodes(model.main_graph()) {
        let record = model.node(node);
        let (Some(operand), Some(copy)) = (record.input(0), record.output(0)) else { continue };
        if !record.is(op::IDENTITY) || selected.contains(&node) {
            continue;
        }
        let is_weight = model.value(operand).initializer().is_some();
        let weight = weight_of.get(&operand).copied().or_else(|| is_weight.then_some(operand));
        if let Some(weight) = weight {
            weight_of.insert(copy, weight);
            copies.push((copy, weight));
        }
    }
    let nested = nodes.iter().flat_map(|&node| model.node(node).nested_graphs());
    let nested: Vec<NodeId> = nested.flat_map(|graph| model.nodes_in(graph)).collect();
    let users: HashSet<NodeId> = selected.into_iter().chain(nested).collect();
    let is_user = |at: &Use| matches!(at.user, User::Node(node) if users.contains(&node));
    copies.retain(|&(copy, _)| model.value(copy).uses().iter().any(is_user));
    for (copy, weight) in copies {
        model.replace_uses_where(copy, weight, |_, at| is_user(&at));
    }
}

/// The errors of the checker. A part can only have those that the model had.
pub(crate) fn invalid(model: &Model) -> Sink {
    let found = check(model, &CheckOptions::default());
    if found.has_errors() { found } else { Sink::new() }
}

/// The warning about training information that a part cannot have.
pub(crate) const TRAINING_REMOVED: &str =
    "the training information was removed, because it refers to the whole model";

/// Tells what was extracted.
fn describe(model: &Model, done: &Extracted, before: usize, out: &Out) {
    for input in &done.unused_inputs {
        let message = format!("no output depends on the input `{}`", shown(input));
        out.warning(&message, None);
    }
    if done.removed_training {
        out.warning(TRAINING_REMOVED, None);
    }
    let graph = model.graph(model.main_graph());
    let inputs = size::plural(graph.inputs().len() as u64, "input");
    let outputs = size::plural(graph.outputs().len() as u64, "output");
    let [before, after] = [before, model.node_count()].map(|count| size::grouped(count as u64));
    out.summary(&format!("extracted {inputs} and {outputs}: {before} -> {after} nodes"));
}

/// A model, as an item of `extract/1`.
#[derive(Serialize)]
pub(crate) struct Item<'a> {
    name: String,
    nodes_before: u64,
    nodes_after: u64,
    inputs: Vec<String>,
    outputs: Vec<String>,
    unused_inputs: &'a [String],
}

impl<'a> Item<'a> {
    fn new(loaded: &'a Loaded, done: Option<&'a Extracted>, before: usize) -> Self {
        let unused_inputs = done.map_or(&[][..], |done| done.unused_inputs.as_slice());
        Self { unused_inputs, ..Self::of_part(&loaded.name, &loaded.model, before) }
    }

    /// A part of a model that was split.
    pub(crate) fn of_part(name_of_part: &str, model: &Model, before: usize) -> Item<'static> {
        let graph = model.graph(model.main_graph());
        let name = |value: ValueId| model.str(model.value(value).name()).to_owned();
        Item {
            name: name_of_part.to_owned(),
            nodes_before: before as u64,
            nodes_after: model.node_count() as u64,
            inputs: graph.inputs().iter().map(|&input| name(input)).collect(),
            outputs: graph.outputs().iter().map(|output| name(output.value())).collect(),
            unused_inputs: &[],
        }
    }

    pub(crate) fn inputs(&self) -> &[String] {
        &self.inputs
    }

    pub(crate) fn outputs(&self) -> &[String] {
        &self.outputs
    }

    /// One line about a part with these weights.
    pub(crate) fn describe(&self, weights: &str) -> String {
        let nodes = size::plural(self.nodes_after, "node");
        let inputs = size::plural(self.inputs.len() as u64, "input");
        let outputs = size::plural(self.outputs.len() as u64, "output");
        format!("{}: {nodes}, {weights} of weights, {inputs}, {outputs}", self.name)
    }
}
