//! Nodes whose numbers leave the range of a format in a run.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use foldhash::fast::RandomState;
use onnx_eval::{EvalOptions, Evaluator, NodeRun, Observer, Value};
use onnx_ir::{Model, NodeId, Use, User, ValueId};
use onnx_schema::traits::{Rounding, newest};
use onnx_schema::{Traits, op};
use onnx_types::ElemType;
use onnx_types::tensor::NoData;

use super::{ConstantLosses, Half, Kept, NarrowOptions, WideReason, first_output, keep_maker};
use crate::activations::RuntimeView;
use crate::measure::{MeasureOptions, reason};
use crate::samples::{GeneratedSamples, SampleFailure, Samples, run_sample};

/// If the greatest of some numbers has fewer steps of the narrow type, all of them lose most of their bits.
const LEAST_STEPS: f64 = 16.0;

/// Other inputs than those of the runs have greater numbers: nothing that comes within this factor of the range becomes narrow.
const HEADROOM: f64 = 2.0;

/// The number of the greatest magnitude for each.
type Worst<K> = HashMap<K, f64, RandomState>;

/// Collects the numbers of nodes and inputs.
struct Watch {
    /// What is below this number came from a mask.
    mask: f64,
    nodes: Mutex<Worst<NodeId>>,
    inputs: Mutex<Worst<ValueId>>,
}

impl Watch {
    /// The element of the greatest magnitude that is not of a mask.
    fn worst(&self, value: &Value) -> Option<f64> {
        let tensor = value.tensor().filter(|tensor| tensor.elem() == ElemType::Float)?;
        let view = tensor.view::<f32>(&NoData).ok()?;
        let mut worst = 0.0_f64;
        for number in view.iter() {
            let number = f64::from(number);
            if number.abs() > worst.abs() && number.is_finite() && number > self.mask {
                worst = number;
            }
        }
        Some(worst)
    }

    fn note<K: std::hash::Hash + Eq>(&self, found: &Mutex<Worst<K>>, key: K, value: &Value) {
        if let (Some(worst), Ok(mut found)) = (self.worst(value), found.lock()) {
            let entry = found.entry(key).or_insert(worst);
            if worst.abs() > entry.abs() {
                *entry = worst;
            }
        }
    }
}

impl Observer for Watch {
    fn enter(&self, inputs: &[ValueId], values: &[Option<Value>]) {
        for (&input, value) in inputs.iter().zip(values) {
            value.iter().for_each(|value| self.note(&self.inputs, input, value));
        }
    }

    fn end(&self, run: &NodeRun<'_>) {
        run.outputs.iter().flatten().for_each(|value| self.note(&self.nodes, run.node, value));
    }
}

/// What is beyond the range of a format, in the order of the model, each with the worst number.
#[derive(Default)]
struct OutOfRange {
    /// Nodes by their results.
    nodes: Vec<(NodeId, f64)>,
    /// Inputs of graphs.
    inputs: Vec<(ValueId, f64)>,
}

/// What comes near the end of the range in runs or is beyond it, or too small for it: all numbers that a product or a quotient gives. Numbers below `mask` do not count:
/// they say "minus infinity".
///
/// # Errors
///
/// Returns the reason if the model does not run.
fn out_of_range(
    model: &Model,
    samples: &dyn Samples,
    options: &EvalOptions<'_>,
    (half, mask): (Half, f64),
) -> Result<OutOfRange, String> {
    let watch = Watch { mask, nodes: Mutex::default(), inputs: Mutex::default() };
    let evaluator =
        Evaluator::new(model, &options.clone().with_observer(&watch)).map_err(|failure| reason(&failure))?;
    for index in 0..samples.count() {
        run_sample(&evaluator, samples, index).map_err(SampleFailure::reason)?;
    }
    drop(evaluator);
    options.execution.interrupt.check().map_err(|stopped| stopped.to_string())?;
    let (nodes, inputs) =
        (watch.nodes.into_inner().unwrap_or_default(), watch.inputs.into_inner().unwrap_or_default());
    let mut found = OutOfRange::default();
    let (max, least) = (f64::from(half.max()), f64::from(half.tiny()) * LEAST_STEPS);
    let is_beyond = |worst: f64| worst.abs() * HEADROOM > max;
    let is_small = |worst: f64| worst != 0.0 && worst.abs() < least;
    for graph in model.all_graphs() {
        let own = model.graph(graph).inputs().iter();
        let own = own.filter_map(|&input| Some((input, *inputs.get(&input)?)));
        found.inputs.extend(own.filter(|&(_, worst)| is_beyond(worst) || is_small(worst)));
        let own = model.nodes(graph).filter(|&node| !model.node(node).is(op::CONSTANT));
        let own = own.filter_map(|node| Some((node, *nodes.get(&node)?)));
        found.nodes.extend(
            own.filter(|&(node, worst)| is_beyond(worst) || (is_small(worst) && multiplies(model, node))),
        );
    }
    Ok(found)
}

/// Whether the result of a node is a product or a quotient, of which small operands make smaller ones. Sums of numbers that cancel are small,
/// too, and are only what rounding left.
fn multiplies(model: &Model, node: NodeId) -> bool {
    let record = model.node(node);
    let is_product = record.is(op::MUL) || record.is(op::DIV);
    record.domain().is_empty() && (is_product || newest(record.op()).is_some_and(Traits::contracts))
}

