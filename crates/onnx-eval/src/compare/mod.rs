//! Comparing what two models compute: both run on the same inputs, and values of equal name are compared.
//!
//! Two floats are equal if they are the same number, both are NaN, or they are within a [`Tolerance`]. Integers, strings and
//! `bool` are compared exactly. Types and shapes must be equal, except that an inner value may have another float type: its
//! elements are compared as numbers, with the tolerance of the narrower type.
//!
//! ```
//! use onnx_eval::compare::{CompareOptions, Side, compare};
//! use onnx_eval::{EvalOptions, Value};
//! use onnx_types::tensor::Tensor;
//!
//! let parse = |body: &str| {
//!     let text = format!(r#"<ir_version: 10, opset_import: ["": 20]> g (float[2] x) => (float[2] y) {{ {body} }}"#);
//!     onnx_text::parse_model(&text, &onnx_text::ParseOptions::default())
//! };
//! let (a, b) = (parse("y = Mul (x, x)")?, parse("y = Abs (x)")?);
//! let options = EvalOptions::default();
//! let inputs = [("x", Value::from(Tensor::vector(&[1.0_f32, 3.0])))];
//! let found = compare((&a, &options), (&b, &options), &inputs, &CompareOptions::default()).unwrap();
//! let difference = &found.outputs[0].difference;
//! assert_eq!((difference.exceeding, difference.max_abs), (1, 6.0));
//! assert_eq!(difference.first.as_ref().unwrap().index, [1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod difference;
mod elements;
mod mixed;
mod similarity;
mod tolerance;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;
use onnx_diag::Locus;
use onnx_ir::{GraphOutput, Model, NodeId, ValueId};
use onnx_types::Interrupt;

use crate::engine::{Evaluator, Shared};
use crate::fault::{self, Failure, FailureKind};
use crate::observer::{NodeRun, Observer};
use crate::options::EvalOptions;
use crate::value::Value;
use difference::compare_numbers;

pub use difference::{Difference, First, compare_values, compare_values_within};
pub use similarity::{Noise, Similarity};
pub use tolerance::{DEFAULTS, Tolerance, Tolerances};

/// What is compared, and how exactly.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct CompareOptions {
    /// How far two floats may be apart.
    pub tolerances: Tolerances,
    /// Whether the outputs of nodes of the main graphs that have the same name are compared, too. Their values in the first
    /// model stay in memory, at most [`run_bytes`](crate::Limits::run_bytes). Tensors of two float types are compared as
    /// numbers, with the tolerance of the narrower type; [`Compared::ty_in_b`] is the other type.
    pub inner: bool,
    /// Whether the direction and the size of the differences of float tensors are computed as well:
    /// [`Compared::similarity`].
    pub similarity: bool,
    /// Whether products that both models compute from the same bits are computed once: two versions of a model take little longer
    /// than one. Their operands and results stay in memory, at most half of [`run_bytes`](crate::Limits::run_bytes). For models
    /// with the same options and data.
    pub shares: bool,
}

onnx_types::option_setters! {
    CompareOptions {
        with_tolerances => tolerances: Tolerances,
        with_inner => inner: bool,
        with_similarity => similarity: bool,
        with_shares => shares: bool,
    }
}

/// One of the two models.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The first one.
    A,
    /// The second one.
    B,
}

/// One of the models does not run.
#[derive(Clone, Debug)]
pub struct CompareFailure {
    /// The model.
    pub side: Side,
    /// Why.
    pub failure: Failure,
}

impl fmt::Display for CompareFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.side == Side::A { "first" } else { "second" };
        write!(f, "the {side} model does not run: {}", self.failure)
    }
}

impl std::error::Error for CompareFailure {}

