//! What a caller can choose.

use onnx_schema::Registry;
use onnx_types::tensor::{DataSource, NoData};
use onnx_types::{Execution, Limits, Symbol};

/// The implementation that inferred results must hold for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Runtime {
    /// Any implementation of the specification.
    #[default]
    Specification,
    /// onnxruntime as well. Results in which it deviates from the specification are unknown, or have a guard. The
    /// deviations are documented with the operators.
    Onnxruntime,
}

/// How inference runs; [`InferOptions::default`] serves most callers.
#[derive(Clone)]
#[non_exhaustive]
pub struct InferOptions<'a> {
    /// Whether elements of small tensors are followed, so that shapes which are computed in the graph become known. The
    /// reference calls it `data_prop`. On by default.
    pub values: bool,
    /// Whether the element types of inputs are checked against the schemas. Off by default: the checker does it, too.
    pub check_types: bool,
    /// Whether types that the model declares for values in between (`value_info`, types of outputs) serve where inference
    /// knows nothing. What rests on them is recorded as assumed. On by default.
    pub declared: bool,
    /// Whether results may depend on conditions that do not follow from the semantics of the operators. Without it, every
    /// result holds in every run, and what would need a guard is unknown; declared types and defaults of inputs are not
    /// used. On by default.
    pub assumed: bool,
    /// Whether an initializer that is an input of the main graph, too, counts as a constant, as in the reference. The caller
    /// of the model can give another value for it, so what is inferred then holds only for callers who do not. Off by
    /// default; before version 4 of the format all initializers had to be inputs, and all count as constants. A guard records
    /// each one whose elements were read, or whose shape differs from the declared one.
    pub defaults_are_constant: bool,
    /// Whether a name of a size in a declared type of a value of the main graph is the size that an input has under this name.
    /// Exporters give one name to different sizes, so it is off by default, and such a size is unknown. A guard records each
    /// declaration that served.
    pub names_are_trusted: bool,
    /// Whether every graph counts as executed, as for runtimes that infer all graphs when they load a model: a contradiction in
    /// a graph that a run may leave out is then an error of its rule, and the shapes of loop-carried values are those that the
    /// body declares. Off by default.
    pub every_graph: bool,
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// Where external tensors are read from when a small value is needed. By default they are not.
    pub data: &'a dyn DataSource,
    /// Sizes of dimension variables of the main graph, by name: everything is inferred for these. They must not be
    /// negative.
    pub sizes: &'a [(Symbol, i64)],
    /// The implementation that results must hold for: the specification by default.
    pub runtime: Runtime,
    /// The interrupt, the receiver of progress, and bounds on work and memory: [`followed_elements`](Limits::followed_elements),
    /// [`inferred_rank`](Limits::inferred_rank), [`visits_per_node`](Limits::visits_per_node),
    /// [`expression_steps`](Limits::expression_steps), [`inference_depth`](Limits::inference_depth) and those of findings.
    pub execution: Execution,
}

impl Default for InferOptions<'_> {
    fn default() -> Self {
        Self {
            values: true,
            check_types: false,
            declared: true,
            assumed: true,
            defaults_are_constant: false,
            names_are_trusted: false,
            every_graph: false,
            registry: Registry::STANDARD,
            data: &NoData,
            sizes: &[],
            runtime: Runtime::default(),
            execution: Execution::DEFAULT,
        }
    }
}

onnx_types::option_setters! {
    InferOptions<'a> {
        with_values => values: bool,
        with_check_types => check_types: bool,
        with_declared => declared: bool,
        with_assumed => assumed: bool,
        with_defaults_are_constant => defaults_are_constant: bool,
        with_names_are_trusted => names_are_trusted: bool,
        with_every_graph => every_graph: bool,
        with_registry => registry: &'a Registry,
        with_data => data: &'a dyn DataSource,
        with_sizes => sizes: &'a [(Symbol, i64)],
        with_runtime => runtime: Runtime,
        with_execution => execution: into Execution,
    }
}

impl<'a> InferOptions<'a> {
    /// The same within these limits.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.execution.limits = limits;
        self
    }

    /// Whether declared types of values serve as results.
    pub(crate) const fn uses_declared(&self) -> bool {
        self.declared && self.assumed
    }
}
