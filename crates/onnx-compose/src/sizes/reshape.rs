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

impl Spot {
    /// Whether the axis has no other factors.
    const fn is_single(&self) -> bool {
        self.outer == 1 && self.inner == 1
    }
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
    /// The axes of the result that can have the freed size of an axis of the operand; `None` if they are unknown.
    ///
    /// With an old size of 1, the position can be that of several axes. Axes that have only this size come first: one of them, or
    /// the corresponding one if the operand has as many. Otherwise the size is between two axes.
    pub(super) fn candidates(&self, spot: Spot) -> Option<Vec<Spot>> {
        let before = self.before(spot)?;
        let found = self.located(self.output, before)?;
        let single: Vec<Spot> = found.iter().filter(|spot| spot.is_single()).copied().collect();
        if single.is_empty() {
            return Some(found);
        }
        let mut of_data = self.located(self.data, before)?;
        of_data.retain(|spot| spot.is_single());
        let same = of_data.iter().position(|other| *other == spot).and_then(|index| single.get(index));
        Some(match same {
            Some(&same) if of_data.len() == single.len() => vec![same],
            _ => single,
        })
    }

    /// All axes of the result at the position of an axis of the operand.
    pub(super) fn all(&self, spot: Spot) -> Option<Vec<Spot>> {
        self.located(self.output, self.before(spot)?)
    }

    /// The number of elements that are before the position.
    fn before(&self, spot: Spot) -> Option<i64> {
        let before = self.data.iter().take(spot.axis).map(|dim| dim.known());
        before.chain([Some(spot.outer)]).try_fold(1_i64, |all, size| all.checked_mul(size?))
    }

    /// The axes of a shape that have the old size behind a number of elements.
    fn located(&self, dims: &[Dim], before: i64) -> Option<Vec<Spot>> {
        let end = before.checked_mul(self.old)?;
        if before <= 0 || end <= 0 {
            return None;
        }
        let (mut at, mut found) = (1_i64, Vec::new());
        for (axis, dim) in dims.iter().enumerate() {
            if at > before {
                break;
            }
            // What comes after an axis of unknown size cannot be located.
            let Some(size) = dim.known().filter(|&size| size > 0) else { break };
            let next = at.checked_mul(size)?;
            if next >= end && next.checked_rem(end)? == 0 && before.checked_rem(at)? == 0 {
                found.push(Spot { axis, outer: before.checked_div(at)?, inner: next.checked_div(end)? });
            }
            at = next;
        }
        Some(found)
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

    /// The new targets, with `B` for the freed size: one for each axis that can have it.
    fn check(data: &[i64], axis: usize, target: &[i64], output: &[i64], old: i64) -> Vec<String> {
        let (data, output) = (dims(data), dims(output));
        let reshape = Reshape { target, data: &data, output: &output, allow_zero: false, old };
        let from = Spot { axis, outer: 1, inner: data[axis].known().unwrap_or(1) / old };
        let text = |to: Spot| {
            let entries = reshape.new_target(&[from], &[to]);
            let text = entries.iter().map(|entry| match entry {
                Entry::Number(number) => number.to_string(),
                Entry::Multiple(factor) => format!("{factor}B"),
            });
            text.collect::<Vec<_>>().join(" ")
        };
        reshape.candidates(from).unwrap_or_default().into_iter().map(text).collect()
    }

    #[test]
    fn the_freed_size_stays_behind_the_same_elements() {
        for (data, axis, target, output, old, expected) in [
            (&[1, 128, 64][..], 0, &[1, 128, 8, 8][..], &[1, 128, 8, 8][..], 1, &["0 128 8 8"][..]),
            (&[1, 128, 64], 0, &[1, -1, 8, 8], &[1, 128, 8, 8], 1, &["0 -1 8 8"]),
            (&[1, 8, 128, 8], 0, &[8, 128, 8], &[8, 128, 8], 1, &["-1 128 8"]),
            (&[8, 128, 8], 0, &[1, 8, 128, 8], &[1, 8, 128, 8], 1, &["-1 8 128 8"]),
            (&[8, 128, 8], 0, &[1, 8, -1, 8], &[1, 8, 128, 8], 1, &["-1 8 128 8"]),
            (&[4, 6], 0, &[-1, 3], &[8, 3], 4, &["-1 3"]),
            (&[4, 6], 0, &[8, 3], &[8, 3], 4, &["-1 3"]),
            // It is between two axes, and either can have it.
            (&[4, 1, 8], 1, &[4, 8], &[4, 8], 1, &["-1 8", "4 -1"]),
            (&[5, 1, 12], 1, &[5, 4, 3], &[5, 4, 3], 1, &["-1 4 3", "5 -1 3"]),
            (&[5, 1, 4, 3], 1, &[5, 12], &[5, 12], 1, &["-1 12", "5 -1"]),
            (&[5, 4, 3], 1, &[5, 12], &[5, 12], 1, &["-1 12", "5 -1"]),
            // It is inside an axis.
            (&[2, 1, 3, 5], 1, &[6, 5], &[6, 5], 1, &["-1 5"]),
            (&[5, 1, 7], 1, &[35], &[35], 1, &["-1"]),
            // It has an axis, or one of several.
            (&[1, 1, 8], 1, &[1, 8], &[1, 8], 1, &["-1 8"]),
            (&[1, 1, 8], 1, &[1, 1, 2, 4], &[1, 1, 2, 4], 1, &["1 0 2 4"]),
            (&[1, 9], 0, &[1, 1, 9], &[1, 1, 9], 1, &["0 1 9", "1 -1 9"]),
            (&[9, 1], 1, &[9, 1, 1], &[9, 1, 1], 1, &["9 0 1", "9 1 -1"]),
            // It would be spread over two axes.
            (&[5, 1, 12], 1, &[4, 15], &[4, 15], 1, &[]),
            (&[4, 6], 0, &[2, 12], &[2, 12], 4, &[]),
            (&[6, 4], 1, &[3, 8], &[3, 8], 4, &["3 -1"]),
            (&[1, 9], 0, &[9], &[9], 1, &["-1"]),
        ] {
            assert_eq!(check(data, axis, target, output, old), expected, "{data:?} {target:?}");
        }
    }
}
