//! Runs in which each special number of one operand meets each of another one. Random elements of small tensors rarely do: of
//! operands with one element, a run compares one pair.

use onnx_types::{ElemClass, ElemType};

use crate::assumption::Condition;
use crate::formats::Format;
use crate::prove::{Attempt, Runner};
use crate::sample::{Case, Sampler, SplitMix64};
use crate::verdict::{Counterexample, Verdict};

/// The first of the attempts for pairs.
const FIRST: usize = 1 << 24;

/// Special numbers of a type: a prime, so that rows do not repeat.
const COUNT: usize = 17;

/// Plans of sizes, which are tried until one satisfies the assumptions.
const PLANS: usize = 3;

/// Most runs with one assignment of operands.
const MOST: usize = COUNT * COUNT;

/// An attempt for pairs.
#[derive(Clone, Copy)]
pub(crate) struct Pairing {
    /// The plan of sizes.
    pub(crate) plan: usize,
    /// The assignment: which operand is the first of a pair.
    pub(crate) turn: usize,
    /// The run.
    pub(crate) run: usize,
}

impl Pairing {
    /// The number of the attempt.
    pub(crate) const fn attempt(self) -> usize {
        FIRST | self.plan << 20 | self.turn << 16 | self.run
    }

    /// The pairing of an attempt, if it is one.
    pub(crate) const fn of(attempt: usize) -> Option<Self> {
        if attempt < FIRST {
            return None;
        }
        Some(Self { plan: attempt >> 20 & 3, turn: attempt >> 16 & 15, run: attempt & 0xffff })
    }

    /// The size of a variable, of which there are several.
    pub(crate) fn size(self, variables: usize) -> i64 {
        match (self.plan, variables) {
            (0, 0 | 1) => 61,
            (0, 2) => COUNT as i64,
            (0, _) => 5,
            (1, _) => 3,
            _ => 1,
        }
    }

    /// The place in the list of special numbers of an element of the operand with a number among several. All pairs of the
    /// first two operands of the assignment occur; others are mixed.
    pub(crate) const fn place(self, operand: usize, operands: usize, index: usize, count: usize) -> usize {
        let role = operand.wrapping_add(self.turn).checked_rem(operands);
        match role {
            Some(0) => index.wrapping_add(count.wrapping_mul(self.run / COUNT)),
            Some(1) => (index / COUNT).wrapping_add(self.run.wrapping_mul(rows(count))),
            _ => index.wrapping_mul(5).wrapping_add(self.run.wrapping_mul(7)).wrapping_add(index / COUNT),
        }
    }
}

impl Runner<'_> {
    /// The verdict of a claim that holds in all runs, after runs in which special numbers of two operands meet.
    pub(crate) fn on_pairs(&self, verdict: Verdict) -> Verdict {
        /// The share of the operations of a run that these take together.
        const SHARE: u64 = 4;
        let sampler = Sampler::new(self.eq, self.execution.limits.proof_elements);
        let paired = &sampler.paired;
        if !matches!(verdict, Verdict::Tested { .. }) || paired.is_empty() {
            return verdict;
        }
        let mut rng = SplitMix64::new(self.execution.seed);
        let most = self.steps().saturating_add(self.execution.limits.proof_steps / SHARE);
        let first = if sampler.points.is_expensive { 1 } else { 0 };
        let mut of_plan = |plan: usize| {
            let case = sampler.case(Pairing { plan, turn: 0, run: 0 }.attempt(), &mut rng).ok()?;
            Some((plan, runs(&case, |index| paired.contains(&index))))
        };
        let Some((plan, runs)) = (first..PLANS).find_map(&mut of_plan) else { return verdict };
        for (turn, run) in (0..turns(paired.len())).flat_map(|turn| (0..runs).map(move |run| (turn, run))) {
            if self.steps() >= most || self.execution.interrupt.check().is_err() {
                break;
            }
            let Ok(case) = sampler.case(Pairing { plan, turn, run }.attempt(), &mut rng) else { break };
            if let Attempt::Different(difference) = self.attempt(&case, &mut rng) {
                return Verdict::Refuted(Box::new(Counterexample::new(self.eq, &case, &difference)));
            }
        }
        verdict
    }
}

/// The special numbers of the second operand that one run has.
const fn rows(count: usize) -> usize {
    if count < COUNT { 1 } else { count / COUNT }
}

/// The runs that show all pairs of two operands with these numbers of elements.
fn runs(case: &Case, is_paired: impl Fn(usize) -> bool) -> usize {
    let counts = case.inputs.iter().enumerate().filter(|&(index, _)| is_paired(index));
    let counts = counts.filter_map(|(_, value)| usize::try_from(value.tensor()?.element_count()?).ok());
    let (least, most) =
        counts.fold((usize::MAX, 1), |(least, most), count| (least.min(count), most.max(count)));
    let least = if least == usize::MAX { 1 } else { least };
    COUNT.div_ceil(rows(least)).saturating_mul(COUNT.div_ceil(most)).min(MOST)
}

/// The assignments of operands in which every two of three are a pair.
const fn turns(operands: usize) -> usize {
    if operands > 2 { 3 } else { 1 }
}

/// The special floats of a type that conditions allow.
pub(crate) fn floats(elem: ElemType, conditions: &[Condition]) -> Vec<f64> {
    let Some(format) = Format::of(elem) else { return Vec::new() };
    // The first integer beyond which the type does not have all: the next one that it has is a neighbor.
    let integers = format.integers().min(f64::from(1 << 24));
    let all = [
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1.0,
        -1.0,
        format.max,
        -format.max,
        format.tiny(),
        -format.tiny(),
        1.0 + format.step(),
        0.5,
        1.5,
        -2.0,
        integers,
        integers + if format.bits > 24 { 1.0 } else { 2.0 },
    ];
    let is_allowed = |number: &f64| conditions.iter().all(|condition| condition.allows(*number));
    all.into_iter().filter(is_allowed).collect()
}

/// The special integers of a type; the tensor takes their last bits.
pub(crate) fn integers(elem: ElemType) -> Vec<i64> {
    if !matches!(elem.class(), ElemClass::Int | ElemClass::Uint) {
        return Vec::new();
    }
    let bits = elem.bits().unwrap_or(64).clamp(2, 64);
    let highest = (u64::MAX >> 1 >> (64 - bits)).cast_signed();
    // Beyond 24 and 53 bits, floats do not have all integers.
    // What conversions to narrower types cut off, and integers that floats do not have.
    let cut: &[i64] = match bits {
        33.. => &[1 << 8, 1 << 16, 1 << 32, (1 << 24) + 1, 1 << 53, (1 << 53) + 1, 1 << 24],
        17.. => &[1 << 8, 1 << 16, (1 << 24) + 1, 1 << 24, 1 << 11, (1 << 11) + 1, 7],
        9.. => &[1 << 8, (1 << 8) + 1, 1 << 11, (1 << 11) + 1, 7, -7, 1 << 7],
        _ => &[7, -7, 5, -3, 6, 4, -4],
    };
    let all = [0, 1, -1, highest, !highest, 2, -2, 3, highest - 1, !highest + 1];
    all.into_iter().chain(cut.iter().copied()).collect()
}
