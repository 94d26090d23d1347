//! Inputs of a model for several runs.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt;

use onnx_eval::{EvalOptions, Evaluator, Failure, FailureKind, Value};
use onnx_ir::Model;
use onnx_pass::{FeedError, FeedGenerator, FeedOptions};
use onnx_shape_infer::{InferOptions, Inference, infer};

use crate::measure::{MeasureOptions, reason};

/// Inputs of a model for several runs.
pub trait Samples {
    /// Number of samples.
    fn count(&self) -> usize;

    /// The inputs of a run, by name.
    ///
    /// # Errors
    ///
    /// Returns the reason if they cannot be read or generated.
    fn sample(&self, index: usize) -> Result<Vec<(String, Value)>, String>;

    /// Chooses other inputs for a sample on which an operator of the model failed: an index that is generated, for example, can be out
    /// of range. Returns `false` if others do not exist, as for inputs of the user.
    fn replace(&self, _index: usize) -> bool {
        false
    }
}

/// The inputs of a run, by name.
type Inputs = Vec<(String, Value)>;

/// The sizes of the inputs of a run, by name.
type Sizes = Vec<(String, Vec<i64>)>;

/// Why a sample has no outputs.
pub(crate) enum SampleFailure {
    /// It cannot be read or generated.
    Input(String),
    /// The model does not run on it.
    Run(Failure),
}

impl SampleFailure {
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Input(reason) => reason,
            Self::Run(failure) => reason(&failure),
        }
    }
}

/// Runs a model on a sample. While an operator fails, the sample is [replaced](Samples::replace); an observer sees these runs, too.
/// Returns the inputs and the outputs.
pub(crate) fn run_sample(
    evaluator: &Evaluator<'_>,
    samples: &dyn Samples,
    index: usize,
) -> Result<(Inputs, Vec<Value>), SampleFailure> {
    loop {
        let inputs = samples.sample(index).map_err(SampleFailure::Input)?;
        match run_on(evaluator, &inputs) {
            Ok(outputs) => return Ok((inputs, outputs)),
            Err(failure) if failure.kind() == FailureKind::Operator && samples.replace(index) => {}
            Err(failure) => return Err(SampleFailure::Run(failure)),
        }
    }
}

/// Runs a model on inputs.
pub(crate) fn run_on(evaluator: &Evaluator<'_>, inputs: &[(String, Value)]) -> Result<Vec<Value>, Failure> {
    let by_name: Vec<(&str, Value)> =
        inputs.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    evaluator.run(&by_name)
}

/// The sizes of an input in all samples that were generated.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GeneratedInput {
    /// Its name.
    pub name: String,
    /// The least size of each axis.
    pub least: Vec<i64>,
    /// The greatest size of each axis.
    pub greatest: Vec<i64>,
}

/// Other seeds for a sample on which the model fails.
const MOST_REPLACEMENTS: u64 = 8;

/// Generated inputs, each from a separate seed.
pub struct GeneratedSamples<'a> {
    model: &'a Model,
    count: usize,
    options: &'a MeasureOptions<'a>,
    /// What is the same for all samples: the inferred types.
    inference: OnceCell<Inference>,
    /// How often sizes grow until the model runs: those of all samples, and those of each that was replaced, by its seed.
    growth: OnceCell<usize>,
    own_growth: RefCell<Vec<(u64, usize)>>,
    /// How often samples were replaced, by their indices.
    replaced: RefCell<Vec<(usize, u64)>>,
    /// The sizes of the tensors of each sample, as far as it was generated.
    sizes: RefCell<BTreeMap<usize, Sizes>>,
    open: RefCell<Vec<String>>,
}

impl fmt::Debug for GeneratedSamples<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GeneratedSamples").field("count", &self.count).finish_non_exhaustive()
    }
}

impl<'a> GeneratedSamples<'a> {
    /// A number of inputs for a model, from the seed of the options on.
    #[must_use]
    pub const fn new(model: &'a Model, count: usize, options: &'a MeasureOptions<'a>) -> Self {
        Self {
            model,
            count,
            options,
            inference: OnceCell::new(),
            growth: OnceCell::new(),
            own_growth: RefCell::new(Vec::new()),
            replaced: RefCell::new(Vec::new()),
            sizes: RefCell::new(BTreeMap::new()),
            open: RefCell::new(Vec::new()),
        }
    }

