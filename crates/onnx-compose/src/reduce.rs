//! Reduction: the smallest model that has a property, by delta debugging.

mod cut;
mod defects;
mod parts;
mod sizes;
mod weights;

pub(crate) use self::weights::zeros;

use onnx_ir::Model;
use onnx_pass::Trial;
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, MergePolicy, infer};
use onnx_types::{Execution, Stopped};

use self::defects::Defects;

/// Options of [`reduce`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReduceOptions<'a> {
    /// The operators that are known to inference.
    pub registry: &'a Registry,
    /// Only models are tried that have no defect that the original does not have.
    pub only_valid: bool,
    /// Limits, of which `reduce_attempts` counts, and the interrupt.
    pub execution: Execution,
}

impl Default for ReduceOptions<'_> {
    fn default() -> Self {
        Self { registry: Registry::STANDARD, only_valid: true, execution: Execution::default() }
    }
}

impl<'a> ReduceOptions<'a> {
    /// Sets the operators that are known to inference.
    #[must_use]
    pub const fn with_registry(mut self, registry: &'a Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Sets whether only valid models are tried.
    #[must_use]
    pub const fn with_only_valid(mut self, only_valid: bool) -> Self {
        self.only_valid = only_valid;
        self
    }

    /// Sets limits and interrupt.
    #[must_use]
    pub fn with_execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }
}

/// The result of [`reduce`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reduction {
    /// The smallest model that was found.
    pub model: Model,
    /// Number of models that were tried, the original included.
    pub attempts: u64,
    /// Number of models that were smaller and had the property.
    pub accepted: u64,
    /// Returns `true` if the limit of attempts ended the search, so that the model may not be the smallest.
    pub is_limited: bool,
}

/// Why a model cannot be reduced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReduceError<E> {
    /// The original does not have the property.
    #[error("the model does not have the property")]
    NotBad,
    /// The original cannot be tried.
    #[error("the model cannot be tried")]
    Undecided,
    /// The work was interrupted.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The trial of a model failed.
    #[error("{0}")]
    Trial(E),
}

/// Reduces a model as far as possible while `trial` returns [`Trial::Bad`] for it.
///
/// Removes outputs, nodes, functions, inputs, weights, attributes, operands, declared types, documentation and metadata, many at a
/// time at first, then fewer; sizes are halved. An output of a removed node that others use becomes an input, and what only removed
/// nodes used an output. The models that are tried depend on the model and the answers only.
///
/// ```
/// use onnx_compose::{ReduceOptions, reduce};
/// use onnx_pass::Trial;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 21]>
/// g (float[N, 4] x) => (float[N, 4] y) {
///    a = Relu (x)
///    b = Exp (a)
///    c = Abs (b)
///    y = Neg (c)
/// }"#;
/// let model = parse_model(text, &ParseOptions::default())?;
/// let has_exp = |model: &onnx_ir::Model| {
///     let mut nodes = model.nodes_in(model.main_graph());
///     nodes.any(|node| model.node(node).is(onnx_schema::op::EXP))
/// };
/// let trial = |model: &onnx_ir::Model| {
///     Ok::<_, std::convert::Infallible>(if has_exp(model) { Trial::Bad } else { Trial::Good })
/// };
/// let reduced = reduce(&model, &ReduceOptions::default(), trial)?;
/// assert_eq!(reduced.model.node_count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the original does not have the property, or work is interrupted, or a trial fails.
pub fn reduce<E>(
    model: &Model,
    options: &ReduceOptions<'_>,
    mut trial: impl FnMut(&Model) -> Result<Trial, E>,
) -> Result<Reduction, ReduceError<E>> {
    match trial(model).map_err(ReduceError::Trial)? {
        Trial::Bad => {}
        Trial::Good => return Err(ReduceError::NotBad),
        Trial::Undecided => return Err(ReduceError::Undecided),
    }
    let mut search = Search {
        best: model.clone(),
        known: Defects::of(model, options),
        options,
        trial: &mut trial,
        attempts: 1,
        candidates: 0,
        accepted: 0,
        is_limited: false,
    };
    search.declare()?;
    for steps in [STEPS, LAST_STEPS] {
        let mut is_smaller = true;
        while is_smaller {
            is_smaller = false;
            for &step in steps {
                is_smaller |= search.shorten(step)?;
            }
        }
    }
    let Search { best, attempts, accepted, is_limited, .. } = search;
    Ok(Reduction { model: best, attempts, accepted, is_limited })
}

