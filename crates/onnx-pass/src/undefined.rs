//! Runs of which the standard leaves a result open: they are not evidence that an edit is exact.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::fast::RandomState;
use onnx_eval::{NodeRun, Observer, Value};
use onnx_ir::{Callee, Def, GraphId, GraphOutput, Model, Node, NodeId, ValueId};
use onnx_schema::{Registry, op};
use onnx_types::tensor::Tensor;

use crate::assumption::Exactness;
use crate::compare::{self, Difference};
use crate::elements;
use crate::equivalence::{Equivalence, EquivalenceSide};
use crate::fixed_results::{are_open, may_be_undefined};
use crate::prove::{Attempt, Runner};
use crate::sample::{Case, SplitMix64};

/// Observes the runs of one side, and notes whether a result of a node is not defined for its operands.
pub(crate) struct Undefined<'m> {
    model: &'m Model,
    /// The nodes whose results can be undefined, and count.
    nodes: HashSet<NodeId, RandomState>,
    values: Mutex<HashMap<ValueId, Value, RandomState>>,
    is_found: AtomicBool,
}

impl<'m> Undefined<'m> {
    /// For both sides of a claim of the class *exact*.
    pub(crate) fn of_sides(eq: &'m Equivalence, registry: &Registry) -> [Option<Self>; 2] {
        let [before, after] = [EquivalenceSide::Before, EquivalenceSide::After].map(|side| eq.call(side));
        match eq.class() {
            Exactness::Exact => {
                [Self::of(eq.model(), before, registry), Self::of_results(eq.model(), after, registry)]
            }
            _ => [None, None],
        }
    }

    /// For all nodes that a call runs; `None` if no result of them can be undefined.
    fn of(model: &'m Model, call: NodeId, registry: &Registry) -> Option<Self> {
        Self::observing(model, call, registry, |_| true)
    }

    /// The same for nodes that compute results of the call: another node may select what is defined.
    fn of_results(model: &'m Model, call: NodeId, registry: &Registry) -> Option<Self> {
        let results = results(model, call, registry);
        let is_result = |node: &Node| node.outputs().iter().flatten().any(|output| results.contains(output));
        Self::observing(model, call, registry, is_result)
    }

    fn observing(
        model: &'m Model,
        call: NodeId,
        registry: &Registry,
        counts: impl Fn(&Node) -> bool,
    ) -> Option<Self> {
        let can_be = |node: &NodeId| may_be_undefined(model.node(*node).op()) && counts(model.node(*node));
        let nodes: HashSet<NodeId, RandomState> =
            model.walk_node(call).with_functions(registry).nodes().filter(can_be).collect();
        let has_any = !nodes.is_empty();
        has_any.then(|| Self { model, nodes, values: Mutex::default(), is_found: AtomicBool::new(false) })
    }

    /// Begins a run.
    pub(crate) fn begin(&self) {
        self.is_found.store(false, Ordering::Relaxed);
        if let Ok(mut values) = self.values.lock() {
            values.clear();
        }
    }

    /// Whether the run had such a result.
    pub(crate) fn is_found(&self) -> bool {
        self.is_found.load(Ordering::Relaxed)
    }
}

/// The results of a call, and the values of which they are copies: what `Identity` copies, and results of functions and branches.
fn results(model: &Model, call: NodeId, registry: &Registry) -> HashSet<ValueId, RandomState> {
    let mut results = HashSet::default();
    let mut open: Vec<ValueId> = model.node(call).outputs().iter().flatten().copied().collect();
    while let Some(value) = open.pop() {
        if !results.insert(value) {
            continue;
        }
        let Def::Output { node, index } = model.value(value).def() else { continue };
        let record = model.node(node);
        let result =
            |graph: GraphId| model.graph(graph).outputs().get(index as usize).map(GraphOutput::value);
        if record.is(op::IDENTITY) {
            open.extend(record.input(0));
        } else if record.is(op::IF) {
            open.extend(record.nested_graphs().filter_map(result));
        } else if let Callee::Function(function) = model.callee(node, registry) {
            open.extend(result(model.function(function).body()));
        }
    }
    results
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
    fn enter(&self, inputs: &[ValueId], given: &[Option<Value>]) {
        let Ok(mut values) = self.values.lock() else { return };
        for (&input, given) in inputs.iter().zip(given) {
            match given {
                Some(value) => values.insert(input, value.clone()),
                None => values.remove(&input),
            };
        }
    }

    fn end(&self, run: &NodeRun<'_>) {
        let Ok(mut values) = self.values.lock() else { return };
        let record = self.model.node(run.node);
        if self.nodes.contains(&run.node) {
            // The outer option is `None` for an operand that is not a tensor, the inner one for an omitted one.
            let operand = |value: ValueId| match values.get(&value) {
                Some(value) => value.tensor().map(|tensor| Some(Tensor::clone(tensor))),
                None if let Some(constant) = self.model.constant_tensor(value) => {
                    Some(Some(constant.clone()))
                }
                None => Some(None),
            };
            let operands: Option<Vec<Option<Tensor>>> =
                record.inputs().map(|input| input.map_or(Some(None), operand)).collect();
            let results = run.outputs.iter().flatten().filter_map(Value::tensor);
            let results: Vec<Tensor> = results.map(|tensor| Tensor::clone(tensor)).collect();
            let are_open = |operands: Vec<Option<Tensor>>| {
                let operands: Vec<Option<&Tensor>> = operands.iter().map(Option::as_ref).collect();
                are_open(record, &operands, &results)
            };
            if operands.is_some_and(are_open) {
                self.is_found.store(true, Ordering::Relaxed);
            }
        }
        let made = record.outputs().iter().zip(run.outputs);
        values.extend(made.filter_map(|(value, made)| Some(((*value)?, made.clone()?))));
    }
}
