//! `Slice`: a part of a tensor along axes, from `starts` to `ends` with steps, which may be negative.
//!
//! Bounds are attributes before version 10. A negative bound counts from the end; then bounds are clamped to the axis, so
//! that any 64-bit integer is a bound. Without axes, the bounds are those of the first axes.

use onnx_schema::{attr, op};

use crate::cx::axes::strides;
use crate::cx::{Cx, Outcome, Stop, axes};
use crate::family::layout::gathered;
use crate::number::by_unit;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::SLICE, &[since(1, by_attributes), since(10, by_inputs)])
    .takes(&[(3, Takes::Axes), (4, Takes::ONE)]);

/// The bounds: starts, ends, axes, steps.
struct Bounds {
    starts: Vec<i64>,
    ends: Vec<i64>,
    axes: Option<Vec<i64>>,
    steps: Option<Vec<i64>>,
}

fn by_attributes(cx: &mut Cx<'_, '_>) -> Outcome {
    let starts = cx.ints(attr::STARTS)?.unwrap_or_default();
    let ends = cx.ints(attr::ENDS)?.unwrap_or_default();
    let axes = cx.ints(attr::AXES)?;
    slice(cx, &Bounds { starts, ends, axes, steps: None })
}

fn by_inputs(cx: &mut Cx<'_, '_>) -> Outcome {
    let (starts, ends) = (cx.list(1)?, cx.list(2)?);
    let (axes, steps) = (cx.optional_list(3)?, cx.optional_list(4)?);
    slice(cx, &Bounds { starts, ends, axes, steps })
}

fn slice(cx: &mut Cx<'_, '_>, bounds: &Bounds) -> Outcome {
    let x = cx.tensor(0)?;
    let count = bounds.starts.len();
    let listed = bounds.axes.clone().unwrap_or_else(|| (0..count as i64).collect());
    let steps = bounds.steps.clone().unwrap_or_else(|| vec![1; count]);
    if bounds.ends.len() != count || listed.len() != count || steps.len() != count {
        return Err(Stop::failed(format_args!(
            "{count} starts, {} ends, {} axes and {} steps, which must be as many",
            bounds.ends.len(),
            listed.len(),
            steps.len()
        )));
    }
    let own = strides(&x.dims);
    let (mut dims, mut start) = (x.dims.clone(), 0_usize);
    let mut distances: Vec<isize> = own.iter().map(|&stride| stride as isize).collect();
    for (at, axis) in axes::axes(&listed, x.rank())?.into_iter().enumerate() {
        let (begin, length) = extent(bounds.starts[at], bounds.ends[at], steps[at], x.dims[axis])?;
        start += begin * own[axis];
        dims[axis] = length;
        // Only an axis with more than one element uses the distance, and then it is within the tensor.
        distances[axis] = (own[axis] as i64).wrapping_mul(steps[at]) as isize;
    }
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        let out = gathered::<U>(cx, &elements, &dims, start, &distances)?;
        cx.put_units(0, x.elem, &dims, out)
    })
}

/// The first index and the number of indices from a start to an end.
fn extent(start: i64, end: i64, step: i64, size: usize) -> Outcome<(usize, usize)> {
    let size = size as i128;
    let from_end = |bound: i64| i128::from(bound) + if bound < 0 { size } else { 0 };
    let (start, end, step) = (from_end(start), from_end(end), i128::from(step));
    let (first, distance) = match step {
        0 => return Err(Stop::failed("a step is 0")),
        1.. => {
            let (start, end) = (start.clamp(0, size), end.clamp(0, size));
            (start, end - start)
        }
        _ => {
            let (start, end) = (start.clamp(0, (size - 1).max(0)), end.clamp(-1, size - 1));
            (start, start - end)
        }
    };
    if distance <= 0 || size == 0 {
        return Ok((0, 0));
    }
    Ok((first as usize, (distance as u128).div_ceil(step.unsigned_abs()) as usize))
}
