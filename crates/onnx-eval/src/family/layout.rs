//! Moving elements: a result that takes its elements from one operand at regular distances.

use crate::cx::{Cx, Outcome};
use crate::family::broadcast::for_each_piece;
use crate::interrupt_poll::STEPS;
use crate::number::Unit;

/// The elements of an operand at the given offset and distances along each axis of the result. Distances may be negative.
pub(crate) fn gathered<U: Unit>(
    cx: &mut Cx<'_, '_>,
    elements: &[U],
    dims: &[usize],
    start: usize,
    steps: &[isize],
) -> Outcome<Vec<U>> {
    let mut out = cx.buffer(cx.count(dims)?)?;
    // Distances are added modulo 2⁶⁴, so negative ones work as they are; every sum is an offset inside the operand.
    let raw: Vec<usize> = steps.iter().map(|&step| step.cast_unsigned()).collect();
    let Some((&length, outer)) = dims.split_last() else {
        out.extend(elements.get(start).cloned());
        return Ok(out);
    };
    if out.capacity() == 0 || crate::cx::axes::product(dims) == 0 {
        return Ok(out);
    }
    let last = raw.last().copied().unwrap_or(0);
    let mut index = vec![0_usize; outer.len()];
    let mut offset = start;
    for _ in 0..crate::cx::axes::product(outer) {
        for start in (0..length).step_by(STEPS) {
            let part = STEPS.min(length - start);
            cx.poll().step(part)?;
            let from = offset.wrapping_add(start.wrapping_mul(last));
            if last == 1 {
                out.extend_from_slice(elements.get(from..from + part).unwrap_or_default());
            } else {
                let places = (0..part).map(|i| from.wrapping_add(i.wrapping_mul(last)));
                out.extend(places.map(|place| elements[place].clone()));
            }
        }
        for axis in (0..outer.len()).rev() {
            index[axis] += 1;
            offset = offset.wrapping_add(raw[axis]);
            if index[axis] < outer[axis] {
                break;
            }
            offset = offset.wrapping_sub(raw[axis].wrapping_mul(outer[axis]));
            index[axis] = 0;
        }
    }
    Ok(out)
}

/// The elements with axes in another order.
pub(crate) fn transposed<U: Unit>(
    cx: &mut Cx<'_, '_>,
    elements: &[U],
    dims: &[usize],
    perm: &[usize],
) -> Outcome<Vec<U>> {
    let strides = crate::cx::axes::strides(dims);
    let new: Vec<usize> = perm.iter().map(|&axis| dims[axis]).collect();
    let steps: Vec<usize> = perm.iter().map(|&axis| strides[axis]).collect();
    let mut out = cx.buffer(cx.count(&new)?)?;
    for_each_piece(cx.poll(), &new, [&steps], |[at], [step], length| {
        if step == 1 {
            out.extend_from_slice(&elements[at..at + length]);
        } else {
            out.extend((0..length).map(|i| elements[at + i * step].clone()));
        }
    })?;
    Ok(out)
}
