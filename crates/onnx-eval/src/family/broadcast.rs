//! Broadcasting: operands of different sizes as operands of one size.

use std::convert::Infallible;

use onnx_schema::attr;
use smallvec::SmallVec;

use crate::cx::axes::strides;
use crate::cx::{Cx, Dims, Operand, Outcome, Stop, axes};
use crate::interrupt_poll::{InterruptPoll, STEPS};

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
                (a, b) => {
                    // A list of sizes may have any length.
                    let are_short = operands.iter().all(|dims| dims.len() <= 16);
                    let all = if are_short { format!(" of {operands:?}") } else { String::new() };
                    return Err(Stop::failed(format_args!("sizes {a} and {b}{all} do not broadcast")));
                }
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

/// Calls `row` for every row of elements of these sizes in row-major order, with the offset of its first element in each
/// operand, the distance of neighbors in it, and its length. Axes over which all operands have one distance are one row.
pub(crate) fn for_each_row<const N: usize>(
    dims: &[usize],
    steps: [&[usize]; N],
    mut row: impl FnMut([usize; N], [usize; N], usize),
) {
    let Ok(()) = try_each_row(dims, steps, |offsets, steps, length| {
        row(offsets, steps, length);
        Ok::<_, Infallible>(())
    });
}

/// Like [`for_each_row`], for rows that may be long: checks the interrupt, and divides rows into pieces between two checks.
pub(crate) fn for_each_piece<const N: usize>(
    poll: &mut InterruptPoll,
    dims: &[usize],
    steps: [&[usize]; N],
    mut piece: impl FnMut([usize; N], [usize; N], usize),
) -> Outcome {
    try_each_row(dims, steps, |mut offsets, steps, length| {
        for start in (0..length).step_by(STEPS) {
            let part = STEPS.min(length - start);
            poll.step(part)?;
            piece(offsets, steps, part);
            offsets.iter_mut().zip(steps).for_each(|(offset, step)| *offset += step * part);
        }
        Ok(())
    })
}

fn try_each_row<const N: usize, E>(
    dims: &[usize],
    steps: [&[usize]; N],
    mut row: impl FnMut([usize; N], [usize; N], usize) -> Result<(), E>,
) -> Result<(), E> {
    if dims.contains(&0) {
        return Ok(());
    }
    let axes = merged(dims, steps);
    let Some((&(length, last), outer)) = axes.split_last() else { return row([0; N], [0; N], 1) };
    let mut index: Dims = outer.iter().map(|_| 0).collect();
    let mut offsets = [0_usize; N];
    for _ in 0..outer.iter().fold(1_usize, |rows, &(dim, _)| rows.saturating_mul(dim)) {
        row(offsets, last, length)?;
        for (at, &(dim, steps)) in index.iter_mut().zip(outer).rev() {
            *at += 1;
            for (offset, step) in offsets.iter_mut().zip(steps) {
                *offset += step;
            }
            if *at < dim {
                break;
            }
            for (offset, step) in offsets.iter_mut().zip(steps) {
                *offset -= step * dim;
            }
            *at = 0;
        }
    }
    Ok(())
}

