//! Options of a run.

use std::sync::atomic::AtomicBool;

use onnx_schema::Registry;
use onnx_types::Limits;
use onnx_types::tensor::{DataSource, NoData};

/// How a model runs; [`Options::default`] serves most callers.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Options<'a> {
    /// Bounds on elements, live bytes, work and nesting: [`run_elements`](Limits::run_elements),
    /// [`run_bytes`](Limits::run_bytes), [`run_steps`](Limits::run_steps) and [`run_depth`](Limits::run_depth).
    pub limits: Limits,
    /// Source of external weights. By default there is none, and a model with external weights fails when it reads them.
    pub data: &'a dyn DataSource,
    /// Ends the run with a failure soon after it becomes `true`.
    pub cancel: Option<&'a AtomicBool>,
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// Seed of random operators without the attribute `seed`.
    pub seed: u64,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { limits: Limits::DEFAULT, data: &NoData, cancel: None, registry: Registry::STANDARD, seed: 0 }
    }
}

impl<'a> Options<'a> {
    /// The same with this source of external weights.
    #[must_use]
    pub const fn with_data(mut self, data: &'a dyn DataSource) -> Self {
        self.data = data;
        self
    }

    /// The same within these limits.
    #[must_use]
    pub const fn within(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same with this flag, which ends the run.
    #[must_use]
    pub const fn with_cancel(mut self, cancel: &'a AtomicBool) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// The same with these operators.
    #[must_use]
    pub const fn with_registry(mut self, registry: &'a Registry) -> Self {
        self.registry = registry;
        self
    }

    /// The same with this seed.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}
