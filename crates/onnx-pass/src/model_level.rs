//! The last level of a proof: the whole model before and after a pipeline, on the same inputs.
//!
//! Each edit is proved in isolation under what inference knows. If inference were wrong, the edit and its proof would rely on
//! the same error; a run of the whole model relies on nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onnx_eval::compare::{CompareOptions, Compared, Side, Tolerances, compare};
use onnx_eval::{EvalOptions, Failure, FailureKind, Precision, Value};
use onnx_ir::{Constant, Model};
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::tensor::{Payload, Tensor};
use onnx_types::{Execution, Limits};

use crate::assumption::Exactness;
use crate::cx::PassOptions;
use crate::feeds::{FeedGenerator, FeedOptions};
use crate::perturbed::{perturbed, precision, rounding_error};
use crate::prove::{MOST_WORK, message};
use crate::sample::SplitMix64;
use crate::transfer::in_memory;
use crate::verdict::{Counterexample, Verdict};

/// Initial sizes of the dimension variables, one for each run; they change until they contradict nothing that inference
/// knows.
const SIZES: [InitialSizes; 4] =
    [InitialSizes::Different, InitialSizes::All(3), InitialSizes::All(1), InitialSizes::All(0)];

/// Initial sizes of the dimension variables of a run.
#[derive(Clone, Copy)]
enum InitialSizes {
    /// No two sizes are equal, so that the use of a wrong variable is detected; for models that need equal sizes, there
    /// are runs with equal ones.
    Different,
    All(i64),
}

impl InitialSizes {
    /// The size of a variable by its number.
    const fn of(self, number: usize) -> i64 {
        match self {
            Self::All(size) => size,
            Self::Different => (number as i64).saturating_add(2),
        }
    }
}

/// Runs a model before and after edits of a class on generated inputs and compares the outputs. After exact edits they are
/// equal bit for bit. After others they are equal within the tolerances of their types, either as they are or in floats of 64
/// bits: a threshold may amplify the rounding of a run, and constants that were folded are rounded in both. Only runs count that the
/// model before completes, and in which the rounding of weights does not change more than the tolerance.
///
/// A run is bounded by the limits of proofs, in proportion to the model: [`proof_steps`](Limits::proof_steps) for each node,
/// [`proof_bytes`](Limits::proof_bytes) and sixteen times the bytes of the weights; and by the limits of runs. A run that exceeds
/// them, or for which weights are missing, does not count, whichever model it is of, and none follows it. Other sizes are tried until
/// the runs took four times the operations that a claim of one node may take.
#[must_use]
pub fn prove_models(before: &Model, after: &Model, class: Exactness, options: &PassOptions<'_>) -> Verdict {
    if let Some(reason) = incomparable(before, options) {
        return Verdict::Untested(reason);
    }
    let bounded = PassOptions { execution: bounded(before, after, &options.execution), ..options.clone() };
    let known = InferOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone());
    let inference = infer(before, &known);
    let (mut runs, mut attempts) = (0, 0);
    let mut reason = "no inputs can be generated".to_owned();
    let mut first: Option<FeedGenerator<'_>> = None;
    let steps = AtomicU64::new(0);
    let most = bounded.execution.limits.proof_steps.saturating_mul(MOST_WORK);
    for (&sizes, offset) in SIZES.iter().zip(0..) {
        let seed = options.execution.seed.wrapping_add(offset);
        let initial = |number, _: &str| sizes.of(number);
        let settings = FeedOptions::default().with_execution(bounded.execution.clone().with_seed(seed));
        let generator = FeedGenerator::with_initial_sizes(before, &inference, &settings, &[], &initial);
        let Ok(generator) = generator else { continue };
        if matches!(sizes, InitialSizes::Different) && generator.sizes().named().len() < 2 {
            continue;
        }
        if runs > 0 && steps.load(Ordering::Relaxed) >= most {
            break;
        }
        attempts += 1;
        match run((before, after), class, &generator, &bounded, &steps) {
            Ok(()) => runs += 1,
            Err(Stop::Skipped(why)) => reason = why,
            Err(Stop::Failed(why)) => {
                reason = why;
                first.get_or_insert(generator);
            }
            Err(Stop::Impossible(failure)) => {
                reason = why(&failure, &bounded.execution.limits, &options.execution.limits);
                first = None;
                break;
            }
            Err(Stop::Different(difference)) => return Verdict::Refuted(difference),
        }
    }
    // A model in which an operator fails on small inputs may run on larger ones.
    while let Some(generator) = first.as_mut().filter(|_| runs == 0)
        && generator.grow()
    {
        attempts += 1;
        match run((before, after), class, generator, &bounded, &steps) {
            Ok(()) => runs += 1,
            Err(Stop::Skipped(_) | Stop::Failed(_)) => {}
            Err(Stop::Impossible(_)) => break,
            Err(Stop::Different(difference)) => return Verdict::Refuted(difference),
        }
    }
    match runs {
        0 => Verdict::Untested(reason),
        runs => Verdict::Tested { runs, attempts },
    }
}

