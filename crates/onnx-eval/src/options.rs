//! EvalOptions of a run.

use onnx_schema::Registry;
use onnx_types::tensor::{DataSource, NoData};
use onnx_types::{Execution, Limits};

use crate::observer::Observer;

/// Options for running a model; [`EvalOptions::default`] serves most callers.
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
}

impl Default for EvalOptions<'_> {
    fn default() -> Self {
        Self { execution: Execution::DEFAULT, data: &NoData, registry: Registry::STANDARD, observer: None }
    }
}

impl<'a> EvalOptions<'a> {
    /// Sets the source of external weights.
    #[must_use]
    pub const fn with_data(mut self, data: &'a dyn DataSource) -> Self {
        self.data = data;
        self
    }

    /// Sets the limits.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.execution.limits = limits;
        self
    }

    /// Sets the context.
    #[must_use]
    pub fn with_execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// Sets the registry of operators.
    #[must_use]
    pub const fn with_registry(mut self, registry: &'a Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Sets an observer of every node that runs.
    #[must_use]
    pub const fn with_observer(mut self, observer: &'a dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Sets the seed.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.execution.seed = seed;
        self
    }
}