/// Keeps the nodes whose numbers are out of range: of constants, and of inputs and results in runs. Returns the worst numbers by the
/// names of their values, and why the model did not run.
pub(super) fn keep(
    model: &Model,
    half: Half,
    options: &NarrowOptions<'_>,
    losses: &ConstantLosses,
    kept: &mut Kept,
) -> (Vec<(String, f64)>, Option<String>) {
    let mut found = Vec::new();
    let (mut mask, mut of_constants, mut large) = (f64::NEG_INFINITY, Vec::new(), Vec::new());
    let values = model.all_graphs().flat_map(|graph| model.definitions(graph));
    for value in values {
        let Some(losses) = losses.get(&value) else { continue };
        let Some(worst) = losses.worst.map(f64::from) else { continue };
        if losses.is_mask {
            mask = if worst < 0.0 { mask.max(worst / 2.0) } else { mask };
            continue;
        }
        keep_maker(model, value, WideReason::Range, kept);
        for node in model.consumers(value) {
            found.push((first_output(model, node), worst));
            kept.entry(node).or_insert(WideReason::Range);
            of_constants.push(node);
        }
        large.push(value);
    }
    if !large.is_empty() {
        let view = RuntimeView::of(model);
        large.iter().for_each(|&value| keep_passed(model, &view, value, kept));
    }
    // Without a run, a result may be as large as the constant, and a cast of it would give an infinity.
    let keep_results = |kept: &mut Kept| of_constants.iter().for_each(|&node| keep_users(model, node, kept));
    if !options.run || half == Half::Bfloat16 {
        keep_results(kept);
        return (found, None);
    }
    let settings = MeasureOptions::default()
        .with_given(options.given)
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone());
    let run = EvalOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone());
    let generated = GeneratedSamples::new(model, 1, &settings);
    let samples = options.samples.unwrap_or(&generated);
    match out_of_range(model, samples, &run, (half, mask)) {
        Ok(beyond) => {
            for (input, worst) in beyond.inputs {
                found.push((model.str(model.value(input).name()).to_owned(), worst));
                keep_consumers(model, input, kept);
            }
            for (node, worst) in beyond.nodes {
                found.push((first_output(model, node), worst));
                kept.entry(node).or_insert(WideReason::Range);
                keep_users(model, node, kept);
            }
            (found, None)
        }
        Err(reason) => {
            keep_results(kept);
            (found, Some(reason))
        }
    }
}

/// Keeps what takes a constant out of range, or what arithmetic makes of it, in runs in which it is not chosen, too.
fn keep_passed(model: &Model, view: &RuntimeView, value: ValueId, kept: &mut Kept) {
    let (mut open, mut done) = (vec![value], HashSet::<ValueId, RandomState>::default());
    while let Some(value) = open.pop() {
        if !done.insert(value) {
            continue;
        }
        let nodes = RefCell::new(Vec::new());
        let others = view.users(model, value, |model, node, _| {
            let passes = passes(model, node);
            nodes.borrow_mut().extend(passes.then_some(node));
            passes
        });
        for node in others.into_iter().map(|place| place.node).chain(nodes.into_inner()) {
            kept.entry(node).or_insert(WideReason::Range);
            open.extend(results_of_loop(model, node));
        }
    }
}

/// The results of a loop that takes a number, or whose body gives it by a node that passes it.
fn results_of_loop(model: &Model, node: NodeId) -> Vec<ValueId> {
    let record = model.node(node);
    let is_loop = record.is(op::LOOP) || record.is(op::SCAN);
    let graph = record.graph();
    let is_output = |at: &Use| matches!(at.user, User::Graph(of) if of == graph);
    let is_given =
        || record.outputs().iter().flatten().any(|&value| model.value(value).uses().iter().any(is_output));
    let mut found = Vec::new();
    if is_loop {
        found.extend(record.outputs().iter().flatten());
    }
    let owner = model.owner_node(graph).map(|owner| model.node(owner)).filter(|owner| !owner.is(op::IF));
    if let Some(owner) = owner.filter(|_| passes(model, node) && is_given()) {
        found.extend(owner.outputs().iter().flatten());
    }
    found
}

/// Whether elements of the result of a node are elements of its operands, or sums or products of a few.
fn passes(model: &Model, node: NodeId) -> bool {
    let record = model.node(node);
    let traits = newest(record.op()).filter(|_| record.domain().is_empty());
    traits.is_some_and(|traits| {
        let is_arithmetic =
            traits.is_elementwise() && !matches!(traits.rounding(), Rounding::Open | Rounding::Accumulates);
        is_arithmetic || traits.keeps_elements()
    })
}

/// Keeps the nodes that take a number out of range: they take it as it is.
fn keep_users(model: &Model, node: NodeId, kept: &mut Kept) {
    for output in model.node(node).outputs().iter().copied().flatten() {
        keep_consumers(model, output, kept);
    }
}

fn keep_consumers(model: &Model, value: ValueId, kept: &mut Kept) {
    for user in model.consumers(value) {
        kept.entry(user).or_insert(WideReason::Range);
    }
}