/// Why the results of a model cannot be compared, if that is so.
fn incomparable(model: &Model, options: &PassOptions<'_>) -> Option<String> {
    let is_random = |&node: &onnx_ir::NodeId| !model.has_deterministic_operator(node, options.registry);
    if let Some(node) = model.all_graphs().flat_map(|graph| model.nodes(graph)).find(is_random) {
        let op = model.str(model.node(node).op());
        return Some(format!("`{op}` is not known to be deterministic"));
    }
    let is_empty = model.graph(model.main_graph()).outputs().is_empty();
    is_empty.then(|| "the model has no outputs".to_owned())
}

/// Runs a model before and after an edit that changes its results, and measures by how much. It is refuted if an output differs by
/// more than the tolerances.
pub(crate) fn measure(
    before: &Model,
    after: &Model,
    tolerances: &Tolerances,
    options: &PassOptions<'_>,
) -> Verdict {
    let known = InferOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone());
    let inference = infer(before, &known);
    let run = EvalOptions::default()
        .with_execution(options.execution.clone())
        .with_data(options.data)
        .with_registry(options.registry);
    let compared = CompareOptions::default().with_tolerances(*tolerances);
    let mut reason = "no inputs can be generated".to_owned();
    let (mut runs, mut absolute, mut relative) = (0_usize, 0.0_f64, 0.0_f64);
    for (&sizes, offset) in SIZES.iter().zip(0..) {
        let seed = options.execution.seed.wrapping_add(offset);
        let initial = |number, _: &str| sizes.of(number);
        let settings = FeedOptions::default().with_execution(options.execution.clone().with_seed(seed));
        let generator = FeedGenerator::with_initial_sizes(before, &inference, &settings, &[], &initial);
        let Ok(generator) = generator else { continue };
        if matches!(sizes, InitialSizes::Different) && generator.sizes().named().len() < 2 {
            continue;
        }
        let feeds = match generator.feeds() {
            Ok(feeds) => feeds,
            Err(error) => {
                reason = error.to_string();
                continue;
            }
        };
        let inputs = feeds.by_name();
        let difference = match compare((before, &run), (after, &run), &inputs, &compared) {
            Ok(compared) if compared.agrees() => {
                for output in &compared.outputs {
                    absolute = absolute.max(output.difference.max_abs);
                    relative = relative.max(output.difference.max_rel);
                }
                runs = runs.saturating_add(1);
                continue;
            }
            Ok(compared) => {
                let first = compared.outputs.iter().find(|output| !output.difference.agrees());
                first.map_or_else(|| "the outputs have other names".to_owned(), describe)
            }
            Err(failure) if failure.side == Side::A => {
                reason = format!("the model before does not run: {}", failure.failure);
                continue;
            }
            Err(failure) => format!("the model after does not run: {}", failure.failure),
        };
        let (sizes, inputs) = (feeds.sizes, feeds.values);
        let found = Counterexample { sizes, inputs, difference, reproducer: String::new(), case: None };
        return Verdict::Refuted(Box::new(found));
    }
    if runs == 0 { Verdict::Untested(reason) } else { Verdict::Measured { runs, absolute, relative } }
}

/// The reason why a run is not a success.
enum Stop {
    /// The run does not count, for this reason.
    Skipped(String),
    /// An operator of the model before fails on the inputs.
    Failed(String),
    /// No run would count: limits, or data that is missing.
    Impossible(Box<Failure>),
    Different(Box<Counterexample>),
}

/// The context of a run of one of the models.
fn bounded(before: &Model, after: &Model, execution: &Execution) -> Execution {
    /// Weights of one byte that are computed in 64 bits, before and after a step.
    const COPIES: u64 = 16;
    let limits = execution.limits;
    let nodes = before.node_count().max(after.node_count()) as u64;
    let bytes = weight_bytes(before).max(weight_bytes(after)).saturating_mul(COPIES);
    let run_bytes = limits.proof_bytes.saturating_add(bytes).min(limits.run_bytes);
    execution.clone().with_limits(Limits {
        run_bytes,
        run_steps: limits.proof_steps.saturating_mul(nodes.max(1)).min(limits.run_steps),
        ..limits
    })
}

/// Bytes of the weights that are there: those of a file, and the sizes of those in others.
fn weight_bytes(model: &Model) -> u64 {
    let constants = model.all_graphs().flat_map(|graph| model.initializers(graph));
    let bytes = |tensor: &Tensor| match tensor.payload() {
        Payload::External(_) => tensor.byte_len().unwrap_or(0),
        payload => payload.resident_bytes(),
    };
    constants.filter_map(|value| model.constant_tensor(value)).map(bytes).fold(0, u64::saturating_add)
}

