//! EvalOptions of a run.

use std::sync::atomic::AtomicU64;

use onnx_schema::Registry;
use onnx_types::tensor::{DataSource, NoData};
use onnx_types::{Execution, Limits};

use crate::engine::Shared;
use crate::observer::Observer;

/// The type in which floats are computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Precision {
    /// The element types of the model.
    #[default]
    Declared,
    /// `double` in the place of `float`, `float16` and `bfloat16`, so that rounding shrinks and a real difference of two
    /// models does not: inputs and weights are converted, results are `double`, and attributes that name one of these types
    /// (`to`, `dtype`, `stash_type`) name `double`.
    ///
    /// An operator that does not take `double` for an operand (`QuantizeLinear`, the scales of `Resize`, most of `ai.onnx.ml`)
    /// is evaluated in the widest type that it takes, and its results are converted. Types of at most 8 bits stay, with their
    /// saturation. What depends on the bits or the digits of a narrow type has no result: `BitCast` from or to a float, and
    /// `Cast` of a float to a string fail with [`FailureKind::Missing`](crate::FailureKind::Missing).
    Double,
}

/// A perturbation of the results that the standard leaves open: those of operators with an open order of accumulation, or an
/// approximated function ([`has_open_rounding`](crate::has_open_rounding)).
///
/// Each finite number other than 0 moves by at most `ulps` units in the last place, and by at most 1/64 of the number. How far
/// depends only on the seed, the operator, its attributes and operands, and the index of the element: two nodes with equal
/// operands keep equal results, as in every implementation whose results are a function of the operands. What is claimed to be
/// exact must hold under each perturbation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Perturbation {
    /// The seed.
    pub seed: u64,
    /// The greatest distance in units in the last place; with `u64::MAX`, numbers of every type move visibly.
    pub ulps: u64,
    /// Also perturbs the results of arithmetic that the standard rounds once (`Add`, `Sub`, `Mul`, `Div`, `Sqrt`, `Reciprocal`): how
    /// much the results of a model change then bounds what rounding can explain. Nothing exact holds under such a perturbation.
    pub arithmetic: bool,
}

/// The order of zeros of different signs, which the standard leaves open where an operator returns the least or the greatest of several
/// numbers, as `Max`, `Relu` and `MaxPool` do: `Max (0.0, -0.0)` is either of them.
///
/// What is claimed to be exact must not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ZeroOrder {
    /// A bit for each node that depends on the order, from the lowest one on in the order in which they run: whether -0.0 is greater
    /// than 0.0 there. After 64 nodes, the first bit is that of the next one.
    pub reversed: u64,
}

impl ZeroOrder {
    /// For the node before which this many have run.
    pub(crate) const fn is_reversed(self, node: u32) -> bool {
        self.reversed >> (node % u64::BITS) & 1 == 1
    }
}

/// Options for running a model; [`EvalOptions::default`] serves most callers.
///
/// ```
/// use onnx_eval::{EvalOptions, Evaluator, FailureKind, Limits, Value};
/// use onnx_types::tensor::Tensor;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N] x) => (float[M] y) { y = Concat <axis = 0> (x, x, x, x) }"#;
/// let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
/// let options = EvalOptions::default().with_limits(Limits::default().with_run_bytes(1000));
/// let evaluator = Evaluator::new(&model, &options)?;
/// let x = Tensor::vector(&[1.0_f32; 100]);
/// let failure = evaluator.run(&[("x", Value::from(x))]).unwrap_err();
/// assert_eq!((failure.kind(), failure.limit()), (FailureKind::Limit, Some("run_bytes")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct EvalOptions<'a> {
    /// What ends the run early, the seed of random operators without the attribute `seed`, and bounds on elements, live
    /// bytes, work and nesting: [`run_elements`](Limits::run_elements), [`run_bytes`](Limits::run_bytes), [`run_steps`](Limits::run_steps) and [`run_depth`](Limits::run_depth).
    pub execution: Execution,
    /// Source of external weights. By default there is none, and a model with external weights fails when it reads them.
    pub data: &'a dyn DataSource,
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// Observer of every node that runs. Default: none.
    pub observer: Option<&'a dyn Observer>,
    /// The type in which floats are computed. Default: that of the model.
    pub precision: Precision,
    /// A perturbation of results that the standard leaves open. Default: none.
    pub perturbation: Option<Perturbation>,
    /// The order of zeros where the standard leaves it open. Default: that of the kernels.
    pub zeros: Option<ZeroOrder>,
    /// Results that other runs have in common with this one.
    pub(crate) shared: Option<&'a Shared>,
    /// Is increased by the operations of each run, as [`run_steps`](Limits::run_steps) counts them: for callers that bound the work
    /// of many runs. Default: none.
    pub meter: Option<&'a AtomicU64>,
    /// The greatest number of threads that compute a node at one time: parts of products of matrices, convolutions and
    /// functions of many elements. They are those of the current pool of `rayon`. Default: 1, the thread of the caller; so
    /// it is without the feature `rayon`. Results do not depend on it.
    pub threads: usize,
}

impl Default for EvalOptions<'_> {
    fn default() -> Self {
        Self {
            execution: Execution::DEFAULT,
            data: &NoData,
            registry: Registry::STANDARD,
            observer: None,
            precision: Precision::Declared,
            perturbation: None,
            zeros: None,
            shared: None,
            meter: None,
            threads: 1,
        }
    }
}

onnx_types::option_setters! {
    EvalOptions<'a> {
        with_execution => execution: into Execution,
        with_data => data: &'a dyn DataSource,
        with_registry => registry: &'a Registry,
        with_meter => meter: Option<&'a AtomicU64>,
    }
}

impl<'a> EvalOptions<'a> {
    /// Sets the limits.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.execution.limits = limits;
        self
    }

    /// Sets an observer of every node that runs.
    #[must_use]
    pub const fn with_observer(mut self, observer: &'a dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Sets the type in which floats are computed.
    #[must_use]
    pub const fn with_precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Sets a perturbation of results that the standard leaves open.
    #[must_use]
    pub const fn with_perturbation(mut self, perturbation: Perturbation) -> Self {
        self.perturbation = Some(perturbation);
        self
    }

    /// Sets the order of zeros where the standard leaves it open.
    #[must_use]
    pub const fn with_zeros(mut self, zeros: ZeroOrder) -> Self {
        self.zeros = Some(zeros);
        self
    }

    /// Sets the greatest number of threads that compute a node at one time.
    #[must_use]
    pub const fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets the seed.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.execution.seed = seed;
        self
    }
}
