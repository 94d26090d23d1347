//! The proof of an equivalence: by congruence, or by runs of both sides.

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use onnx_eval::{EvalOptions, Failure, FailureKind, NodeEvaluator, Perturbation, Precision, Value};
use onnx_ir::ValueId;
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemType, Execution, Limits};

use crate::assumption::{Assumption, Condition, Exactness};
use crate::compare::{self, Difference, Equality};
use crate::conversions::{self, Decision};
use crate::cx::PassOptions;
use crate::elements;
use crate::equivalence::{Equivalence, EquivalenceSide};
use crate::exact_runs::ExactRuns;
use crate::perturbed::{perturbed, precision, rounding_error, tolerances};
use crate::sample::{Case, NoCase, Sampler, SplitMix64};
use crate::undefined::Undefined;
use crate::unread::{untested, without_case};
use crate::verdict::{Counterexample, Verdict};

/// Number of runs after which a claim has no more of them if they took as many operations as one run may take.
const FIRST_ROUND: usize = 3;

/// Number of runs that exceed a limit after which a claim without a complete run has no more of them.
const MOST_EXCEEDED: usize = 3;

/// The operations of all runs of a claim, as a multiple of those that one run may take.
pub(crate) const MOST_WORK: u64 = 4;

/// The context of one run of one side of a claim.
pub(crate) fn of_run(execution: &Execution) -> Execution {
    let limits = execution.limits;
    execution.clone().with_limits(Limits {
        run_elements: limits.proof_elements.saturating_mul(64),
        run_steps: limits.proof_steps,
        run_bytes: limits.proof_bytes,
        ..limits
    })
}

/// Proves or tests a claim.
///
/// Sides that are the same computation are proved by congruence. All others run on inputs that satisfy the assumptions: sizes
/// 0, 1 and others, special floats, operands that are the same value. Only runs in which the old side completes count. Claims
/// of the class *exact* compare bits, also under an implementation that rounds operators differently whose order of
/// accumulation or approximation the standard leaves open. For those of the class *rounding*, both sides run with floats of 64 bits, and results
/// may differ as much as the old side changes if its operands are rounded differently. The same claim has the same verdict on
/// all machines.
#[must_use]
pub fn prove(eq: &Equivalence, options: &PassOptions<'_>) -> Verdict {
    prove_metered(eq, options, &AtomicU64::new(0))
}

/// Like [`prove`], and adds the operations of all runs to a number.
pub(crate) fn prove_metered(eq: &Equivalence, options: &PassOptions<'_>, steps: &AtomicU64) -> Verdict {
    let mut verdict = decide(eq, options, steps);
    if let Verdict::Refuted(counterexample) = &mut verdict {
        counterexample.write_reproducer(eq);
    }
    verdict
}

fn decide(eq: &Equivalence, options: &PassOptions<'_>, steps: &AtomicU64) -> Verdict {
    if eq.class() == Exactness::Approximate {
        return Verdict::Untested("edits of the class approximate are measured on whole models".to_owned());
    }
    let [before, after] = [EquivalenceSide::Before, EquivalenceSide::After]
        .map(|side| eq.model().function(eq.function(side)).body());
    if eq.model().same_graph_meaning(before, after, &NoData) {
        return Verdict::Proved("congruence");
    }
    let run = EvalOptions::default()
        .with_execution(of_run(&options.execution))
        .with_registry(options.registry)
        .with_meter(Some(steps));
    let undefined = Undefined::of_sides(eq, options.registry);
    let runner = Runner::new(eq, &options.execution, run.clone(), undefined.each_ref().map(Option::as_ref));
    match conversions::decide(eq, &run) {
        Some(Decision::Equal(method)) => return Verdict::Proved(method),
        Some(Decision::Different(found)) => {
            return Verdict::Refuted(Box::new(Counterexample::new(
                runner.eq,
                &found.case,
                &found.difference,
            )));
        }
        None => {}
    }
    if eq.class() == Exactness::Rounding {
        // A constant that was computed in the types of the model is rounded, as in the runs of the model.
        if eq.inputs().into_iter().all(|input| eq.constant(input).is_some())
            && let verdict @ Verdict::Tested { .. } = runner.verdict_on_bits()
        {
            return verdict;
        }
        let doubles = runner.with(run.with_precision(Precision::Double));
        match doubles.verdict() {
            // Code that depends on the bits of a narrow type runs in that type.
            Verdict::Untested(_) if !doubles.has_exceeded.get() => {}
            verdict => return runner.on_series(verdict),
        }
        return runner.on_series(runner.verdict());
    }
    let verdict = runner.on_series(runner.verdict());
    if matches!(verdict, Verdict::Tested { .. }) {
        // The greatest perturbation that there is remains visible in floats of 16 bits.
        let perturbation = Perturbation { seed: options.execution.seed, ulps: u64::MAX, arithmetic: false };
        if let Verdict::Refuted(mut counterexample) =
            runner.with(run.with_perturbation(perturbation)).verdict()
        {
            counterexample.difference.push_str(", under an implementation that rounds differently");
            return Verdict::Refuted(counterexample);
        }
    }
    runner.on_zeros(verdict)
}

