//! Runs of which the standard leaves a result open: they are not evidence that an edit is exact.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::fast::RandomState;
use onnx_eval::{NodeRun, Observer, Value};
use onnx_ir::{GraphId, Model, Node, NodeId, ValueId};
use onnx_schema::op;
use onnx_types::tensor::Tensor;

use crate::compare::{self, Difference};
use crate::elements;
use crate::equivalence::EquivalenceSide;
use crate::fixed_results::{are_undefined, may_be_undefined};
use crate::prove::{Attempt, Runner};
use crate::sample::{Case, SplitMix64};

/// Observes the runs of one function, and notes whether a result of a node is not defined for its operands.
pub(crate) struct Undefined<'m> {
    model: &'m Model,
    /// The body, if only results of the function count, not those from which it computes them.
    results_of: Option<GraphId>,
    values: Mutex<HashMap<ValueId, Value, RandomState>>,
    is_found: AtomicBool,
}

impl<'m> Undefined<'m> {
    /// `None` if no node of the body has results that can be undefined.
    pub(crate) fn of(model: &'m Model, body: GraphId) -> Option<Self> {
        Self::observing(model, body, None)
    }

    /// The same for nodes that compute results of the function: another node may select what is defined.
    pub(crate) fn of_results(model: &'m Model, body: GraphId) -> Option<Self> {
        Self::observing(model, body, Some(body))
    }

    fn observing(model: &'m Model, body: GraphId, results_of: Option<GraphId>) -> Option<Self> {
        let made = Self { model, results_of, values: Mutex::default(), is_found: AtomicBool::new(false) };
        model.nodes_in(body).any(|node| made.counts(node)).then_some(made)
    }

    /// Whether the results of a node can be undefined, and count.
    fn counts(&self, node: NodeId) -> bool {
        let record = self.model.node(node);
        may_be_undefined(record.op()) && self.results_of.is_none_or(|body| self.is_result(record, body))
    }

    /// Whether a body returns a result of a node, or a copy of it.
    fn is_result(&self, record: &Node, body: GraphId) -> bool {
        let results = self.model.graph(body).outputs();
        let returns = |value: ValueId| results.iter().any(|result| result.value() == value);
        let copies = |value: ValueId| {
            self.model.nodes(body).any(|user| {
                let user = self.model.node(user);
                user.is(op::IDENTITY) && user.input(0) == Some(value) && user.output(0).is_some_and(returns)
            })
        };
        record.outputs().iter().flatten().any(|&output| returns(output) || copies(output))
    }

    /// Begins a run of the body with these inputs.
    pub(crate) fn begin(&self, body: GraphId, inputs: &[Value]) {
        self.is_found.store(false, Ordering::Relaxed);
        let Ok(mut values) = self.values.lock() else { return };
        values.clear();
        values.extend(self.model.graph(body).inputs().iter().copied().zip(inputs.iter().cloned()));
    }

    /// Whether the run had such a result.
    pub(crate) fn is_found(&self) -> bool {
        self.is_found.load(Ordering::Relaxed)
    }
}

impl Runner<'_> {
    /// Whether the standard defines the results of a side in its last run.
    pub(crate) fn is_defined(&self, side: EquivalenceSide) -> bool {
        self.undefined.get(side as usize).copied().flatten().is_none_or(|undefined| !undefined.is_found())
    }

    /// The difference of a result of the new side that the standard leaves open, if it defines those of the old side.
    pub(crate) fn newly_open(&self, is_defined: bool, before: &[Value]) -> Option<Difference> {
        let is_open = is_defined && !self.is_defined(EquivalenceSide::After);
        is_open.then(|| {
            let before = before.first().map_or_else(String::new, Value::describe);
            let after = "a result that the standard leaves open".to_owned();
            Difference { output: 0, element: None, before, after }
        })
    }

    /// The meaning of a difference. If the standard leaves results of the old side open, as that of `MaxPool` for NaN, the difference
    /// counts as far as there is one for finite numbers, too.
    pub(crate) fn meaning(
        &self,
        difference: Difference,
        is_defined: bool,
        case: &Case,
        rng: &mut SplitMix64,
    ) -> Attempt {
        let open = Attempt::Equal { has_elements: true, is_defined: false };
        match (!is_defined).then(|| self.finite(case)).flatten() {
            None => Attempt::Different(difference),
            Some(finite) => match self.attempt(&finite, rng) {
                Attempt::Different(difference) => Attempt::Different(difference),
                _ => open,
            },
        }
    }

    /// The case with finite numbers in the place of others in its free inputs; `None` if it has no others.
    fn finite(&self, case: &Case) -> Option<Case> {
        let inputs = self.eq.inputs().into_iter().zip(&case.inputs).map(|(input, value)| {
            let tensor = value.tensor().filter(|_| self.eq.constant(input).is_none())?;
            let numbers = compare::floats(tensor)?;
            if numbers.iter().all(|number| number.is_finite()) {
                return None;
            }
            let numbers: Vec<f64> =
                numbers.into_iter().map(|number| if number.is_finite() { number } else { 1.5 }).collect();
            elements::make(tensor.elem(), tensor.dims().to_vec(), &numbers, &[]).map(Value::from)
        });
        let replaced: Vec<Option<Value>> = inputs.collect();
        replaced.iter().any(Option::is_some).then(|| {
            let inputs = replaced.into_iter().zip(&case.inputs);
            let inputs = inputs.map(|(new, old)| new.unwrap_or_else(|| old.clone()));
            Case { sizes: case.sizes.clone(), inputs: inputs.collect() }
        })
    }
}

impl Observer for Undefined<'_> {
    fn end(&self, run: &NodeRun<'_>) {
        let Ok(mut values) = self.values.lock() else { return };
        let record = self.model.node(run.node);
        if self.counts(run.node) {
            let operand = |value: ValueId| -> Option<Tensor> {
                let constant = || self.model.constant_tensor(value).cloned();
                let computed = values.get(&value).and_then(Value::tensor).map(|tensor| Tensor::clone(tensor));
                computed.or_else(constant)
            };
            // Inputs of the graph of a loop are not known here.
            let operands: Option<Vec<Tensor>> = record.inputs().flatten().map(operand).collect();
            let results = run.outputs.iter().flatten().filter_map(Value::tensor);
            let results: Vec<Tensor> = results.map(|tensor| Tensor::clone(tensor)).collect();
            if operands.is_some_and(|operands| are_undefined(self.model, run.node, &operands, &results)) {
                self.is_found.store(true, Ordering::Relaxed);
            }
        }
        let made = record.outputs().iter().zip(run.outputs);
        values.extend(made.filter_map(|(value, made)| Some(((*value)?, made.clone()?))));
    }
}
