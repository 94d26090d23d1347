//! Sizes and lists that fit what was chosen before, so that conditions between operands hold.

use super::generate::{Generator, Slot};
use crate::ast::{Condition, Size, Var};

impl Generator<'_> {
    /// Returns `true` if two slices of the left side have the same operand: they may be its halves.
    pub(super) fn slices_one_value_twice(&self) -> bool {
        let slices = self.pattern.rule.from.nodes.iter().filter(|node| node.op == "Slice");
        let operands: Vec<_> = slices.filter_map(|node| node.operands.first()).collect();
        operands.iter().enumerate().any(|(index, operand)| {
            operands.iter().skip(index.saturating_add(1)).any(|other| other == operand)
        })
    }

    /// A list of sizes, or limits of a slice, that fits what was chosen before; mostly `None`.
    pub(super) fn related(&mut self, op: &str, name: &str, first: &[i64]) -> Option<Vec<i64>> {
        let last = first.last().copied()?;
        if op == "Slice"
            && let Some(is_second) = self.half
        {
            let axis = i64::try_from(first.len()).ok()?.checked_sub(1)?;
            let half = last / 2;
            return Some(match name {
                "starts" => {
                    let is_second = self.rng.chance(50);
                    self.half = Some(is_second);
                    vec![if is_second { half } else { 0 }]
                }
                "ends" => vec![if is_second { i64::MAX } else { half }],
                "axes" => vec![if self.rng.chance(50) { -1 } else { axis }],
                _ => vec![1],
            });
        }
        if op != "Reshape" || name != "shape" || !self.rng.chance(30) {
            return None;
        }
        // The sizes of another operand, or with the last size of this one.
        let all: Vec<Vec<i64>> = self
            .slots
            .iter()
            .flatten()
            .filter_map(Slot::tensor)
            .map(|tensor| tensor.dims().to_vec())
            .collect();
        let mut sizes = self.rng.pick(&all)?;
        let count = |sizes: &[i64]| sizes.iter().try_fold(1_i64, |count, &size| count.checked_mul(size));
        if count(&sizes) != count(first) {
            *sizes.last_mut()? = last;
        }
        (count(&sizes) == count(first)).then_some(sizes)
    }

    /// Sizes of a variable that satisfy, mostly, the conditions which relate it to a number or to what is chosen already.
    pub(super) fn conditioned(&mut self, var: Var, mut sizes: Vec<i64>) -> Vec<i64> {
        if self.rng.chance(10) {
            return sizes;
        }
        let known = |slots: &[Option<Slot>], size: Size| match size {
            Size::Number(number) => Some(number),
            Size::Rank(other) => i64::try_from(slots.get(other)?.as_ref()?.tensor()?.dims().len()).ok(),
            Size::Dim(other, axis) => at(slots.get(other)?.as_ref()?.tensor()?.dims(), axis).copied(),
        };
        let equal = || {
            let all = self.pattern.rule.conditions.iter();
            all.filter_map(|(_, condition)| match condition {
                Condition::Equal(a, b) => Some([(*a, *b), (*b, *a)]),
                _ => None,
            })
            .flatten()
        };
        for (own, other) in equal() {
            if own == Size::Rank(var)
                && let Some(rank) = known(&self.slots, other).and_then(|rank| usize::try_from(rank).ok())
            {
                sizes.resize(rank.min(8), 2);
            }
        }
        for (own, other) in equal() {
            if let (Size::Dim(own, axis), Some(size)) = (own, known(&self.slots, other))
                && own == var
                && let Some(slot) = index(sizes.len(), axis).and_then(|axis| sizes.get_mut(axis))
            {
                *slot = size;
            }
        }
        sizes
    }
}

/// The index of an axis that may count from the end.
fn index(rank: usize, axis: i64) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    usize::try_from(if axis < 0 { axis.saturating_add(rank) } else { axis }).ok()
}

fn at(sizes: &[i64], axis: i64) -> Option<&i64> {
    sizes.get(index(sizes.len(), axis)?)
}
