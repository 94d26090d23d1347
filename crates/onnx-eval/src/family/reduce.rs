//! Reduction along axes: the elements that become one are read in row-major order.

use crate::cx::axes::{product, strides};
use crate::cx::{Cx, Dims, Outcome, axes};
use crate::family::sum::{self, Sum, sum_of};
use crate::number::Number;

/// Which axes of a tensor are reduced, and the layout that follows.
pub(crate) struct Reduction {
    /// Sizes that remain, with 1 in place of reduced ones.
    pub(crate) kept: Dims,
    /// Sizes that remain.
    pub(crate) squeezed: Dims,
    /// Sizes and distances of the axes that remain, and of those that are reduced.
    outer: (Dims, Dims),
    inner: (Dims, Dims),
}

impl Reduction {
    /// The reduction of some axes; an axis may occur twice. `None` means all axes.
    pub(crate) fn new(dims: &[usize], listed: Option<&[i64]>) -> Outcome<Self> {
        let mut reduced = vec![listed.is_none(); dims.len()];
        for &axis in listed.unwrap_or_default() {
            reduced[axes::axis(axis, dims.len())?] = true;
        }
        let all = strides(dims);
        let pick = |wanted: bool| {
            let chosen = (0..dims.len()).filter(|&axis| reduced[axis] == wanted);
            chosen.map(|axis| (dims[axis], all[axis])).unzip::<usize, usize, Vec<_>, Vec<_>>()
        };
        let ((outer, outer_steps), (inner, inner_steps)) = (pick(false), pick(true));
        Ok(Self {
            kept: dims.iter().zip(&reduced).map(|(&dim, &reduced)| if reduced { 1 } else { dim }).collect(),
            squeezed: outer.iter().copied().collect(),
            outer: (outer.into(), outer_steps.into()),
            inner: (inner.into(), inner_steps.into()),
        })
    }

    /// Number of elements that become one.
    pub(crate) fn size(&self) -> usize {
        product(&self.inner.0)
    }

    /// Applies a function to each set of elements that become one, given as an iterator over them that can be restarted.
    pub(crate) fn apply<T: Copy, R>(
        &self,
        cx: &mut Cx<'_, '_>,
        elements: &[T],
        function: impl Fn(Set<'_, T>) -> R,
    ) -> Outcome<Vec<R>> {
        let mut out = cx.buffer(cx.count(&self.outer.0)?)?;
        cx.work(elements.len().saturating_mul(2))?;
        let (offsets, size) = (offsets(&self.inner.0, &self.inner.1), self.size());
        for start in places(&self.outer.0, &self.outer.1) {
            cx.poll().step(size)?;
            out.push(function(Set { elements, start, offsets: &offsets }));
        }
        Ok(out)
    }
}

/// Distances of the elements of a set from its first one.
enum Offsets {
    /// At a constant distance: number and distance.
    Regular(usize, usize),
    Listed(Vec<usize>),
}

fn offsets(dims: &[usize], steps: &[usize]) -> Offsets {
    // Neighboring axes that are laid out as one are one.
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for (&dim, &step) in dims.iter().zip(steps) {
        match merged.last_mut() {
            _ if dim == 1 => {}
            Some(last) if last.1 == dim * step => *last = (last.0 * dim, step),
            _ => merged.push((dim, step)),
        }
    }
    match *merged {
        [] => Offsets::Regular(1, 0),
        [(count, step)] => Offsets::Regular(count, step),
        _ => Offsets::Listed(places(dims, steps).collect()),
    }
}

/// The offsets of all elements of some sizes, in row-major order.
fn places<'a>(dims: &'a [usize], steps: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
    let count = product(dims);
    let mut index: Dims = dims.iter().map(|_| 0).collect();
    let mut offset = 0_usize;
    (0..count).map(move |_| {
        let here = offset;
        for axis in (0..dims.len()).rev() {
            index[axis] += 1;
            offset += steps[axis];
            if index[axis] < dims[axis] {
                break;
            }
            offset -= steps[axis] * dims[axis];
            index[axis] = 0;
        }
        here
    })
}

/// The elements that become one.
#[derive(Clone, Copy)]
pub(crate) struct Set<'a, T> {
    elements: &'a [T],
    start: usize,
    offsets: &'a Offsets,
}

impl<T: Copy> Set<'_, T> {
    /// Combines the elements in order.
    #[inline]
    pub(crate) fn fold<A>(self, init: A, mut combine: impl FnMut(A, T) -> A) -> A {
        let mut result = init;
        match self.offsets {
            Offsets::Regular(count, 1) => {
                for &element in self.elements.get(self.start..self.start + count).unwrap_or_default() {
                    result = combine(result, element);
                }
            }
            Offsets::Regular(count, step) => {
                for at in 0..*count {
                    result = combine(result, self.elements[self.start + at * step]);
                }
            }
            Offsets::Listed(offsets) => {
                for offset in offsets {
                    result = combine(result, self.elements[self.start + offset]);
                }
            }
        }
        result
    }

    /// The sum of a function of the elements.
    #[inline]
    pub(crate) fn sum<S: Number>(self, function: impl Fn(T) -> S) -> S {
        let count = match self.offsets {
            Offsets::Regular(count, 1) => {
                let elements = self.elements.get(self.start..self.start + count);
                return sum_of(elements.unwrap_or_default(), function);
            }
            Offsets::Regular(count, _) => *count,
            Offsets::Listed(offsets) => offsets.len(),
        };
        if count <= sum::BLOCK {
            return self.fold(S::ZERO, |sum, element| sum.plus(function(element)));
        }
        let mut sum = Sum::default();
        self.fold((), |(), element| sum.add(function(element)));
        sum.total()
    }
}