/// Two values of the same name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Compared {
    /// The name.
    pub name: String,
    /// The value in the second model.
    pub value: ValueId,
    /// The node of the second model that computes it, for an inner value.
    pub node: Option<NodeId>,
    /// The node of the first model that computes it, for an inner value; `None` also if no node of the main graph does.
    pub node_in_a: Option<NodeId>,
    /// The type and the shape in the first model.
    pub ty: String,
    /// The type and the shape in the second model if they are others.
    pub ty_in_b: Option<String>,
    has_other_sizes: bool,
    /// Whether it is an output of the second model.
    pub is_output: bool,
    /// How the values differ.
    pub difference: Difference,
    /// How similar the values are as vectors, if that is asked for and both are tensors of numbers of one shape.
    pub similarity: Option<Similarity>,
}

impl Compared {
    /// Returns `true` if both values are tensors, or optionals of one, with other sizes in the second model.
    #[must_use]
    pub const fn has_other_sizes(&self) -> bool {
        self.has_other_sizes
    }
}

impl CompareOptions {
    fn similarity(&self, a: &Value, b: &Value, interrupt: &Interrupt) -> Option<Similarity> {
        if self.similarity { Similarity::of(a, b, interrupt) } else { None }
    }
}

/// What a comparison found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Comparison {
    /// The outputs of the second model, each with the value of this name in the first one: an output or an inner value.
    pub outputs: Vec<Compared>,
    /// With [`CompareOptions::inner`], the values of nodes of both main graphs in the order in which the second model computes
    /// them, outputs included.
    pub inner: Vec<Compared>,
    /// The outputs of the first model that the second one does not have.
    pub only_in_a: Vec<String>,
    /// The outputs of the second model for which the first one has no value.
    pub only_in_b: Vec<String>,
}

impl Comparison {
    /// Whether both models have the same outputs, at least one, and all of them are within the tolerances.
    #[must_use]
    pub fn agrees(&self) -> bool {
        let are_same = self.only_in_a.is_empty() && self.only_in_b.is_empty() && !self.outputs.is_empty();
        are_same && self.outputs.iter().all(|output| output.difference.agrees())
    }

    /// Whether all outputs of the second model that are values of the first one are within the tolerances, and there is one.
    #[must_use]
    pub fn agrees_in_common(&self) -> bool {
        !self.outputs.is_empty() && self.outputs.iter().all(|output| output.difference.agrees())
    }

    /// Number of values of nodes that were compared and are not outputs.
    #[must_use]
    pub fn inner_values(&self) -> usize {
        self.inner.iter().filter(|compared| !compared.is_output).count()
    }

    /// The first inner value, in the order in which the second model computes them, that is beyond the tolerances. Values that are
    /// not outputs and have [other sizes](Compared::has_other_sizes) in the second model do not count: a name can stand for another
    /// value there.
    #[must_use]
    pub fn divergence(&self) -> Option<&Compared> {
        let is_counted = |compared: &&Compared| compared.is_output || !compared.has_other_sizes();
        self.inner.iter().filter(is_counted).find(|compared| !compared.difference.agrees())
    }
}

