//! The position of a freed size in the shapes around a `Reshape`.
//!
//! A `Reshape` keeps the elements in their order. So the freed size is at the same position in the flattened shapes before and
//! after it: behind the same number of elements, whichever axes these are spread over.

use onnx_types::Dim;

/// An element of a shape that is computed by the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// A number; in the target of a `Reshape` also 0 and -1.
    Number(i64),
    /// A multiple of the freed size.
    Multiple(i64),
}

/// An axis that the freed size is a factor of: its size is `outer * size * inner`, in row-major order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spot {
    pub(super) axis: usize,
    pub(super) outer: i64,
    pub(super) inner: i64,
}

/// A `Reshape` with a constant target.
pub(super) struct Reshape<'a> {
    /// The constant target.
    pub(super) target: &'a [i64],
    /// The shapes before the size was freed.
    pub(super) data: &'a [Dim],
    pub(super) output: &'a [Dim],
    /// Whether 0 in the target is a size.
    pub(super) allow_zero: bool,
    /// The old size.
    pub(super) old: i64,
}

impl Reshape<'_> {
    /// The axis of the result that has the freed size of an axis of the operand; `None` if it is unknown or more than one.
    pub(super) fn moved(&self, spot: Spot) -> Option<Spot> {
        let before = self.data.iter().take(spot.axis).map(|dim| dim.known());
        let before = before.chain([Some(spot.outer)]).try_fold(1_i64, |all, size| all.checked_mul(size?))?;
        let end = before.checked_mul(self.old)?;
        if before <= 0 || end <= 0 {
            return None;
        }
        let (mut at, mut found) = (1_i64, Vec::new());
        for (axis, dim) in self.output.iter().enumerate() {
            if at > before {
                break;
            }
            // What comes after an axis of unknown size cannot be located.
            let Some(size) = dim.known() else { break };
            let next = at.checked_mul(size)?;
            if next >= end && next.checked_rem(end)? == 0 && before.checked_rem(at)? == 0 {
                found.push(Spot { axis, outer: before.checked_div(at)?, inner: next.checked_div(end)? });
            }
            at = next;
        }
        self.preferred(spot, &found)
    }

    /// With an old size of 1, the position is also that of axes next to it. An axis that has only this size comes first, at the
    /// same index if there are several. Otherwise the size is between two axes, and both choices keep the elements in place;
    /// [`between`](Self::between) prefers the one that models mean, and the operators that use the result decide.
    fn preferred(&self, from: Spot, found: &[Spot]) -> Option<Spot> {
        let only = |spot: &&Spot| spot.outer == 1 && spot.inner == 1;
        let mut single = found.iter().filter(only);
        match (single.next(), single.next()) {
            (Some(&spot), None) => return Some(spot),
            (Some(_), Some(_)) => {
                return found.iter().filter(only).find(|spot| spot.axis == from.axis).copied();
            }
            (None, _) => {}
        }
        match found {
            [only] => Some(*only),
            [before, after] => self.between(from, *before, *after),
            _ => None,
        }
    }

    /// The axis of two that gets the size between them. An axis that is split into heads takes it: `[T, 1, D]` becomes
    /// `[T, 1 * heads, D / heads]`. An axis that stays or is merged does not, and the rows before it do: `[T, 1, D]` and
    /// `[T, 1 * heads, D / heads]` become `[T * 1, D]`.
    fn between(&self, from: Spot, before: Spot, after: Spot) -> Option<Spot> {
        let size = |dims: &[Dim], axis: Option<usize>| dims.get(axis?).and_then(|dim| dim.known());
        let before_size = size(self.output, Some(before.axis));
        let after_size = size(self.output, Some(after.axis))?;
        match (from.outer, from.inner) {
            (1, 1) => {
                let next = size(self.data, from.axis.checked_add(1))?;
                let stays_before = size(self.data, from.axis.checked_sub(1)) == before_size;
                match stays_before {
                    true if after_size < next => Some(after),
                    true => Some(before),
                    false => (after_size == next).then_some(before),
                }
            }
            (1, _) => (size(self.data, from.axis.checked_sub(1)) == before_size).then_some(before),
            (_, 1) => {
                let next = size(self.data, from.axis.checked_add(1))?;
                Some(if after_size < next { after } else { before })
            }
            _ => None,
        }
    }

    /// The target in which axes have freed sizes.
    pub(super) fn new_target(&self, from: &[Spot], to: &[Spot]) -> Vec<Entry> {
        let mut target: Vec<Entry> = self.target.iter().copied().map(Entry::Number).collect();
        let all = to;
        for (from, to) in from.iter().zip(to) {
            let size = |dims: &[Dim], axis: usize| dims.get(axis).and_then(|dim| dim.known());
            match self.target.get(to.axis) {
                None | Some(-1) => continue,
                Some(0) if !self.allow_zero => continue,
                Some(_) => {}
            }
            let is_same = to.axis == from.axis && size(self.data, to.axis) == size(self.output, to.axis);
            let computed = target.iter().position(|entry| *entry == Entry::Number(-1));
            let entry = if is_same && !self.allow_zero {
                Entry::Number(0)
            } else {
                match computed {
                    None => Entry::Number(-1),
                    // The size that was computed is a number, and that one is computed instead.
                    Some(other) if all.iter().all(|spot| spot.axis != other) => {
                        match size(self.output, other).filter(|&size| size > 0) {
                            Some(number) => {
                                if let Some(slot) = target.get_mut(other) {
                                    *slot = Entry::Number(number);
                                }
                                Entry::Number(-1)
                            }
                            None => Entry::Multiple(to.outer.saturating_mul(to.inner)),
                        }
                    }
                    Some(_) => Entry::Multiple(to.outer.saturating_mul(to.inner)),
                }
            };
            if let Some(slot) = target.get_mut(to.axis) {
                *slot = entry;
            }
        }
        target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims(sizes: &[i64]) -> Vec<Dim> {
        sizes.iter().map(|&size| Dim::Known(size)).collect()
    }

    /// The new target, with `B` for the freed size.
    fn check(data: &[i64], axis: usize, target: &[i64], output: &[i64], old: i64) -> Option<String> {
        let (data, output) = (dims(data), dims(output));
        let reshape = Reshape { target, data: &data, output: &output, allow_zero: false, old };
        let from = Spot { axis, outer: 1, inner: data[axis].known()? / old };
        let to = reshape.moved(from)?;
        let entries = reshape.new_target(&[from], &[to]);
        let text = entries.iter().map(|entry| match entry {
            Entry::Number(number) => number.to_string(),
            Entry::Multiple(factor) => format!("{factor}B"),
        });
        Some(text.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_freed_size_stays_behind_the_same_elements() {
        for (data, axis, target, output, old, expected) in [
            (&[1, 128, 64][..], 0, &[1, 128, 8, 8][..], &[1, 128, 8, 8][..], 1, Some("0 128 8 8")),
            (&[1, 128, 64], 0, &[1, -1, 8, 8], &[1, 128, 8, 8], 1, Some("0 -1 8 8")),
            (&[1, 8, 128, 8], 0, &[8, 128, 8], &[8, 128, 8], 1, Some("-1 128 8")),
            (&[8, 128, 8], 0, &[1, 8, 128, 8], &[1, 8, 128, 8], 1, Some("-1 8 128 8")),
            (&[8, 128, 8], 0, &[1, 8, -1, 8], &[1, 8, 128, 8], 1, Some("-1 8 128 8")),
            (&[4, 6], 0, &[-1, 3], &[8, 3], 4, Some("-1 3")),
            (&[4, 6], 0, &[8, 3], &[8, 3], 4, Some("-1 3")),
            // The freed size is in the middle, and goes to the end of the first axis.
            (&[5, 1, 7], 1, &[5, 7], &[5, 7], 1, Some("-1 7")),
            (&[5, 1, 7], 1, &[35], &[35], 1, Some("-1")),
            // The heads of attention, with the sequence first.
            (&[5, 1, 12], 1, &[5, 4, 3], &[5, 4, 3], 1, Some("5 -1 3")),
            (&[5, 1, 12], 1, &[4, 15], &[4, 15], 1, None),
            // The heads are merged, and each row keeps its elements.
            (&[5, 1, 4, 3], 1, &[5, 12], &[5, 12], 1, Some("-1 12")),
            (&[5, 4, 3], 1, &[5, 12], &[5, 12], 1, Some("-1 12")),
            // It would be spread over two axes.
            (&[4, 6], 0, &[2, 12], &[2, 12], 4, None),
            (&[6, 4], 1, &[3, 8], &[3, 8], 4, Some("3 -1")),
            (&[1, 9], 0, &[1, 1, 9], &[1, 1, 9], 1, Some("0 1 9")),
            (&[9, 1], 1, &[9, 1, 1], &[9, 1, 1], 1, Some("9 0 1")),
            (&[1, 9], 0, &[9], &[9], 1, Some("-1")),
        ] {
            assert_eq!(check(data, axis, target, output, old).as_deref(), expected, "{data:?} {target:?}");
        }
    }
}
