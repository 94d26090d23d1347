//! The last level of a proof: the whole model before and after a pipeline, on the same inputs.
//!
//! Each edit is proved in isolation under what inference knows. If inference were wrong, the edit and its proof would rely on
//! the same error; a run of the whole model relies on nothing.

use std::sync::Arc;

use onnx_eval::compare::{CompareOptions, Compared, Side, Tolerances, compare};
use onnx_eval::generate::Generator;
use onnx_eval::{EvalOptions, Precision, Value};
use onnx_ir::{Constant, Model, ValueId};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, Symbol};

use crate::assumption::Exactness;
use crate::cx::PassOptions;
use crate::extract::in_memory;
use crate::prove::{Counterexample, Verdict, perturbed, precision, rounding_error};
use crate::sample::Rng;

/// Sizes of the dimension variables, one for each run.
const SIZES: [Sizes; 4] = [Sizes::Different, Sizes::All(3), Sizes::All(1), Sizes::All(0)];

/// Sizes of the dimension variables of a run.
#[derive(Clone, Copy)]
enum Sizes {
    /// No two sizes are equal, so that the use of a wrong variable is detected; for models that need equal sizes, there
    /// are runs with equal ones.
    Different,
    All(i64),
}

impl Sizes {
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
#[must_use]
pub fn prove_models(before: &Model, after: &Model, class: Exactness, options: &PassOptions<'_>) -> Verdict {
    let is_random = |&node: &onnx_ir::NodeId| !before.has_deterministic_operator(node, options.registry);
    if let Some(node) = before.all_graphs().flat_map(|graph| before.nodes(graph)).find(is_random) {
        let op = before.str(before.node(node).op());
        return Verdict::Untested(format!("`{op}` is not known to be deterministic"));
    }
    if before.graph(before.main_graph()).outputs().is_empty() {
        return Verdict::Untested("the model has no outputs".to_owned());
    }
    let variables = variables(before);
    let is_run = |sizes: &&Sizes| variables.len() > 1 || !matches!(sizes, Sizes::Different);
    let (mut runs, mut attempts) = (0, 0);
    let mut reason = "no inputs can be generated".to_owned();
    for &sizes in SIZES.iter().filter(is_run) {
        attempts += 1;
        match run(before, after, class, (sizes, &variables), options) {
            Ok(()) => runs += 1,
            Err(Stop::Skipped(why)) => reason = why,
            Err(Stop::Different(difference)) => return Verdict::Refuted(difference),
        }
    }
    match runs {
        0 => Verdict::Untested(reason),
        runs => Verdict::Tested { runs, attempts },
    }
}

/// The reason why a run is not a success.
enum Stop {
    /// The run does not count, for this reason.
    Skipped(String),
    Different(Box<Counterexample>),
}

fn run(
    before: &Model,
    after: &Model,
    class: Exactness,
    (sizes, variables): (Sizes, &[Symbol]),
    options: &PassOptions<'_>,
) -> Result<(), Stop> {
    let inputs = inputs(before, sizes, variables, options)?;
    let run = EvalOptions::default()
        .with_execution(options.execution.clone())
        .with_data(options.data)
        .with_registry(options.registry);
    let is_exact = class == Exactness::Exact;
    let tolerances = if is_exact { Tolerances::EXACT } else { Tolerances::default() };
    let compared = CompareOptions::default().with_tolerances(tolerances);
    let Some(difference) = difference((before, after), &run, &inputs, &compared)? else { return Ok(()) };
    if !is_exact {
        let wide = run.with_precision(Precision::Double);
        let agrees = |pair| matches!(self::difference(pair, &wide, &inputs, &compared), Ok(None));
        if agrees((before, after)) {
            return Ok(());
        }
        if !agrees((before, &with_rounded_weights(before, options))) {
            let why = "the rounding of weights changes the results by more than the tolerance";
            return Err(Stop::Skipped(why.to_owned()));
        }
    }
    Err(Stop::Different(Box::new(Counterexample {
        sizes: variables
            .iter()
            .enumerate()
            .map(|(number, &variable)| (before.str(variable).to_owned(), sizes.of(number)))
            .collect(),
        inputs: inputs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        difference,
        reproducer: String::new(),
    })))
}

/// The model with weights that are changed by some times their rounding error: folding computes weights in several steps, each of
/// which rounds.
fn with_rounded_weights(model: &Model, options: &PassOptions<'_>) -> Model {
    const MARGIN: f64 = 32.0;
    let mut noisy = model.clone();
    let mut rng = Rng::new(options.execution.seed);
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

/// The difference of the results of a run; `None` if they are equal.
fn difference(
    (before, after): (&Model, &Model),
    run: &EvalOptions<'_>,
    inputs: &[(&str, Value)],
    options: &CompareOptions,
) -> Result<Option<String>, Stop> {
    match compare((before, run), (after, run), inputs, options) {
        Err(failure) if failure.side == Side::A => {
            Err(Stop::Skipped(format!("the model before does not run: {}", failure.failure)))
        }
        Err(failure) => Ok(Some(format!("the model after does not run: {}", failure.failure))),
        Ok(compared) if compared.agrees() => Ok(None),
        Ok(compared) => {
            let first = compared.outputs.iter().find(|output| !output.difference.agrees());
            Ok(Some(first.map_or_else(|| "the outputs have other names".to_owned(), describe)))
        }
    }
}

/// Values of the inputs without defaults, by name.
fn inputs<'a>(
    model: &'a Model,
    sizes: Sizes,
    variables: &[Symbol],
    options: &PassOptions<'_>,
) -> Result<Vec<(&'a str, Value)>, Stop> {
    let size = |&dim: &Dim| match dim {
        Dim::Known(size) => size,
        Dim::Var(name) => sizes.of(variables.iter().position(|&known| known == name).unwrap_or(0)),
        Dim::Unknown | Dim::Expr(_) => sizes.of(0),
    };
    let sizes = |value: ValueId| {
        let shape = model.ty(value)?.shape()?;
        Some(shape.dims().iter().map(|dim| Some(size(dim))).collect())
    };
    let generator = Generator::new(model, options.execution.seed, &sizes);
    let open = model.graph(model.main_graph()).inputs().iter();
    let open = open.filter(|&&input| model.value(input).initializer().is_none());
    let value = |&input: &ValueId| {
        let value = generator.value(input, &options.execution.limits);
        let value = value.map_err(|error| Stop::Skipped(error.to_string()))?;
        Ok((model.str(model.value(input).name()), value))
    };
    open.map(value).collect()
}

/// The dimension variables of the inputs, in order.
fn variables(model: &Model) -> Vec<Symbol> {
    let mut variables: Vec<Symbol> = Vec::new();
    for &input in model.graph(model.main_graph()).inputs() {
        let shape = model.ty(input).and_then(|ty| ty.shape());
        for dim in shape.into_iter().flat_map(|shape| shape.dims()) {
            if let Dim::Var(name) = dim
                && !variables.contains(name)
            {
                variables.push(*name);
            }
        }
    }
    variables
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
