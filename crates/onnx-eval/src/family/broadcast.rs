//! Broadcasting: operands of different sizes as operands of one size.

use onnx_schema::attr;

use crate::cx::axes::{product, strides};
use crate::cx::{Cx, Dims, Operand, Outcome, Stop, axes};

/// The sizes that operands broadcast to (specification, "Multidirectional Broadcasting").
pub(crate) fn joined(operands: &[&[usize]]) -> Outcome<Dims> {
    let rank = operands.iter().map(|dims| dims.len()).max().unwrap_or(0);
    let mut joined: Dims = std::iter::repeat_n(1, rank).collect();
    for dims in operands {
        for (slot, &dim) in joined.iter_mut().rev().zip(dims.iter().rev()) {
            match (*slot, dim) {
                (a, b) if a == b => {}
                (1, dim) => *slot = dim,
                (_, 1) => {}
                (a, b) => return Err(Stop::failed(format_args!("sizes {a} and {b} do not broadcast"))),
            }
        }
    }
    Ok(joined)
}

/// The distances between neighbors of an operand along the axes of the result: 0 along those that are repeated.
pub(crate) fn repeated(dims: &[usize], joined: &[usize]) -> Dims {
    let own = strides(dims);
    let missing = joined.len().saturating_sub(dims.len());
    let mut steps: Dims = std::iter::repeat_n(0, missing).collect();
    steps.extend(dims.iter().zip(own).map(|(&dim, stride)| if dim == 1 { 0 } else { stride }));
    steps
}

/// Calls `row` for every row along the last axis of sizes, with the offset of its first element in each operand, the
/// distance of neighbors in it, and its length.
pub(crate) fn for_each_row<const N: usize>(
    dims: &[usize],
    steps: [&[usize]; N],
    mut row: impl FnMut([usize; N], [usize; N], usize),
) {
    let Some((&length, outer)) = dims.split_last() else { return row([0; N], [0; N], 1) };
    let rows = product(outer);
    if length == 0 {
        return;
    }
    let last = steps.map(|steps| steps.last().copied().unwrap_or(0));
    let mut index: Dims = outer.iter().map(|_| 0).collect();
    let mut offsets = [0_usize; N];
    for _ in 0..rows {
        row(offsets, last, length);
        for axis in (0..outer.len()).rev() {
            index[axis] += 1;
            for (offset, steps) in offsets.iter_mut().zip(&steps) {
                *offset += steps[axis];
            }
            if index[axis] < outer[axis] {
                break;
            }
            for (offset, steps) in offsets.iter_mut().zip(&steps) {
                *offset -= steps[axis] * outer[axis];
            }
            index[axis] = 0;
        }
    }
}

/// Applies a function to each pair of elements of two operands that broadcast.
pub(crate) fn map2<A: Copy, B: Copy, R: Clone>(
    cx: &mut Cx<'_, '_>,
    (a, a_dims): (&[A], &[usize]),
    (b, b_dims): (&[B], &[usize]),
    function: impl Fn(A, B) -> R,
) -> Outcome<(Dims, Vec<R>)> {
    let dims = joined(&[a_dims, b_dims])?;
    let mut out = cx.buffer(cx.count(&dims)?)?;
    if a_dims == b_dims {
        out.extend(a.iter().zip(b).map(|(&a, &b)| function(a, b)));
    } else if let (&[b], true) = (b, dims.as_slice() == a_dims) {
        out.extend(a.iter().map(|&a| function(a, b)));
    } else if let (&[a], true) = (a, dims.as_slice() == b_dims) {
        out.extend(b.iter().map(|&b| function(a, b)));
    } else {
        let steps = [repeated(a_dims, &dims), repeated(b_dims, &dims)];
        for_each_row(&dims, [&steps[0], &steps[1]], |[a_at, b_at], [a_step, b_step], length| {
            out.extend((0..length).map(|i| function(a[a_at + i * a_step], b[b_at + i * b_step])));
        });
    }
    Ok((dims, out))
}

/// The sizes of the second operand as the version in scope lays it along the first: before version 7, sizes are equal
/// unless `broadcast` is set, and `axis` names the axis of the first operand where the second one begins.
pub(crate) fn aligned(cx: &Cx<'_, '_>, a: &Operand, b: &Operand) -> Outcome<Dims> {
    if cx.since() >= 7 || cx.since() == 0 {
        return Ok(b.dims.clone());
    }
    if !cx.flag(attr::BROADCAST)? {
        if a.dims != b.dims {
            return Err(Stop::failed("the operands have different sizes, and `broadcast` is not set"));
        }
        return Ok(b.dims.clone());
    }
    let Some(axis) = cx.int(attr::AXIS)? else { return Ok(b.dims.clone()) };
    // An axis may be the rank if the second operand is a scalar.
    let axis = if b.dims.is_empty() { 0 } else { axes::axis(axis, a.rank())? };
    let after = (a.rank() - axis).checked_sub(b.rank());
    let after = after.ok_or_else(|| Stop::failed("the second operand has axes beyond those of the first"))?;
    let mut dims = b.dims.clone();
    dims.extend(std::iter::repeat_n(1, after));
    Ok(dims)
}