/// The result of a step.
#[derive(Clone, Copy, Default)]
struct Taken {
    /// Number of items that the step can remove.
    all: usize,
    /// Number of items that it removed.
    gone: usize,
}

/// Items by number, beginning with `from`.
#[derive(Clone, Copy)]
struct Chosen {
    from: usize,
    count: usize,
}

impl Chosen {
    /// Returns `true` if an item must be removed.
    const fn contains(self, index: usize) -> bool {
        index >= self.from && index - self.from < self.count
    }
}

/// Removes the chosen items; items that cannot be removed are kept.
type Step = fn(&mut Model, Chosen) -> Taken;

const STEPS: &[Step] = &[
    parts::outputs,
    cut::nodes,
    parts::functions,
    weights::to_inputs,
    parts::inputs,
    parts::initializers,
    parts::attributes,
    parts::operands,
    sizes::halve,
    weights::to_zeros,
    parts::texts,
    parts::imports,
];

/// Steps that run last, because the other steps need the parts that these remove.
const LAST_STEPS: &[Step] = &[parts::types, parts::imports];

/// Number of models that are made for each one that may be tried. Otherwise a model without a smaller valid part, such as a chain
/// whose nodes use names that nothing defines, would cost as many checks of the whole as it has parts.
const CANDIDATES: u64 = 16;

struct Search<'a, 'o, E> {
    best: Model,
    /// The defects of the original.
    known: Defects,
    options: &'a ReduceOptions<'o>,
    trial: &'a mut dyn FnMut(&Model) -> Result<Trial, E>,
    attempts: u64,
    /// Number of models that were made, those with new defects included, which are not tried.
    candidates: u64,
    accepted: u64,
    is_limited: bool,
}

impl<E> Search<'_, '_, E> {
    /// Writes the inferred types into the model: a result of a node can become an input only if its type is declared.
    fn declare(&mut self) -> Result<(), ReduceError<E>> {
        let mut typed = self.best.clone();
        let mut inference = infer(&typed, &inference_options(self.options));
        self.options.execution.interrupt.check()?;
        if inference.apply(&mut typed, MergePolicy::Refine).is_ok() && self.is_bad(&typed)? {
            self.best = typed;
        }
        Ok(())
    }

    /// Removes as much as one step can: half of the items at once, then fewer and fewer.
    fn shorten(&mut self, step: Step) -> Result<bool, ReduceError<E>> {
        let mut is_smaller = false;
        let all = step(&mut self.best.clone(), Chosen { from: 0, count: 0 }).all;
        // Removing everything at once is tried first: it succeeds for most steps, whose items do not affect the
        // failure.
        let mut size = all;
        while size > 0 {
            let mut from = 0_usize;
            loop {
                if self.is_limited {
                    return Ok(is_smaller);
                }
                self.options.execution.interrupt.check()?;
                let mut candidate = self.best.clone();
                let taken = step(&mut candidate, Chosen { from, count: size });
                if from >= taken.all {
                    break;
                }
                self.candidates = self.candidates.saturating_add(1);
                let most = self.options.execution.limits.reduce_attempts.saturating_mul(CANDIDATES);
                self.is_limited = self.candidates >= most;
                candidate.settle_names();
                let is_valid = || candidate.verify_until(&self.options.execution.interrupt);
                if taken.gone > 0 && is_valid()?.is_ok() && self.is_bad(&candidate)? {
                    self.best = candidate;
                    self.accepted = self.accepted.saturating_add(1);
                    is_smaller = true;
                } else {
                    from = from.saturating_add(size);
                }
            }
            size /= 2;
        }
        Ok(is_smaller)
    }

    /// Tries a model, unless it has new defects.
    fn is_bad(&mut self, candidate: &Model) -> Result<bool, ReduceError<E>> {
        self.options.execution.interrupt.check()?;
        if !Defects::of(candidate, self.options).are_known(&self.known) {
            return Ok(false);
        }
        if self.attempts >= self.options.execution.limits.reduce_attempts {
            self.is_limited = true;
            return Ok(false);
        }
        self.attempts = self.attempts.saturating_add(1);
        Ok((self.trial)(candidate).map_err(ReduceError::Trial)? == Trial::Bad)
    }
}

fn inference_options<'a>(options: &ReduceOptions<'a>) -> InferOptions<'a> {
    InferOptions::default().with_registry(options.registry).with_execution(options.execution.clone())
}
