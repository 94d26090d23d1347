//! The inputs of a run: given ones are compared with the model, the others are generated.

use std::collections::HashMap;

use onnx_diag::{Caps, Policy, Severity, Sink};
use onnx_eval::Value;
use onnx_eval::generate::{GenerateError, Generator};
use onnx_ir::{Def, Model, ValueId};
use onnx_shape_infer::{Inference, Strength, Violation};
use onnx_types::{Limits, Symbol};

use super::given::{Given, inputs, name};
use super::sizes::{Set, Sized, Sizes};
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
    given: &'a Given,
    seed: u64,
    limits: &'a Limits,
    /// The shapes of given inputs.
    shapes: Vec<(ValueId, Vec<i64>)>,
    sizes: Sizes,
}

impl<'a> Preparation<'a> {
    /// Chooses sizes for generated inputs.
    pub(crate) fn new(
        model: &'a Model,
        inference: &'a Inference,
        given: &'a Given,
        sized: &Sized<'_>,
        seed: u64,
        limits: &'a Limits,
    ) -> Result<Self, Failure> {
        let shapes: Vec<(ValueId, Vec<i64>)> = inputs(model)
            .iter()
            .filter_map(|&input| Some((input, given.get(name(model, input))?.tensor()?.dims().to_vec())))
            .collect();
        let sizes = Sizes::choose(model, inference, &shapes, sized, seed)?;
        Ok(Self { model, inference, given, seed, limits, shapes, sizes })
    }

    /// Sizes that would satisfy the conditions that those of the user do not.
    pub(crate) fn suggested(&self) -> &[Set] {
        self.sizes.suggested()
    }

    /// The sizes that the user and the given inputs determine.
    pub(crate) fn fixed(&self) -> Vec<(Symbol, i64)> {
        self.sizes.fixed()
    }

    /// Chooses larger sizes; returns `false` if there are none.
    pub(crate) fn grow(&mut self) -> bool {
        self.sizes.grow(self.model, self.inference, &self.shapes)
    }

    /// Completes the inputs, and compares their shapes with what inference knows.
    pub(crate) fn inputs(&self) -> Result<Inputs, Failure> {
        let &Self { model, inference, given, .. } = self;
        let mut compiled = inference.shapes(model);
        let evaluated = compiled.evaluate(&self.sizes.symbols());
        let dims = |value: ValueId| {
            let is_input =
                matches!(model.value(value).def(), Def::Input { graph, .. } if graph == model.main_graph());
            let of_input = is_input.then(|| self.sizes.shape(inference, value));
            of_input.unwrap_or_else(|| evaluated.shape(value))
        };
        let generator = Generator::new(model, self.seed, &dims);
        let (mut values, mut generated) = (Vec::new(), Vec::new());
        for &input in inputs(model) {
            let own = name(model, input);
            if let Some(value) = given.get(own) {
                values.push((own.to_owned(), value.clone()));
            } else if model.value(input).initializer().is_none() {
                let value = generator.value(input, self.limits).map_err(|error| refused(own, &error))?;
                values.push((own.to_owned(), value));
                generated.push(own.to_owned());
            }
        }
        let (findings, is_refused) = check(model, inference, &values);
        Ok(Inputs {
            values,
            generated,
            sizes: self.sizes.named(),
            open: self.sizes.open(),
            findings,
            is_refused,
        })
    }
}

fn refused(input: &str, error: &GenerateError) -> Failure {
    let failure = Failure::from(GenerateFailure(input, error));
    match error {
        GenerateError::Limit(_) => failure,
        _ => failure.help(
            "give a value: `--feed NAME=FILE`; sequences, maps and optionals are messages in a file `.pb`",
        ),
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
    let (_, violations) = inference.solve(model, &shapes);
    let is_refused = violations.iter().any(|violation| match violation {
        Violation::Rank { .. } | Violation::Size { .. } => true,
        Violation::Fact(fact) => fact.strength == Strength::Proved,
        Violation::Scoped(_) => false,
    });
    let found = inference.check_shapes(model, &shapes);
    let policy = if is_refused { Policy::new() } else { Policy::new().at_most(Severity::Warning) };
    let mut sink = Sink::with(policy, Caps { per_rule: usize::MAX, total: found.diagnostics().len() });
    sink.merge(found);
    (sink, is_refused)
}