/// Sizes and distances of axes of more than one element; neighboring axes that every operand sees as one axis are one.
fn merged<const N: usize>(dims: &[usize], steps: [&[usize]; N]) -> SmallVec<[(usize, [usize; N]); 6]> {
    let mut axes: SmallVec<[(usize, [usize; N]); 6]> = SmallVec::new();
    for (axis, &dim) in dims.iter().enumerate().filter(|(_, dim)| **dim != 1) {
        let own = steps.map(|steps| steps[axis]);
        match axes.last_mut() {
            Some((size, outer)) if outer.iter().zip(own).all(|(&outer, step)| outer == step * dim) => {
                (*size, *outer) = (*size * dim, own);
            }
            _ => axes.push((dim, own)),
        }
    }
    axes
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
    let steps = [repeated(a_dims, &dims), repeated(b_dims, &dims)];
    for_each_piece(cx.poll(), &dims, [&steps[0], &steps[1]], |[a_at, b_at], [a_step, b_step], length| {
        // The compiler makes vector instructions of loops over slices only.
        match (a_step, b_step) {
            (1, 1) => {
                let rows = a[a_at..a_at + length].iter().zip(&b[b_at..b_at + length]);
                out.extend(rows.map(|(&a, &b)| function(a, b)));
            }
            (1, 0) => {
                let b = b[b_at];
                out.extend(a[a_at..a_at + length].iter().map(|&a| function(a, b)));
            }
            (0, 1) => {
                let a = a[a_at];
                out.extend(b[b_at..b_at + length].iter().map(|&b| function(a, b)));
            }
            _ => out.extend((0..length).map(|i| function(a[a_at + i * a_step], b[b_at + i * b_step]))),
        }
    })?;
    Ok((dims, out))
}

/// Replaces each element of an operand that has the sizes of the result by a function of it and the element of another one.
pub(crate) fn update2<A: Copy, B: Copy>(
    poll: &mut InterruptPoll,
    a: &mut [A],
    dims: &[usize],
    (b, b_dims): (&[B], &[usize]),
    function: impl Fn(A, B) -> A,
) -> Outcome {
    let steps = [repeated(dims, dims), repeated(b_dims, dims)];
    for_each_piece(poll, dims, [&steps[0], &steps[1]], |[a_at, b_at], [_, b_step], length| {
        let row = &mut a[a_at..a_at + length];
        match b_step {
            1 => row.iter_mut().zip(&b[b_at..b_at + length]).for_each(|(a, &b)| *a = function(*a, b)),
            0 => {
                let b = b[b_at];
                row.iter_mut().for_each(|a| *a = function(*a, b));
            }
            _ => {
                row.iter_mut().zip(b[b_at..].iter().step_by(b_step)).for_each(|(a, &b)| *a = function(*a, b))
            }
        }
    })
}

/// The sizes of the second operand as the version in scope lays it along the first: before version 7, sizes are equal
/// unless `broadcast` is set, and `axis` names the axis of the first operand where the second one begins.
pub(crate) fn aligned(cx: &Cx<'_, '_>, a: &Operand, b: &Operand) -> Outcome<Dims> {
    if cx.since() >= 7 || cx.since() == 0 {
        return Ok(b.dims.clone());
    }
    if !cx.flag(attr::BROADCAST)? {
        if a.dims != b.dims {
            return Err(Stop::failed(format_args!(
                "the operands have the sizes {:?} and {:?}, which must be equal as `broadcast` is not set",
                a.dims, b.dims
            )));
        }
        return Ok(b.dims.clone());
    }
    let dims = laid(cx, a, b)?;
    if joined(&[&a.dims, &dims])? != a.dims {
        let (a, b) = (&a.dims, &b.dims);
        return Err(Stop::failed(format_args!(
            "a second operand of {b:?} does not fit a first one of {a:?}"
        )));
    }
    Ok(dims)
}

/// The sizes of the second operand from `axis` on, with axes of size 1 behind them.
fn laid(cx: &Cx<'_, '_>, a: &Operand, b: &Operand) -> Outcome<Dims> {
    let Some(axis) = cx.int(attr::AXIS)? else { return Ok(b.dims.clone()) };
    // One element fits everywhere.
    if b.dims.iter().all(|&size| size == 1) && b.rank() <= a.rank() {
        return Ok(b.dims.clone());
    }
    let axis = axes::axis(axis, a.rank())?;
    let after = (a.rank() - axis).checked_sub(b.rank());
    let after = after.ok_or_else(|| {
        Stop::failed(format_args!(
            "the second operand has {} axes, but the first one has only {} from axis {axis} on",
            b.rank(),
            a.rank() - axis
        ))
    })?;
    let mut dims = b.dims.clone();
    dims.extend(std::iter::repeat_n(1, after));
    Ok(dims)
}
