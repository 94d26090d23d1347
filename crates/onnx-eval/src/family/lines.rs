//! Operators along one axis: a tensor as lines of elements with the same distance.

use crate::cx::axes::product;

/// A tensor seen along one axis: `outer` times `length` times `inner` elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lines {
    /// Product of the sizes before the axis.
    pub(crate) outer: usize,
    /// Size of the axis.
    pub(crate) length: usize,
    /// Product of the sizes after the axis.
    pub(crate) inner: usize,
}

impl Lines {
    /// The lines of a tensor along an axis of it.
    pub(crate) fn new(dims: &[usize], axis: usize) -> Self {
        Self {
            outer: product(&dims[..axis]),
            length: dims.get(axis).copied().unwrap_or(1),
            inner: product(dims.get(axis + 1..).unwrap_or_default()),
        }
    }

    /// Number of lines.
    pub(crate) const fn count(self) -> usize {
        self.outer.saturating_mul(self.inner)
    }

    /// The offset of the first element of each line that has elements; neighbors in a line are `inner` elements apart.
    pub(crate) fn starts(self) -> impl Iterator<Item = usize> {
        // Lines without elements have nothing to visit, and there may be any number of them.
        let outer = if self.inner == 0 || self.length == 0 { 0 } else { self.outer };
        (0..outer).flat_map(move |o| (0..self.inner).map(move |i| o * self.length * self.inner + i))
    }
}
