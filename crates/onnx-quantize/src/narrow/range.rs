//! Nodes whose numbers leave the range of a format in a run.

use std::collections::HashMap;
use std::sync::Mutex;

use foldhash::fast::RandomState;
use onnx_eval::{EvalOptions, Evaluator, NodeRun, Observer, Value};
use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::traits::newest;
use onnx_schema::{Traits, op};
use onnx_types::ElemType;
use onnx_types::tensor::NoData;

use super::functions::Types;
use super::{ConstantLosses, Half, Kept, NarrowOptions, WideReason, first_output, keep_maker, large};
use crate::edits::evaluation;
use crate::measure::{MeasureOptions, reason};
use crate::samples::{GeneratedSamples, SampleFailure, Samples, run_sample};
use crate::types::inner_elem;

/// If the greatest of some numbers has fewer steps of the narrow type, all of them lose most of their bits.
const LEAST_STEPS: f64 = 16.0;

/// Other inputs than those of the runs have greater numbers: nothing that comes within this factor of the range becomes narrow.
pub(super) const HEADROOM: f64 = 2.0;

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

/// What is out of range.
#[derive(Default)]
pub(super) struct Ranges {
    /// The worst numbers by the names of their values.
    pub(super) worst: Vec<(String, f64)>,
    /// The values that can have numbers of constants out of range.
    pub(super) wide: Vec<ValueId>,
    /// Why the model did not run.
    pub(super) not_run: Option<String>,
}

/// Keeps the nodes whose numbers are out of range: of constants, and of inputs and results in runs.
pub(super) fn keep(
    model: &Model,
    types: &Types,
    half: Half,
    options: &NarrowOptions<'_>,
    losses: &ConstantLosses,
    kept: &mut Kept,
) -> Ranges {
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
        large.push((value, worst));
    }
    for (value, worst) in large::find(model, types, half, options, losses) {
        if types.get(&value).and_then(inner_elem) == Some(ElemType::Float) {
            found.push((model.str(model.value(value).name()).to_owned(), worst));
        }
        large.push((value, worst));
    }
    let wide = large::reached(model, types, half, options, large);
    // Without a run, a result may be as large as the constant, and a cast of it would give an infinity.
    let keep_results = |kept: &mut Kept| of_constants.iter().for_each(|&node| keep_users(model, node, kept));
    if !options.run || half == Half::Bfloat16 {
        keep_results(kept);
        return Ranges { worst: found, wide, not_run: None };
    }
    let settings = MeasureOptions::default()
        .with_given(options.given)
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone());
    let run = evaluation(options.registry, options.data, &options.execution);
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
            Ranges { worst: found, wide, not_run: None }
        }
        Err(reason) => {
            keep_results(kept);
            Ranges { worst: found, wide, not_run: Some(reason) }
        }
    }
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
