//! Axes, and counts of elements.

use super::{Cx, Dims, Outcome, Stop};

/// An axis of a tensor of some rank; negative ones count from the end.
pub(crate) fn axis(axis: i64, rank: usize) -> Outcome<usize> {
    // A rank is far below 2⁶³.
    let from_start = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    match from_start.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < rank) {
        Some(axis) => Ok(axis),
        None => Err(Stop::failed(format_args!("axis {axis} is not one of a tensor of rank {rank}"))),
    }
}

/// Axes of a tensor of some rank, in the order given. An axis must not occur twice.
pub(crate) fn axes(list: &[i64], rank: usize) -> Outcome<Vec<usize>> {
    let mut seen = vec![false; rank];
    let mut found = Vec::with_capacity(list.len().min(rank));
    for &given in list {
        let axis = axis(given, rank)?;
        if std::mem::replace(&mut seen[axis], true) {
            return Err(Stop::failed(format_args!("axis {given} occurs twice")));
        }
        found.push(axis);
    }
    Ok(found)
}

/// A size from an operand or attribute.
pub(crate) fn size(value: i64) -> Outcome<usize> {
    usize::try_from(value).map_err(|_| Stop::failed(format_args!("{value} is not a size")))
}

/// Sizes from an operand or attribute.
pub(crate) fn sizes(values: &[i64]) -> Outcome<Dims> {
    values.iter().map(|&value| size(value)).collect()
}

/// The distance in elements between neighbors along each axis of a tensor in row-major order.
pub(crate) fn strides(dims: &[usize]) -> Dims {
    let mut strides: Dims = dims.iter().map(|_| 1).collect();
    let mut stride = 1_usize;
    for (slot, &dim) in strides.iter_mut().zip(dims).rev() {
        *slot = stride;
        // A tensor with an empty axis has no elements, so its strides are not used.
        stride = stride.saturating_mul(dim);
    }
    strides
}

/// The product of sizes that are known to be those of a tensor or a part of it.
pub(crate) fn product(dims: &[usize]) -> usize {
    if dims.contains(&0) { 0 } else { dims.iter().fold(1, |count, &dim| count.saturating_mul(dim)) }
}

impl Cx<'_, '_> {
    /// The number of elements of a tensor.
    ///
    /// # Errors
    ///
    /// Returns an error if it exceeds the limit `run_elements`.
    pub fn count(&self, dims: &[usize]) -> Outcome<usize> {
        self.budget.count(dims)
    }
}