/// Runs two models on the same inputs and compares their outputs by name; see [`Pair`].
///
/// The [module](self) has an example of two models. A part, whose input `h` is an inner value of the first model:
///
/// ```
/// use onnx_eval::compare::{CompareOptions, compare};
/// use onnx_eval::{EvalOptions, Value};
/// use onnx_types::tensor::Tensor;
///
/// let parse = |graph: &str| {
///     let text = format!(r#"<ir_version: 10, opset_import: ["": 20]> {graph}"#);
///     onnx_text::parse_model(&text, &onnx_text::ParseOptions::default())
/// };
/// let whole = parse("g (float[2] x) => (float[2] y) { h = Neg (x) y = Relu (h) }")?;
/// let part = parse("g (float[2] h) => (float[2] y) { y = Abs (h) }")?;
/// let options = EvalOptions::default();
/// let x = Value::from(Tensor::vector(&[-1.0_f32, 2.0]));
/// let found = compare((&whole, &options), (&part, &options), &[("x", x)], &CompareOptions::default())?;
/// assert!(!found.agrees());
/// assert_eq!(found.outputs[0].difference.exceeding, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns the failure of the model that does not run on these inputs. Values that cannot be read or compared are a failure of
/// the second model.
pub fn compare(
    a: (&Model, &EvalOptions<'_>),
    b: (&Model, &EvalOptions<'_>),
    inputs: &[(&str, Value)],
    options: &CompareOptions,
) -> Result<Comparison, CompareFailure> {
    let seeds = [a, b].map(|(_, options)| options.execution.seed);
    Pair::new(a, b, options)?.run_seeded(inputs, seeds)
}

/// Two models that are planned once, and run on any number of inputs.
///
/// The second model can be a part of the first one: an output of it that is an inner value of the first model is compared with
/// this value, and an input of it without a given value receives the value of that name.
pub struct Pair<'m> {
    a: Evaluator<'m>,
    b: Evaluator<'m>,
    options: CompareOptions,
}

impl fmt::Debug for Pair<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<'m> Pair<'m> {
    /// Plans both models. Observers of the options are ignored.
    ///
    /// # Errors
    ///
    /// Returns the failure of the model that cannot be planned.
    pub fn new(
        a: (&'m Model, &EvalOptions<'m>),
        b: (&'m Model, &EvalOptions<'m>),
        options: &CompareOptions,
    ) -> Result<Self, CompareFailure> {
        let plan = |side, (model, options): (&'m Model, &EvalOptions<'m>)| {
            Evaluator::new(model, options).map_err(|failure| CompareFailure { side, failure })
        };
        Ok(Self { a: plan(Side::A, a)?, b: plan(Side::B, b)?, options: *options })
    }

    /// Runs both models on values by the names of inputs, with this seed of random operators, and compares their outputs by
    /// name.
    ///
    /// # Errors
    ///
    /// Returns the failure of the model that does not run on these inputs.
    pub fn run(&self, inputs: &[(&str, Value)], seed: u64) -> Result<Comparison, CompareFailure> {
        self.run_seeded(inputs, [seed; 2])
    }

    fn run_seeded(
        &self,
        inputs: &[(&str, Value)],
        [seed_a, seed_b]: [u64; 2],
    ) -> Result<Comparison, CompareFailure> {
        let on = |side| move |failure| CompareFailure { side, failure };
        let (a, b, options) = (self.a.model(), self.b.model(), &self.options);
        // Of several values for a name, the first one counts.
        let given: Given<'_> = inputs.iter().rev().map(|(name, value)| (*name, value)).collect();
        let collector = Collector {
            model: a,
            wanted: wanted(a, b, &given, options),
            left: Mutex::new(Some(self.a.options().execution.limits.run_bytes)),
            values: Mutex::default(),
        };
        let shared = options.shares.then(|| Shared::new(self.a.options().execution.limits.run_bytes / 2));
        let shared = shared.as_ref();
        let outputs = run(&self.a, &given, seed_a, (&collector, shared)).map_err(on(Side::A))?;
        let mut known = collector.finish().map_err(on(Side::A))?;
        let names = output_names(a);
        known.extend(names.iter().cloned().zip(outputs));

        let mut given = given.clone();
        for &input in self.b.inputs() {
            let record = b.value(input);
            let name = b.str(record.name());
            if record.initializer().is_none()
                && !given.contains_key(name)
                && let Some(value) = known.get(name)
            {
                given.insert(name, value);
            }
        }
        let interrupt = &self.b.options().execution.interrupt;
        let found = Mutex::new(Ok(Vec::new()));
        let of_b = b.graph(b.main_graph()).outputs().iter().map(GraphOutput::value).collect();
        let nodes = if options.inner { nodes_by_output(a) } else { HashMap::default() };
        let comparer = Comparer { model: b, outputs: of_b, known: &known, nodes, options, interrupt, found };
        let outputs = run(&self.b, &given, seed_b, (&comparer, shared)).map_err(on(Side::B))?;
        let inner =
            comparer.found.into_inner().unwrap_or_else(PoisonError::into_inner).map_err(on(Side::B))?;
        let mut comparison = Comparison { inner, ..Comparison::default() };
        comparison.compare_outputs(b, &outputs, &known, options, interrupt).map_err(on(Side::B))?;
        let ours: HashSet<String, RandomState> = output_names(b).into_iter().collect();
        comparison.only_in_a = names.into_iter().filter(|name| !ours.contains(name)).collect();
        Ok(comparison)
    }
}

impl Comparison {
    /// Compares the outputs of the second model with the values of the first one.
    fn compare_outputs(
        &mut self,
        b: &Model,
        outputs: &[Value],
        known: &Values,
        options: &CompareOptions,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        for (output, value) in b.graph(b.main_graph()).outputs().iter().zip(outputs) {
            let name = b.str(b.value(output.value()).name());
            let Some(expected) = known.get(name) else {
                self.only_in_b.push(name.to_owned());
                continue;
            };
            let difference = compare_values_within(expected, value, &options.tolerances, interrupt)?;
            self.outputs.push(Compared {
                name: name.to_owned(),
                value: output.value(),
                node: None,
                node_in_a: None,
                ty: expected.describe(),
                ty_in_b: other_type(expected, value),
                has_other_sizes: has_other_sizes(expected, value),
                is_output: true,
                difference,
                similarity: options.similarity(expected, value, interrupt),
            });
        }
        Ok(())
    }
}

/// Whether both values are tensors, or optionals of one, with other sizes.
fn has_other_sizes(a: &Value, b: &Value) -> bool {
    fn dims(value: &Value) -> Option<&[i64]> {
        match value {
            Value::Tensor(tensor) => Some(tensor.dims()),
            Value::Optional(Some(value)) => dims(value),
            _ => None,
        }
    }
    dims(a).zip(dims(b)).is_some_and(|(a, b)| a != b)
}

/// The type and the shape of the second value if they are not those of the first one.
fn other_type(a: &Value, b: &Value) -> Option<String> {
    Some(b.describe()).filter(|ty| *ty != a.describe())
}

/// The nodes of the main graph by the names of their outputs.
fn nodes_by_output(model: &Model) -> HashMap<&str, NodeId, RandomState> {
    let outputs = |node| model.node(node).outputs().iter().flatten().map(move |&output| (output, node));
    let nodes = model.nodes(model.main_graph()).flat_map(outputs);
    nodes.map(|(output, node)| (model.str(model.value(output).name()), node)).collect()
}

fn output_names(model: &Model) -> Vec<String> {
    let outputs = model.graph(model.main_graph()).outputs();
    outputs.iter().map(|output| model.str(model.value(output.value()).name()).to_owned()).collect()
}

/// Runs a model on those of the inputs that it has.
fn run(
    evaluator: &Evaluator<'_>,
    given: &Given<'_>,
    seed: u64,
    (observer, shared): (&dyn Observer, Option<&Shared>),
) -> Result<Vec<Value>, Failure> {
    let model = evaluator.model();
    let of_input =
        |&input: &ValueId| given.get(model.str(model.value(input).name())).map(|&value| value.clone());
    let values = evaluator.inputs().iter().map(of_input).collect();
    let options = evaluator.options().clone().with_observer(observer).with_seed(seed);
    evaluator.run_within(values, &EvalOptions { shared, ..options })
}

type Values = HashMap<String, Value, RandomState>;

/// Values by the names of inputs.
type Given<'v> = HashMap<&'v str, &'v Value, RandomState>;

/// The names of inner values of the first model that are needed.
fn wanted(
    a: &Model,
    b: &Model,
    given: &Given<'_>,
    options: &CompareOptions,
) -> HashMap<String, (), RandomState> {
    let graph = b.graph(b.main_graph());
    let mut wanted: HashMap<String, (), RandomState> = HashMap::default();
    let name = |value: ValueId| b.str(b.value(value).name()).to_owned();
    wanted.extend(graph.outputs().iter().map(|output| (name(output.value()), ())));
    let open = graph.inputs().iter().map(|&input| name(input));
    wanted.extend(open.filter(|name| !given.contains_key(name.as_str())).map(|name| (name, ())));
    if options.inner {
        for node in b.nodes(b.main_graph()) {
            wanted.extend(b.node(node).outputs().iter().flatten().map(|&value| (name(value), ())));
        }
    }
    for output in output_names(a) {
        wanted.remove(&output);
    }
    wanted.remove("");
    wanted
}

/// Keeps values of the first model.
struct Collector<'a> {
    model: &'a Model,
    wanted: HashMap<String, (), RandomState>,
    /// Bytes that may still be kept; `None` if they did not suffice.
    left: Mutex<Option<u64>>,
    values: Mutex<Values>,
}