/// The result of one attempt.
pub(crate) enum Attempt {
    Equal {
        /// Whether an output has elements.
        has_elements: bool,
        /// Whether the standard defines the results of the old side.
        is_defined: bool,
    },
    /// The old side of a claim about real numbers has a float output without one: no evidence.
    NotFinite,
    /// The old side did not complete, for this reason.
    Skipped(String),
    /// The old side exceeded a limit.
    Exceeded(String),
    Different(Difference),
    Impossible(String),
}

pub(crate) struct Runner<'a> {
    pub(crate) eq: &'a Equivalence,
    /// The class in which results are compared.
    class: Exactness,
    pub(crate) execution: &'a Execution,
    /// The options with which a side runs.
    pub(crate) run: EvalOptions<'a>,
    /// Both sides, ready to run with these options.
    sides: [Result<NodeEvaluator<'a>, (FailureKind, String)>; 2],
    /// Note whether the results of each side are defined, for claims of the class *exact*.
    pub(crate) undefined: [Option<&'a Undefined<'a>>; 2],
    /// Whether runs exceeded limits until there were no more of them.
    has_exceeded: Cell<bool>,
}

impl<'a> Runner<'a> {
    fn new(
        eq: &'a Equivalence,
        execution: &'a Execution,
        run: EvalOptions<'a>,
        undefined: [Option<&'a Undefined<'a>>; 2],
    ) -> Self {
        let sides = [EquivalenceSide::Before, EquivalenceSide::After].map(|side| {
            NodeEvaluator::new(eq.model(), eq.call(side), &run)
                .map_err(|failure| (failure.kind(), message(&failure)))
        });
        Self { eq, class: eq.class(), execution, run, sides, undefined, has_exceeded: Cell::new(false) }
    }

