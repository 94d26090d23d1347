//! The facts that selectors read in addition to the graphs: types, constants, diagnostics and matches of calls.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::fmt;

use foldhash::fast::RandomState;
use onnx_check::{CheckOptions, check};
use onnx_diag::{Caps, Locus, Policy, Rule, Sink};
use onnx_ir::{Def, Model, NodeId, Owner, ValueId};
use onnx_rewrite::NodePattern;
use onnx_schema::{Registry, op};
use onnx_shape_infer::{InferOptions, Inference, Ty, infer};
use onnx_types::tensor::{DataSource, NoData};
use onnx_types::{ElemType, Execution};

use crate::{SelectorError, SelectorFacts};

/// Facts of a model for selectors. Inference and the checker run if a selector needs them, and at most once.
pub struct ModelFacts<'a> {
    model: &'a Model,
    registry: &'a Registry,
    data: &'a dyn DataSource,
    execution: Execution,
    inference: OnceCell<Inference>,
    findings: OnceCell<Sink>,
    unknown: OnceCell<HashSet<ValueId, RandomState>>,
}

impl fmt::Debug for ModelFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelFacts").finish_non_exhaustive()
    }
}

impl<'a> ModelFacts<'a> {
    /// The facts of a model with the standard operators, without external data.
    #[must_use]
    pub fn new(model: &'a Model) -> Self {
        Self {
            model,
            registry: Registry::STANDARD,
            data: &NoData,
            execution: Execution::default(),
            inference: OnceCell::new(),
            findings: OnceCell::new(),
            unknown: OnceCell::new(),
        }
    }

    /// Sets the operators that are known.
    #[must_use]
    pub fn with_registry(mut self, registry: &'a Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Sets the source of external data, which patterns with literals compare.
    #[must_use]
    pub fn with_data(mut self, data: &'a dyn DataSource) -> Self {
        self.data = data;
        self
    }

    /// Sets limits, interrupt and progress.
    #[must_use]
    pub fn with_execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    pub(super) const fn model(&self) -> &'a Model {
        self.model
    }

    pub(super) const fn execution(&self) -> &Execution {
        &self.execution
    }

    /// The results of inference.
    #[must_use]
    pub fn inference(&self) -> &Inference {
        self.inference.get_or_init(|| {
            let options = InferOptions::default().with_registry(self.registry);
            infer(self.model, &options.with_execution(self.execution.clone()))
        })
    }

    fn sink(&self) -> &Sink {
        self.findings.get_or_init(|| {
            // A selector denotes all elements, not as many as a reader wants to see.
            let mut execution = self.execution.clone();
            (execution.limits.findings_per_rule, execution.limits.findings) = (usize::MAX, usize::MAX);
            let options = CheckOptions::default().with_execution(execution.clone());
            let mut found = Sink::with(Policy::new(), Caps::NONE);
            found.merge(check(self.model, &options));
            let mut options = InferOptions::default().with_registry(self.registry).with_data(self.data);
            options.check_types = true;
            found.merge(infer(self.model, &options.with_execution(execution)).findings().clone());
            found
        })
    }

    /// The values that a part of the type is unknown of.
    fn unknown(&self) -> &HashSet<ValueId, RandomState> {
        self.unknown.get_or_init(|| {
            let limits = self.execution.limits.with_report_entries(usize::MAX);
            let report = self.inference().report(self.model, &limits);
            report.unknown.iter().map(|unknown| unknown.value).collect()
        })
    }

    fn is_in_function(&self, value: ValueId) -> bool {
        let root = self.model.root(self.model.graph_of(value));
        matches!(self.model.graph(root).owner(), Owner::Function(_))
    }
}

impl SelectorFacts for ModelFacts<'_> {
    fn matching(
        &self,
        call: &str,
        nodes: &mut dyn Iterator<Item = NodeId>,
        steps: &mut u64,
    ) -> Result<Vec<NodeId>, SelectorError> {
        let pattern =
            NodePattern::parse(call).map_err(|error| SelectorError::new(error.message, error.at))?;
        let inference = pattern.reads_parameters().then(|| self.inference());
        let mut found = Vec::new();
        for node in nodes {
            match pattern.matches(self.model, inference, self.data, node, steps) {
                Ok(true) => found.push(node),
                Ok(false) => {}
                Err(_) => return Err(SelectorError::of_limit()),
            }
        }
        Ok(found)
    }

    fn elem(&self, value: ValueId) -> Option<ElemType> {
        self.inference().ty(value).elem()
    }

    fn rank(&self, value: ValueId) -> Option<usize> {
        self.inference().ty(value).dims().map(<[_]>::len)
    }

    fn bytes(&self, value: ValueId) -> Option<u64> {
        let Ty::Tensor(elem, Some(dims)) = self.inference().ty(value) else { return None };
        let count = dims.iter().try_fold(1_u64, |count, dim| {
            dim.known().and_then(|size| u64::try_from(size).ok()).and_then(|size| count.checked_mul(size))
        });
        elem.byte_len(count?)
    }

    fn is_unknown(&self, value: ValueId) -> bool {
        if self.is_in_function(value) {
            // The report is about the graphs that run; a body has parameters of any type.
            let ty = self.inference().ty(value);
            return ty.elem().is_none()
                || ty.dims().is_none_or(|dims| dims.iter().any(|dim| dim.known().is_none()));
        }
        self.unknown().contains(&value)
    }

    fn is_constant(&self, value: ValueId) -> bool {
        let model = self.model;
        let record = model.value(value);
        if record.constant().is_some() {
            return true;
        }
        if let Def::Output { node, .. } = record.def()
            && model.node(node).is(op::CONSTANT)
        {
            return true;
        }
        let inference = self.inference();
        inference.content(value).is_some_and(|content| content.iter().all(|elem| elem.to_f64().is_some()))
    }

    fn findings(&self, rule: &str) -> Result<Vec<Locus>, String> {
        let is = |known: &Rule| known.is_named(rule);
        let mut rules = onnx_check::RULES.iter().chain(onnx_shape_infer::fault::RULES);
        if rule.starts_with("ONNX") && !rules.any(|known| is(known)) {
            return Err(format!(
                "no rule of the checker or of inference has the code `{}`",
                onnx_diag::Clean(rule)
            ));
        }
        let found = self.sink().diagnostics().iter().filter(|found| is(found.rule));
        Ok(found.map(|found| found.locus.clone()).collect())
    }
}