impl Collector<'_> {
    fn finish(self) -> Result<Values, Failure> {
        let values = self.values.into_inner().unwrap_or_else(PoisonError::into_inner);
        if self.left.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Ok(values);
        }
        let message =
            "the inner values to compare take too much memory: raise the limit `run_bytes` to allow it";
        let failure = Failure::new(FailureKind::Limit, &fault::LIMIT, None, Locus::model(), message);
        Err(failure.with_limit(Some("run_bytes")))
    }
}

impl Observer for Collector<'_> {
    fn end(&self, run: &NodeRun<'_>) {
        if run.depth != 1 || self.wanted.is_empty() {
            return;
        }
        for (&id, value) in self.model.node(run.node).outputs().iter().zip(run.outputs) {
            let (Some(id), Some(value)) = (id, value) else { continue };
            let name = self.model.str(self.model.value(id).name());
            if !self.wanted.contains_key(name) {
                continue;
            }
            let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
            *left = left.and_then(|left| left.checked_sub(value.resident_bytes()));
            if left.is_some() {
                let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
                values.insert(name.to_owned(), value.clone());
            }
        }
    }
}

/// Compares values of the second model as it computes them.
struct Comparer<'a> {
    model: &'a Model,
    outputs: HashSet<ValueId, RandomState>,
    known: &'a Values,
    /// The nodes of the first model by the names of their outputs.
    nodes: HashMap<&'a str, NodeId, RandomState>,
    options: &'a CompareOptions,
    interrupt: &'a Interrupt,
    /// What was compared, or why a value could not be.
    found: Mutex<Result<Vec<Compared>, Failure>>,
}

impl Observer for Comparer<'_> {
    fn end(&self, run: &NodeRun<'_>) {
        if run.depth != 1 || !self.options.inner {
            return;
        }
        for (&id, value) in self.model.node(run.node).outputs().iter().zip(run.outputs) {
            let (Some(id), Some(value)) = (id, value) else { continue };
            let name = self.model.str(self.model.value(id).name());
            let Some(expected) = self.known.get(name) else { continue };
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            let Ok(list) = &mut *found else { return };
            match compare_numbers(expected, value, &self.options.tolerances, self.interrupt) {
                Ok(difference) => list.push(Compared {
                    name: name.to_owned(),
                    value: id,
                    node: Some(run.node),
                    node_in_a: self.nodes.get(name).copied(),
                    ty: expected.describe(),
                    ty_in_b: other_type(expected, value),
                    has_other_sizes: has_other_sizes(expected, value),
                    is_output: self.outputs.contains(&id),
                    difference,
                    similarity: self.options.similarity(expected, value, self.interrupt),
                }),
                Err(failure) => *found = Err(failure),
            }
        }
    }
}

#[cfg(test)]
mod tests;
