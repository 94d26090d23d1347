//! Runs of an exact claim in which zeros of different signs meet where the standard does not say which of them is the result.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::fast::RandomState;
use onnx_eval::{NodeEvaluator, NodeRun, Observer, SplitMix64, Value, ZeroOrder};
use onnx_ir::{Callee, NodeId};
use onnx_schema::op;
use onnx_types::{ElemClass, Type};

use crate::assumption::Exactness;
use crate::compare;
use crate::equivalence::EquivalenceSide;
use crate::pairs::Pairing;
use crate::prove::Runner;
use crate::sample::{Case, Sampler};
use crate::sweeps::Sweep;
use crate::verdict::{Counterexample, Verdict};

/// Number of runs with zeros in most places, and of those in which special numbers meet.
const RUNS: u64 = 16;
const PAIRS: usize = 8;

/// The share of the operations of a run that these take together.
const SHARE: u64 = 4;

impl<'a> Runner<'a> {
    /// The verdict of a claim that holds in all runs, after runs in which -0.0 is less than 0.0, or greater. The new side must
    /// return a result that an implementation of the old side returns.
    pub(crate) fn on_zeros(&self, verdict: Verdict) -> Verdict {
        let [old, new] =
            [EquivalenceSide::Before, EquivalenceSide::After].map(|side| self.choices(side).count());
        let is_exact = self.eq.class() == Exactness::Exact && matches!(verdict, Verdict::Tested { .. });
        if !is_exact || new == 0 || !self.has_floats() {
            return verdict;
        }
        let olds: Vec<Self> = self.in_each(of_old(old)).collect();
        let news: Vec<Self> = self.in_each(vec![0, u64::MAX]).collect();
        let most = self.steps().saturating_add(self.execution.limits.proof_steps / SHARE);
        for case in self.cases() {
            if self.steps() >= most || self.execution.interrupt.check().is_err() {
                break;
            }
            if let Some(refuted) = self.in_orders(&case, &olds, &news) {
                return refuted;
            }
        }
        verdict
    }

    /// Whether the new side returned, for these inputs, what the old side returns in an order of zeros that is not that of the kernels,
    /// and returns it in each order: where both are open, an implementation that prefers its first operand tells them apart. Each
    /// element may be that of another order if no two elements of a result depend on one choice.
    pub(crate) fn is_in_an_order(&self, case: &Case, before: &[Value], after: &[Value]) -> bool {
        let [olds, news] =
            [EquivalenceSide::Before, EquivalenceSide::After].map(|side| of_old(self.choices(side).count()));
        if olds.is_empty() || !before.iter().zip(after).all(|(old, new)| are_like_floats(old, new)) {
            return false;
        }
        let is_fixed = self.in_each(news).all(|new| {
            let other = new.run(EquivalenceSide::After, &case.inputs);
            other.is_ok_and(|other| compare::beyond(&[before.to_vec(), other], after).is_none())
        });
        if !is_fixed {
            return false;
        }
        let mut all = vec![before.to_vec()];
        for old in self.in_each(olds) {
            let Ok(before) = old.run(EquivalenceSide::Before, &case.inputs) else { continue };
            if compare::difference(&before, after, &compare::Equality::Bits).is_none() {
                return true;
            }
            all.push(before);
        }
        self.chooses_by_element(case, before) && compare::beyond(&all, after).is_none()
    }

    /// Whether the old side has one result, of which each element depends on the choices of zeros at its own index only: all of its
    /// nodes compute element by element, and those that choose have as many elements as the result.
    fn chooses_by_element(&self, case: &Case, before: &[Value]) -> bool {
        let [Value::Tensor(old)] = before else { return false };
        let (model, registry) = (self.eq.model(), self.run.registry);
        let by_element = |node: NodeId| match model.callee(node, registry) {
            Callee::Function(_) => true,
            Callee::Standard(schema) => schema.traits().is_elementwise() || schema.op() == op::CONSTANT,
            _ => false,
        };
        let call = self.eq.call(EquivalenceSide::Before);
        let mut nodes = model.walk_node(call).with_functions(registry).nodes();
        let choices = self.choices(EquivalenceSide::Before).collect();
        let sizes = SizesOfChoices { choices, dims: old.dims(), differ: AtomicBool::new(false) };
        let given: Vec<Option<Value>> = case.inputs.iter().cloned().map(Some).collect();
        let run = self.run.clone().with_observer(&sizes);
        let has_run = |side: &NodeEvaluator<'_>| side.run(&given, &run).is_ok();
        nodes.all(by_element)
            && self.side(EquivalenceSide::Before).is_some_and(has_run)
            && !sizes.differ.load(Ordering::Relaxed)
    }