    /// The sizes of the tensors that were generated, in the order of the inputs, without those of samples that were
    /// [replaced](Samples::replace). Empty before the first sample.
    #[must_use]
    pub fn inputs(&self) -> Vec<GeneratedInput> {
        let mut inputs: Vec<GeneratedInput> = Vec::new();
        for (name, dims) in self.sizes.borrow().values().flatten() {
            match inputs.iter_mut().find(|input| input.name == *name) {
                Some(input) => {
                    input.least.iter_mut().zip(dims).for_each(|(least, &size)| *least = size.min(*least));
                    input.greatest.iter_mut().zip(dims).for_each(|(most, &size)| *most = size.max(*most));
                }
                None => inputs.push(GeneratedInput {
                    name: name.clone(),
                    least: dims.clone(),
                    greatest: dims.clone(),
                }),
            }
        }
        inputs
    }

    /// The dimension variables, and axes, whose sizes neither the model nor the options state. Empty before the first sample.
    #[must_use]
    pub fn open(&self) -> Vec<String> {
        self.open.borrow().clone()
    }

    fn replacements(&self, index: usize) -> u64 {
        self.replaced.borrow().iter().find(|(of, _)| *of == index).map_or(0, |(_, times)| *times)
    }

    /// How often sizes grow, if that is known: those of a seed that replaces another one, or those of all others.
    fn known_growth(&self, own: Option<u64>) -> Option<usize> {
        let Some(seed) = own else { return self.growth.get().copied() };
        self.own_growth.borrow().iter().find(|(of, _)| *of == seed).map(|(_, growth)| *growth)
    }

    /// Notes the sizes of a sample.
    fn note(&self, index: usize, values: &[(String, Value)]) {
        let tensors = values.iter().filter_map(|(name, value)| Some((name, value.tensor()?)));
        let sizes = tensors.map(|(name, tensor)| (name.clone(), tensor.dims().to_vec())).collect();
        self.sizes.borrow_mut().insert(index, sizes);
    }
}

impl Samples for GeneratedSamples<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn sample(&self, index: usize) -> Result<Vec<(String, Value)>, String> {
        let other = self.replacements(index).wrapping_mul(self.count as u64);
        let seed = self.options.execution.seed.wrapping_add(index as u64).wrapping_add(other);
        let settings = FeedOptions::default()
            .with_given(self.options.given)
            .with_sizes(self.options.sizes)
            .with_registry(self.options.registry)
            .with_data(self.options.data)
            .with_execution(self.options.execution.clone().with_seed(seed));
        let inference = self.inference.get_or_init(|| {
            let known = InferOptions::default()
                .with_registry(self.options.registry)
                .with_data(self.options.data)
                .with_execution(self.options.execution.clone());
            infer(self.model, &known)
        });
        let text = |error: FeedError| error.to_string();
        let mut generator = FeedGenerator::new(self.model, inference, &settings, &[]).map_err(text)?;
        // Sizes of another seed may contradict each other where those of the first one do not.
        let own = (other > 0).then_some(seed);
        match self.known_growth(own) {
            Some(growth) => (0..growth).for_each(|_| _ = generator.grow()),
            None => {
                let run = EvalOptions::default()
                    .with_registry(self.options.registry)
                    .with_data(self.options.data)
                    .with_execution(settings.execution.clone());
                let growth = generator.grow_until_it_runs(&run);
                match own {
                    Some(seed) => self.own_growth.borrow_mut().push((seed, growth)),
                    None => _ = self.growth.set(growth),
                }
            }
        }
        *self.open.borrow_mut() = generator.sizes().open();
        let values = generator.feeds().map_err(text)?.values;
        self.note(index, &values);
        Ok(values)
    }

    fn replace(&self, index: usize) -> bool {
        let mut replaced = self.replaced.borrow_mut();
        match replaced.iter_mut().find(|(of, _)| *of == index) {
            Some((_, times)) if *times >= MOST_REPLACEMENTS => false,
            Some((_, times)) => {
                *times += 1;
                true
            }
            None => {
                replaced.push((index, 1));
                true
            }
        }
    }
}