    /// A side, if it can run.
    pub(crate) fn side(&self, side: EquivalenceSide) -> Option<&NodeEvaluator<'a>> {
        self.sides.get(side as usize)?.as_ref().ok()
    }

    /// The same with other options for the runs of a side.
    pub(crate) fn with(&self, run: EvalOptions<'a>) -> Self {
        Self::new(self.eq, self.execution, run, self.undefined)
    }

    /// The operations of all runs so far.
    pub(crate) fn steps(&self) -> u64 {
        self.run.meter.map_or(0, |meter| meter.load(Ordering::Relaxed))
    }

    /// The verdict of the claim that both sides are equal bit for bit.
    fn verdict_on_bits(&self) -> Verdict {
        Self { class: Exactness::Exact, ..self.with(self.run.clone()) }.verdict()
    }

    fn verdict(&self) -> Verdict {
        let mut sampler = Sampler::new(self.eq, self.execution.limits.proof_elements);
        if let Some(verdict) = self.on_parts(&mut sampler) {
            return self.at_own_sizes(&mut sampler, verdict);
        }
        let mut smaller = None;
        if sampler.scale() {
            match self.runs(&sampler) {
                // Its own sizes are not smaller.
                untested @ Verdict::Untested(_) if self.has_exceeded.get() => return untested,
                Verdict::Untested(_) => {}
                refuted @ Verdict::Refuted(_) => smaller = Some((refuted, sampler.scaled_sizes())),
                verdict => return self.at_own_sizes(&mut sampler, verdict),
            }
            sampler.unscale();
        }
        let verdict = self.runs(&sampler);
        match (verdict, smaller) {
            (verdict @ Verdict::Tested { .. }, _) => verdict,
            (Verdict::Refuted(_), Some((smaller, _))) => smaller,
            (_, Some((smaller, sizes))) => self.confirmed(&mut sampler, smaller, sizes),
            (verdict @ Verdict::Untested(_), None) if sampler.scale_spatial() => match self.runs(&sampler) {
                Verdict::Untested(_) => verdict,
                // What is computed from other spatial sizes has other sizes than those that the edit read.
                Verdict::Refuted(_) if sampler.reads_large_sizes() => verdict,
                smaller => smaller,
            },
            (verdict, None) => verdict,
        }
    }

    /// The verdict of a claim that holds for smaller sizes, after a run at its own sizes if that is cheap: numbers of elements in the
    /// claim, such as the end of a slice or the extent of a window, may be greater than the smaller sizes.
    fn at_own_sizes(&self, sampler: &mut Sampler<'_>, smaller: Verdict) -> Verdict {
        if sampler.points.is_expensive && !sampler.points.has_large_attribute {
            return smaller;
        }
        sampler.unscale();
        let mut own = self.runs_until(sampler, (1, 1));
        let positions: &[usize] = if sampler.points.has_positions { &elements::MONOTONE } else { &[] };
        for &attempt in positions.iter().filter(|_| self.steps() < self.execution.limits.proof_steps) {
            let mut rng = SplitMix64::new(self.execution.seed);
            if let Ok(case) = sampler.case(attempt, &mut rng)
                && let Attempt::Different(difference) = self.attempt(&case, &mut rng)
            {
                own = Verdict::Refuted(Box::new(Counterexample::new(self.eq, &case, &difference)));
            }
        }
        match (own, smaller) {
            (refuted @ Verdict::Refuted(_), _) => refuted,
            (Verdict::Tested { runs: own, attempts: tried }, Verdict::Tested { runs, attempts }) => {
                Verdict::Tested { runs: runs.saturating_add(own), attempts: attempts.saturating_add(tried) }
            }
            (_, smaller) => smaller,
        }
    }

    /// The verdict from runs with parts of large constants, and one with all of their elements. Parts need not be an instance of
    /// the claim, so that nothing but agreement of all runs counts.
    fn on_parts(&self, sampler: &mut Sampler<'_>) -> Option<Verdict> {
        const FIRST: [i64; 2] = [2, 4];
        // If the first attempts do not complete, no later ones do: numbers in the claim depend on the sizes.
        const TRIED: (usize, usize) = (1, 6);
        let mut found = None;
        if sampler.scale_constants()
            && matches!(self.runs_until(sampler, TRIED), Verdict::Tested { .. })
            && let Verdict::Tested { runs, attempts } = self.runs(sampler)
        {
            for first in FIRST {
                sampler.scale_whole(first);
                let verdict = self.runs_until(sampler, (1, 1));
                if let Verdict::Tested { runs: own, attempts: tried } = verdict {
                    let (runs, attempts) = (runs.saturating_add(own), attempts.saturating_add(tried));
                    found = Some(Verdict::Tested { runs, attempts });
                }
                if !matches!(verdict, Verdict::Untested(_)) {
                    break;
                }
            }
        }
        sampler.unscale();
        found
    }

    /// The meaning of a difference at smaller sizes if the sizes of the claim cannot be run. The claim is about its own
    /// sizes: if the sides agree as soon as one size has its original value, the difference depends on that size and
    /// does not refute the claim.
    fn confirmed(&self, sampler: &mut Sampler<'_>, smaller: Verdict, sizes: Vec<i64>) -> Verdict {
        for size in sizes {
            sampler.scale_but(size);
            let verdict = self.runs(sampler);
            if matches!(verdict, Verdict::Tested { .. }) {
                return verdict;
            }
        }
        smaller
    }

    fn runs(&self, sampler: &Sampler<'_>) -> Verdict {
        let limits = &self.execution.limits;
        // Runs on the same inputs have the same results.
        let most = if sampler.is_closed() { limits.proof_runs.min(1) } else { limits.proof_runs };
        self.runs_until(sampler, (most, limits.proof_attempts))
    }

    /// The verdict after a number of runs or attempts. A claim that needs much work has fewer runs.
    fn runs_until(&self, sampler: &Sampler<'_>, (most, most_attempts): (usize, usize)) -> Verdict {
        let mut rng = SplitMix64::new(self.execution.seed);
        let (begin, limits) = (self.steps(), &self.execution.limits);
        let (mut runs, mut attempts) = (0_usize, 0_usize);
        // Runs in which the standard leaves a result open.
        let mut open = 0_usize;
        let mut exceeded = 0_usize;
        self.has_exceeded.set(false);
        // Whether a run compared elements, and whether a run did not count because its results are not finite.
        let (mut has_compared, mut has_not_finite) = (false, false);
        // Of the last attempt that ran, else of one whose inputs would be too large.
        let (mut reason, mut large) = (None, None);
        let mut is_repeated = false;
        while (runs == 0 || runs.saturating_add(open) < most) && attempts < most_attempts && !is_repeated {
            let steps = self.steps().saturating_sub(begin);
            let share = if runs < FIRST_ROUND { MOST_WORK } else { 1 };
            let most_steps = limits.proof_steps.saturating_mul(share);
            // Of the runs at other sizes and in other precisions, too.
            let is_spent = self.steps() >= most_steps.saturating_mul(2);
            if attempts > 0 && (steps >= most_steps || is_spent) {
                break;
            }
            // Making inputs takes time, too, and their runs would all end at once.
            if let Err(stopped) = self.execution.interrupt.check() {
                return Verdict::Untested(stopped.to_string());
            }
            let case = sampler.case(attempts, &mut rng);
            attempts = attempts.saturating_add(1);
            let case = match case {
                Ok(case) => case,
                Err(NoCase::Sizes) => continue,
                Err(NoCase::Large(elements)) => {
                    large.get_or_insert(elements);
                    continue;
                }
                Err(NoCase::Unsupported(reason)) => return Verdict::Untested(reason),
            };
            is_repeated = sampler.is_closed();
            match self.attempt(&case, &mut rng) {
                Attempt::Equal { is_defined: false, .. } => open = open.saturating_add(1),
                Attempt::Equal { has_elements, .. } => {
                    runs = runs.saturating_add(1);
                    has_compared |= has_elements;
                }
                Attempt::NotFinite => has_not_finite = true,
                Attempt::Skipped(why) => reason = Some(why),
                // What grows without bound does so for all sizes: further runs would take as much work for nothing.
                Attempt::Exceeded(why) => {
                    exceeded = exceeded.saturating_add(1);
                    if runs == 0 && exceeded >= MOST_EXCEEDED {
                        self.has_exceeded.set(true);
                        return Verdict::Untested(why);
                    }
                    reason = Some(why);
                }
                Attempt::Impossible(reason) => return Verdict::Untested(reason),
                Attempt::Different(difference) => {
                    return Verdict::Refuted(Box::new(Counterexample::new(self.eq, &case, &difference)));
                }
            }
        }
        let reason = reason.unwrap_or_else(|| without_case(large, limits.proof_elements));
        match untested((runs, open), (has_compared, has_not_finite), reason) {
            Some(reason) => Verdict::Untested(reason),
            None => Verdict::Tested { runs, attempts },
        }
    }

    pub(crate) fn attempt(&self, case: &Case, rng: &mut SplitMix64) -> Attempt {
        let before = match self.run(EquivalenceSide::Before, &case.inputs) {
            Ok(outputs) => outputs,
            // A kernel may be missing for some sizes only: an output of a `Scan` without iterations has no type.
            Err((FailureKind::Missing, reason)) => return Attempt::Skipped(reason),
            Err((FailureKind::Limit | FailureKind::Memory, reason)) => {
                return Attempt::Exceeded(format!("the old side completes in no run: {reason}"));
            }
            Err((_, reason)) => {
                return Attempt::Skipped(format!("the old side completes in no run: {reason}"));
            }
        };
        let is_defined = self.is_defined(EquivalenceSide::Before);
        let after = match self.run(EquivalenceSide::After, &case.inputs) {
            Ok(outputs) => outputs,
            Err((
                FailureKind::Missing | FailureKind::Limit | FailureKind::Memory | FailureKind::Stopped,
                reason,
            )) => {
                return Attempt::Impossible(reason);
            }
            Err((_, reason)) => {
                let before = before.first().map_or_else(String::new, Value::describe);
                return Attempt::Different(Difference { output: 0, element: None, before, after: reason });
            }
        };
        // Of this run, which others follow.
        let open = self.newly_open(is_defined, &before);
        let has_elements = before.iter().any(compare::has_elements);
        let is_rounding = self.class == Exactness::Rounding;
        // Results that are equal without tolerance need no further runs.
        let mut found = compare::difference(&before, &after, &Equality::Bits)
            .filter(|_| is_rounding || !self.is_in_an_order(case, &before, &after));
        if is_rounding && found.is_some() {
            if let Some(difference) = self.exact_difference(case) {
                return Attempt::Different(difference);
            }
            // The next case does not depend on whether there is a second comparison.
            let mut again = rng.clone();
            let mut unexplained = self.unexplained(&before, &after, case, (2, 32.0), rng);
            // Of many elements, a few change little in two runs by chance. What passes a threshold is not such a difference.
            if unexplained.is_some() && self.is_small(&before, &after) {
                unexplained = self.unexplained(&before, &after, case, (16, 4.0), &mut again);
            }
            found = unexplained.and_then(|(_, tolerances)| {
                self.unexplained_inside([&before, &after], case, tolerances, &mut again)
            });
        }
        match found {
            Some(difference) => self.meaning(difference, is_defined, case, rng),
            None if let Some(open) = open => Attempt::Different(open),
            None if is_rounding && !before.iter().all(compare::has_finite) => Attempt::NotFinite,
            None => Attempt::Equal { has_elements, is_defined },
        }
    }

    /// The first difference of results, if no number is rounded in the runs of both sides.
    fn exact_difference(&self, case: &Case) -> Option<Difference> {
        let is_declared = self.run.precision == Precision::Declared;
        let observer = ExactRuns::of(self.eq.model(), &case.inputs, self.narrowest(), is_declared)?;
        let given: Vec<Option<Value>> = case.inputs.iter().cloned().map(Some).collect();
        let run = self.run.clone().with_observer(&observer);
        let [before, after] = self.sides.each_ref().map(|side| -> Option<Vec<Value>> {
            side.as_ref().ok()?.run(&given, &run).ok()?.into_iter().collect()
        });
        let (before, after) = (before?, after?);
        let tolerances = vec![Vec::new(); before.len()];
        let exactly = Equality::Rounding { tolerances, allow_nan: self.allows_nan(case) };
        compare::difference(&before, &after, &exactly).filter(|_| observer.holds())
    }

    /// Whether results differ by a small multiple of their rounding error.
    fn is_small(&self, before: &[Value], after: &[Value]) -> bool {
        const MULTIPLE: f64 = 4096.0;
        let error = self.rounding_error() * MULTIPLE;
        before.iter().zip(after).all(|(old, new)| {
            let most = error * compare::largest(&compare::magnitudes(old));
            compare::largest(&compare::distances(old, new)) <= most
        })
    }

    /// Whether a NaN of the old side does not count: the caller excludes it, or large operands overflow before it.
    fn allows_nan(&self, case: &Case) -> bool {
        const MODERATE: f64 = 16.0;
        let excludes = |assumption: &Assumption| {
            matches!(assumption, Assumption::Granted(Condition::NoNan | Condition::Finite))
        };
        let is_free = |input: &ValueId| self.eq.constant(*input).is_none();
        let inputs = self.eq.inputs();
        let mut free = inputs.iter().zip(&case.inputs).filter(|(input, _)| is_free(input));
        self.eq.assumptions().iter().any(excludes)
            || free.any(|(_, value)| compare::largest(&compare::magnitudes(value)) > MODERATE)
    }

    pub(crate) fn run(
        &self,
        side: EquivalenceSide,
        inputs: &[Value],
    ) -> Result<Vec<Value>, (FailureKind, String)> {
        let given: Vec<Option<Value>> = inputs.iter().cloned().map(Some).collect();
        let planned = match &self.sides[side as usize] {
            Ok(planned) => planned,
            Err(failure) => return Err(failure.clone()),
        };
        let result = match self.undefined.get(side as usize).copied().flatten() {
            Some(undefined) => {
                undefined.begin();
                planned.run(&given, &self.run.clone().with_observer(undefined))
            }
            None => planned.run(&given, &self.run),
        };
        let outputs = result.map_err(|failure| (failure.kind(), message(&failure)))?;
        let outputs: Option<Vec<Value>> = outputs.into_iter().collect();
        outputs.ok_or((FailureKind::Model, "an output is not computed".to_owned()))
    }

    /// The first difference that rounding does not explain: each result may differ by a margin times its change if the float
    /// operands of the old side change by their rounding error. A part of the largest change is allowed everywhere, since
    /// changes of operands may cancel. More changes of operands only allow more, so that the first ones that suffice end the search.
    /// With the difference, the tolerances of all results.
    fn unexplained(
        &self,
        before: &[Value],
        after: &[Value],
        case: &Case,
        (perturbations, margin): (usize, f64),
        rng: &mut SplitMix64,
    ) -> Option<(Difference, Vec<Vec<f64>>)> {
        let error = self.rounding_error();
        let allow_nan = self.allows_nan(case);
        let mut changes: Vec<Vec<f64>> = before.iter().map(compare::magnitudes).collect();
        for change in changes.iter_mut().flatten() {
            *change *= error * 4.0 / margin;
        }
        let all = |changes: &[Vec<f64>]| -> Vec<Vec<f64>> {
            changes.iter().map(|changes| tolerances(changes, margin)).collect()
        };
        let compare_with = |changes: &[Vec<f64>]| {
            let tolerances = all(changes);
            compare::difference(before, after, &Equality::Rounding { tolerances, allow_nan })
        };
        let mut found = compare_with(&changes);
        // The next case does not depend on how many changes were needed.
        let seeds: Vec<u64> = (0..perturbations).map(|_| rng.next()).collect();
        for seed in seeds {
            // In both directions, so that one of them passes a threshold that an operand is at.
            for error in [error, -error] {
                found.as_ref()?;
                let mut rng = SplitMix64::new(seed);
                let inputs: Vec<Value> =
                    case.inputs.iter().map(|value| perturbed(value, error, &mut rng)).collect();
                let Ok(changed) = self.run(EquivalenceSide::Before, &inputs) else { continue };
                for ((changes, old), new) in changes.iter_mut().zip(before).zip(&changed) {
                    // Outputs of another shape have no tolerance that could be measured.
                    for (change, distance) in changes.iter_mut().zip(compare::distances(old, new)) {
                        *change = change.max(distance);
                    }
                }
                found = compare_with(&changes);
            }
        }
        found.map(|difference| (difference, all(&changes)))
    }

    /// Like [`unexplained`](Self::unexplained), if the results of the nodes of both sides are rounded differently, too: what follows
    /// may magnify that, as `Log` does near 1, or a difference of numbers that are nearly equal.
    fn unexplained_inside(
        &self,
        [before, after]: [&[Value]; 2],
        case: &Case,
        mut tolerances: Vec<Vec<f64>>,
        rng: &mut SplitMix64,
    ) -> Option<Difference> {
        const RUNS: usize = 8;
        const MARGIN: f64 = 16.0;
        for (side, outputs) in [(EquivalenceSide::Before, before), (EquivalenceSide::After, after)] {
            for _ in 0..RUNS {
                let perturbation = Perturbation { seed: rng.next(), ulps: 1, arithmetic: true };
                let runner = self.with(self.run.clone().with_perturbation(perturbation));
                let Ok(changed) = runner.run(side, &case.inputs) else { continue };
                for ((tolerances, old), new) in tolerances.iter_mut().zip(outputs).zip(&changed) {
                    for (tolerance, distance) in tolerances.iter_mut().zip(compare::distances(old, new)) {
                        *tolerance = tolerance.max(distance * MARGIN);
                    }
                }
            }
        }
        let allow_nan = self.allows_nan(case);
        compare::difference(before, after, &Equality::Rounding { tolerances, allow_nan })
    }

    /// The relative rounding error of the narrowest float type of the original inputs.
    fn rounding_error(&self) -> f64 {
        rounding_error(self.narrowest().and_then(precision).unwrap_or(53))
    }

    /// The narrowest float type of the original inputs that is not `double`.
    fn narrowest(&self) -> Option<ElemType> {
        let elems = self.eq.inputs().into_iter().filter_map(|input| {
            let constant = self.eq.constant(input).map(Tensor::elem);
            constant.or_else(|| self.eq.model().ty(input).map(onnx_types::Type::elem))
        });
        elems.filter(|&elem| precision(elem).is_some()).min_by_key(|&elem| precision(elem))
    }
}

/// Why a run has no result. Limits have the names of those that bound the proof.
pub(crate) fn message(failure: &Failure) -> String {
    let message = &failure.diagnostic().message;
    match failure.kind() {
        FailureKind::Limit => message.replace("`run_", "`proof_").replace("`proof_depth`", "`run_depth`"),
        _ => message.clone(),
    }
}