fn run(
    (before, after): (&Model, &Model),
    class: Exactness,
    generator: &FeedGenerator<'_>,
    options: &PassOptions<'_>,
    steps: &AtomicU64,
) -> Result<(), Stop> {
    let feeds = generator.feeds().map_err(|error| Stop::Skipped(error.to_string()))?;
    let inputs = feeds.by_name();
    let run = EvalOptions::default()
        .with_execution(options.execution.clone())
        .with_data(options.data)
        .with_registry(options.registry)
        .with_meter(Some(steps));
    let is_exact = class == Exactness::Exact;
    let tolerances = if is_exact { Tolerances::EXACT } else { Tolerances::default() };
    let compared = CompareOptions::default().with_tolerances(tolerances).with_shares(true);
    let Some(difference) = difference((before, after), &run, &inputs, &compared)? else { return Ok(()) };
    if !is_exact {
        let wide = run.with_precision(Precision::Double);
        let agrees = |pair| match self::difference(pair, &wide, &inputs, &compared) {
            Err(stop @ Stop::Impossible(_)) => Err(stop),
            found => Ok(matches!(found, Ok(None))),
        };
        if agrees((before, after))? {
            return Ok(());
        }
        if !agrees((before, &with_rounded_weights(before, options)))? {
            let why = "the rounding of weights changes the results by more than the tolerance";
            return Err(Stop::Skipped(why.to_owned()));
        }
    }
    Err(Stop::Different(Box::new(Counterexample {
        sizes: feeds.sizes,
        inputs: feeds.values,
        difference,
        reproducer: String::new(),
        case: None,
    })))
}

/// The model with weights that are changed by some times their rounding error: folding computes weights in several steps, each of
/// which rounds.
fn with_rounded_weights(model: &Model, options: &PassOptions<'_>) -> Model {
    const MARGIN: f64 = 32.0;
    let mut noisy = model.clone();
    let mut rng = SplitMix64::new(options.execution.seed);
    let graphs: Vec<_> = model.all_graphs().collect();
    for graph in graphs {
        for value in model.initializers(graph) {
            let tensor = model.constant_tensor(value).and_then(|tensor| in_memory(tensor, options.data).ok());
            let Some(tensor) = tensor else { continue };
            let Some(bits) = precision(tensor.elem()) else { continue };
            let error = MARGIN * rounding_error(bits);
            if let Some(changed) = perturbed(&Value::from(tensor), error, &mut rng).tensor() {
                let constant = Constant::Dense(Tensor::clone(changed));
                noisy.set_initializer(graph, value, Some(Arc::new(constant)));
            }
        }
    }
    noisy
}

/// Returns `true` if a failure is one of the model, and not of what can be run here.
const fn is_evidence(kind: FailureKind) -> bool {
    !matches!(kind, FailureKind::Missing | FailureKind::Limit | FailureKind::Memory | FailureKind::Stopped)
}

/// The difference of the results of a run; `None` if they are equal.
fn difference(
    (before, after): (&Model, &Model),
    run: &EvalOptions<'_>,
    inputs: &[(&str, Value)],
    options: &CompareOptions,
) -> Result<Option<String>, Stop> {
    match compare((before, run), (after, run), inputs, options) {
        Err(failure) if is_impossible(failure.failure.kind()) => {
            Err(Stop::Impossible(Box::new(failure.failure)))
        }
        Err(failure) if failure.side == Side::A => {
            let why = format!("the model before does not run: {}", failure.failure);
            let is_operator = failure.failure.kind() == FailureKind::Operator;
            Err(if is_operator { Stop::Failed(why) } else { Stop::Skipped(why) })
        }
        // Nothing was computed that could differ.
        Err(failure) if !is_evidence(failure.failure.kind()) => {
            Err(Stop::Skipped(format!("the model after does not run: {}", failure.failure)))
        }
        Err(failure) => Ok(Some(format!("the model after does not run: {}", failure.failure))),
        Ok(compared) if compared.agrees() => Ok(None),
        Ok(compared) => {
            let first = compared.outputs.iter().find(|output| !output.difference.agrees());
            Ok(Some(first.map_or_else(|| "the outputs have other names".to_owned(), describe)))
        }
    }
}

/// Whether a failure is due to neither of the models.
const fn is_impossible(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::Data | FailureKind::Limit | FailureKind::Memory | FailureKind::Stopped)
}

/// Why no run is possible. A limit has the name of the one that is the least.
fn why(failure: &Failure, bounded: &Limits, given: &Limits) -> String {
    let message = match failure.limit() {
        Some(name @ ("run_bytes" | "run_steps")) if bounded.get(name) != given.get(name) => message(failure),
        _ => failure.diagnostic().message.clone(),
    };
    let missing = if failure.kind() == FailureKind::Data { "data missing: " } else { "" };
    format!("{missing}{}: {message}", failure.diagnostic().locus)
}

fn describe(output: &Compared) -> String {
    let name = &output.name;
    match (&output.difference.mismatch, &output.difference.first) {
        (Some(mismatch), _) => format!("{name}: {mismatch}"),
        (None, Some(first)) => {
            let index: Vec<String> = first.index.iter().map(ToString::to_string).collect();
            format!("{name}{}[{}] is {} before and {} after", first.path, index.join(","), first.a, first.b)
        }
        (None, None) => format!("{name} differs"),
    }
}