    /// Runners of these orders of zeros.
    fn in_each(&self, orders: Vec<u64>) -> impl Iterator<Item = Self> {
        orders.into_iter().map(|reversed| self.with(self.run.clone().with_zeros(ZeroOrder { reversed })))
    }

    /// The nodes that a side runs whose results depend on the order of zeros.
    fn choices(&self, side: EquivalenceSide) -> impl Iterator<Item = NodeId> {
        let (model, registry) = (self.eq.model(), self.run.registry);
        let orders = move |node: &NodeId| {
            let schema = model.callee(*node, registry).standard();
            schema.is_some_and(|schema| schema.traits().orders_zeros())
        };
        model.walk_node(self.eq.call(side)).with_functions(registry).nodes().filter(orders)
    }

    /// Whether an input has floats, of which zeros can have a sign.
    fn has_floats(&self) -> bool {
        let eq = self.eq;
        let elem = |input| {
            let constant = eq.constant(input).map(onnx_types::tensor::Tensor::elem);
            constant.or_else(|| eq.model().ty(input).map(Type::elem))
        };
        eq.inputs().into_iter().filter_map(elem).any(|elem| elem.class() == ElemClass::Float)
    }

    fn cases(&self) -> Vec<Case> {
        let limit = self.execution.limits.proof_elements;
        let mut sampler = Sampler::new(self.eq, limit);
        let pairs = (0..PAIRS).map(|run| Pairing { plan: 1, turn: 0, run }.attempt());
        let mut rng = SplitMix64::new(self.execution.seed);
        let pairs: Vec<Case> = pairs.filter_map(|attempt| sampler.case(attempt, &mut rng).ok()).collect();
        let mut cases = Vec::new();
        for run in 0..RUNS {
            sampler.sweep = Some(Sweep::Zeros(run));
            let mut rng = SplitMix64::new(self.execution.seed ^ run);
            cases.extend(sampler.case(0, &mut rng));
        }
        cases.extend(pairs);
        cases
    }

    /// The verdict of one case, if the new side has a result that the old side has in no order.
    fn in_orders(&self, case: &Case, olds: &[Self], news: &[Self]) -> Option<Verdict> {
        let before = self.run(EquivalenceSide::Before, &case.inputs).ok()?;
        if !self.is_defined(EquivalenceSide::Before) {
            return None;
        }
        let mut all = Vec::new();
        for new in news {
            let Ok(after) = new.run(EquivalenceSide::After, &case.inputs) else { continue };
            if compare::difference(&before, &after, &compare::Equality::Bits).is_none() {
                continue;
            }
            if all.is_empty() {
                all.extend(olds.iter().filter_map(|old| old.run(EquivalenceSide::Before, &case.inputs).ok()));
                all.push(before.clone());
            }
            if let Some(difference) = compare::beyond(&all, &after) {
                let mut counterexample = Counterexample::new(self.eq, case, &difference);
                counterexample.difference.push_str(", under an implementation that orders zeros differently");
                return Some(Verdict::Refuted(Box::new(counterexample)));
            }
        }
        None
    }
}

/// Whether two values are floats of one type and of the same sizes.
fn are_like_floats(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.tensor(), new.tensor()) else { return false };
    old.elem().class() == ElemClass::Float && (old.elem(), old.dims()) == (new.elem(), new.dims())
}

/// Observes whether nodes that choose between zeros have results of other sizes than the result of their side.
struct SizesOfChoices<'a> {
    choices: HashSet<NodeId, RandomState>,
    dims: &'a [i64],
    differ: AtomicBool,
}

impl Observer for SizesOfChoices<'_> {
    fn end(&self, run: &NodeRun<'_>) {
        let has_dims = |value: &Value| value.tensor().is_some_and(|tensor| tensor.dims() == self.dims);
        if self.choices.contains(&run.node) && !run.outputs.iter().flatten().all(has_dims) {
            self.differ.store(true, Ordering::Relaxed);
        }
    }
}

/// The orders in which the old side runs: all, or of many nodes those that are equal, alternate or are drawn.
fn of_old(nodes: usize) -> Vec<u64> {
    const ALL: usize = 4;
    const DRAWN: u64 = 8;
    match nodes {
        0 => Vec::new(),
        1..=ALL => (0..1 << nodes).collect(),
        _ => {
            let mut rng = SplitMix64::new(DRAWN);
            let alternating = u64::MAX / 3;
            let drawn = (0..DRAWN).map(|_| rng.next());
            [0, u64::MAX, alternating, !alternating].into_iter().chain(drawn).collect()
        }
    }
}
