//! `Split`: a tensor cut along an axis. The sizes are an input or an attribute (from version 13 on only an input); without,
//! the parts are equal. From version 18 on, the last part may be smaller if `num_outputs` is given.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Operand, Outcome, Stop, axes};
use crate::family::lines::Lines;
use crate::number::{Unit, by_unit};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::SPLIT, &[since(1, oldest), since(2, by_attribute), since(13, by_input)]);

/// The sizes are an input or an attribute.
fn oldest(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.has_input(1) { by_input(cx) } else { by_attribute(cx) }
}

fn by_attribute(cx: &mut Cx<'_, '_>) -> Outcome {
    let sizes = cx.ints(attr::SPLIT)?;
    split(cx, sizes)
}

fn by_input(cx: &mut Cx<'_, '_>) -> Outcome {
    let sizes = cx.optional_list(1)?;
    split(cx, sizes)
}

fn split(cx: &mut Cx<'_, '_>, sizes: Option<Vec<i64>>) -> Outcome {
    let x = cx.tensor(0)?;
    let axis = axes::axis(cx.int_or(attr::AXIS, 0)?, x.rank())?;
    let length = x.dims[axis];
    let parts = match sizes {
        Some(sizes) => axes::sizes(&sizes)?.to_vec(),
        None => even(cx, length)?,
    };
    if parts.len() != cx.output_count() {
        return Err(Stop::failed(format_args!("{} sizes for {} outputs", parts.len(), cx.output_count())));
    }
    if parts.iter().try_fold(0_usize, |sum, &part| sum.checked_add(part)) != Some(length) {
        return Err(Stop::failed(format_args!("the {} parts do not add up to {length}", parts.len())));
    }
    let mut start = 0;
    for (index, part) in parts.into_iter().enumerate() {
        if cx.wants(index) {
            let piece = piece(cx, &x, axis, start, part)?;
            cx.put_value(index, piece)?;
        }
        start += part;
    }
    Ok(())
}

fn even(cx: &Cx<'_, '_>, length: usize) -> Outcome<Vec<usize>> {
    let outputs = cx.output_count();
    let given = cx.int(attr::NUM_OUTPUTS)?;
    let count = match given {
        Some(count) => axes::size(count)?,
        None => outputs,
    };
    if count == 0 || count != outputs {
        return Err(Stop::failed(format_args!("{count} parts for {outputs} outputs")));
    }
    if !length.is_multiple_of(count) && cx.since() < 18 {
        return Err(Stop::failed(format_args!("{length} elements do not make {count} equal parts")));
    }
    let part = length.div_ceil(count);
    Ok((0..count).map(|index| part.min(length.saturating_sub(index * part))).collect())
}

/// The part of an operand from `start` on along an axis, `length` long.
pub(in crate::ops) fn piece(
    cx: &mut Cx<'_, '_>,
    x: &Operand,
    axis: usize,
    start: usize,
    length: usize,
) -> Outcome<crate::value::Value> {
    let lines = Lines::new(&x.dims, axis);
    let mut dims = x.dims.clone();
    dims[axis] = length;
    let (row, from, count) = (lines.length * lines.inner, start * lines.inner, length * lines.inner);
    let payload = by_unit!(x.elem, U => {
        let elements = cx.units::<U>(x)?;
        let mut out: Vec<U> = cx.buffer(cx.count(&dims)?)?;
        for outer in 0..lines.outer {
            let begin = outer * row + from;
            cx.poll().copy(elements.get(begin..begin + count).unwrap_or_default(), &mut out)?;
        }
        U::store(x.elem, out)
    });
    Ok(cx.tensor_of(x.elem, &dims, payload)?.into())
}
