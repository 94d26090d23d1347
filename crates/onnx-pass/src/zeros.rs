//! Runs of an exact claim in which zeros of different signs meet where the standard does not say which of them is the result.

use onnx_eval::{SplitMix64, ZeroOrder};
use onnx_ir::{Model, NodeId};
use onnx_schema::Registry;
use onnx_types::{ElemClass, Type};

use crate::assumption::Exactness;
use crate::compare;
use crate::equivalence::EquivalenceSide;
use crate::pairs::Pairing;
use crate::prove::Runner;
use crate::sample::{Case, Sampler};
use crate::sweeps::Sweep;
use crate::verdict::Verdict;

/// Number of runs with zeros in most places, and of those in which special numbers meet.
const RUNS: u64 = 16;
const PAIRS: usize = 8;

/// The share of the operations of a run that these take together.
const SHARE: u64 = 4;

impl<'a> Runner<'a> {
    /// The verdict of a claim that holds in all runs, after runs in which -0.0 is less than 0.0, or greater. The new side must
    /// return a result that an implementation of the old side returns.
    pub(crate) fn on_zeros(&self, verdict: Verdict) -> Verdict {
        let [old, new] = [EquivalenceSide::Before, EquivalenceSide::After]
            .map(|side| choices(self.eq.model(), self.eq.call(side), self.run.registry));
        let is_exact = self.eq.class() == Exactness::Exact && matches!(verdict, Verdict::Tested { .. });
        if !is_exact || new == 0 || !self.has_floats() {
            return verdict;
        }
        let orders = |all: Vec<u64>| -> Vec<Self> {
            all.into_iter()
                .map(|reversed| self.with(self.run.clone().with_zeros(ZeroOrder { reversed })))
                .collect()
        };
        let olds = orders(of_old(old));
        let news = orders(vec![0, u64::MAX]);
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
                let mut counterexample = self.counterexample(case, &difference);
                counterexample.difference.push_str(", under an implementation that orders zeros differently");
                return Some(Verdict::Refuted(Box::new(counterexample)));
            }
        }
        None
    }
}

/// Number of nodes that a call runs whose results depend on the order of zeros.
fn choices(model: &Model, call: NodeId, registry: &Registry) -> usize {
    let orders = |node: &NodeId| {
        let schema = model.callee(*node, registry).standard();
        schema.is_some_and(|schema| schema.traits().orders_zeros())
    };
    model.walk_node(call).with_functions(registry).nodes().filter(orders).count()
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
