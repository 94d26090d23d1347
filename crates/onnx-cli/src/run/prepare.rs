//! The inputs of a run: given ones are compared with the model, the others are generated.

use std::collections::HashMap;

use onnx_diag::Sink;
use onnx_eval::Value;
use onnx_eval::generate::GenerateError;
use onnx_ir::{Model, ValueId};
use onnx_pass::{FeedError, FeedGenerator, FeedOptions, Feeds};
use onnx_shape_infer::Inference;
use onnx_types::{Execution, Limits, Symbol};

use super::given::{Given, inputs, name};
use super::sizes::{self, Set, Sized};
use crate::exit::Failure;
use crate::output::shown;

/// The inputs of a run.
pub(crate) struct Inputs {
    /// The values by name, in the order of the inputs of the model.
    pub(crate) values: Vec<(String, Value)>,
    /// The names of those that are generated.
    pub(crate) generated: Vec<String>,
    /// The sizes of the dimension variables.
    pub(crate) sizes: Vec<(String, i64)>,
    /// The dimension variables whose size was chosen.
    pub(crate) open: Vec<String>,
    /// What contradicts the declarations of the model or the conditions of inference.
    pub(crate) findings: Sink,
    /// Whether the model cannot run on these shapes.
    pub(crate) is_refused: bool,
}

/// The inputs that have no value, neither given nor from an initializer.
pub(crate) fn missing<'m>(model: &'m Model, given: &Given) -> Vec<&'m str> {
    let is_missing = |input: &&ValueId| {
        model.value(**input).initializer().is_none() && !given.contains_key(name(model, **input))
    };
    inputs(model).iter().filter(is_missing).map(|&input| name(model, input)).collect()
}

/// An error if only some inputs are given and the user does not want the others to be generated.
pub(crate) fn refuse_partial(model: &Model, given: &Given, seed: Option<u64>) -> Result<(), Failure> {
    let missing = missing(model, given);
    if given.is_empty() || missing.is_empty() || seed.is_some() {
        return Ok(());
    }
    let names: Vec<String> = missing.iter().take(20).map(|name| format!("`{}`", shown(name))).collect();
    Err(Failure::new(format_args!("no value is given for the input {}", names.join(", ")))
        .help("give one with `--feed NAME=FILE`, or let it be generated with `--seed 0`"))
}

/// What the inputs of a run depend on.
pub(crate) struct Preparation<'a> {
    model: &'a Model,
    inference: &'a Inference,
    feeds: FeedGenerator<'a>,
}

impl<'a> Preparation<'a> {
    /// Chooses sizes for generated inputs.
    pub(crate) fn new(
        model: &'a Model,
        inference: &'a Inference,
        given: &Given,
        sized: &Sized<'_>,
        seed: u64,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let given: Vec<(&str, Value)> =
            given.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let execution = Execution::from(*limits).with_seed(seed);
        let options =
            FeedOptions::default().with_given(&given).with_sizes(sized.set).with_execution(execution);
        let feeds = FeedGenerator::new(model, inference, &options, sized.declared)
            .map_err(|error| refused(model, error))?;
        Ok(Self { model, inference, feeds })
    }

    /// Sizes that would satisfy the conditions that those of the user do not.
    pub(crate) fn suggested(&self) -> &[Set] {
        self.feeds.sizes().suggested()
    }

    /// The sizes that the user and the given inputs determine.
    pub(crate) fn fixed(&self) -> Vec<(Symbol, i64)> {
        self.feeds.sizes().fixed()
    }

    /// Chooses larger sizes; returns `false` if there are none.
    pub(crate) fn grow(&mut self) -> bool {
        self.feeds.grow()
    }

    /// Completes the inputs, and compares their shapes with what inference knows.
    pub(crate) fn inputs(&self) -> Result<Inputs, Failure> {
        let Feeds { values, generated, sizes, .. } =
            self.feeds.feeds().map_err(|error| refused(self.model, error))?;
        let (findings, is_refused) = check(self.model, self.inference, &values);
        let open = self.feeds.sizes().open();
        Ok(Inputs { values, generated, sizes, open, findings, is_refused })
    }
}

fn refused(model: &Model, error: FeedError) -> Failure {
    match error {
        FeedError::Size(error) => sizes::failure(model, &error),
        FeedError::Input { input, reason } => {
            let failure = Failure::from(GenerateFailure(&input, &reason));
            match reason {
                GenerateError::Limit(_) => failure,
                _ => failure.help(
                    "give a value: `--feed NAME=FILE`; sequences, maps and optionals are messages in a file `.pb`",
                ),
            }
        }
        other => Failure::new(format_args!("{other}")),
    }
}

/// No value can be generated for an input.
struct GenerateFailure<'a>(&'a str, &'a GenerateError);

impl std::fmt::Display for GenerateFailure<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no value can be generated for input `{}`: {}", shown(self.0), self.1)
    }
}

impl crate::exit::LibraryError for GenerateFailure<'_> {
    fn limit(&self) -> Option<&'static str> {
        match self.1 {
            GenerateError::Limit(name) => Some(name),
            _ => None,
        }
    }
}

/// What contradicts the shapes. A condition that only inferred results depend on does not stop the run.
fn check(model: &Model, inference: &Inference, values: &[(String, Value)]) -> (Sink, bool) {
    let values: HashMap<&str, &Value> = values.iter().map(|(name, value)| (name.as_str(), value)).collect();
    let shapes: Vec<(ValueId, Vec<i64>)> = inputs(model)
        .iter()
        .filter_map(|&input| Some((input, values.get(name(model, input))?.tensor()?.dims().to_vec())))
        .collect();
    let shapes: Vec<(ValueId, &[i64])> = shapes.iter().map(|(id, dims)| (*id, dims.as_slice())).collect();
    let found = inference.check_shapes(model, &shapes);
    let is_refused = found.has_errors();
    (found, is_refused)
}
