//! `LayerNormalization`: the axes from one on minus their mean, divided by their deviation, scaled and shifted.
//!
//! The first stage is computed in `stash_type`, which is `float` by default, also for a tensor of `double`; the reference and
//! onnxruntime stay in `double` there. The variance is computed in two passes. The mean of no elements is NaN.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::axes::product;
use crate::cx::{Cx, Dims, Outcome, Stop, axes};
use crate::family::broadcast::{for_each_piece, joined, repeated};
use crate::family::sum::sum_of;
use crate::number::{Elems, Float};
use crate::ops::math::cast::round_to;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::LAYER_NORMALIZATION, &[since(17, normalize)]).open();

fn normalize(cx: &mut Cx<'_, '_>) -> Outcome {
    match cx.elem_attribute(attr::STASH_TYPE)?.unwrap_or(ElemType::Float) {
        ElemType::Double => compute::<f64>(cx, ElemType::Double, true),
        ElemType::Float => compute::<f32>(cx, ElemType::Float, true),
        other => Err(Stop::unsupported(format_args!("a first stage in {other}"))),
    }
}

/// The elements of an operand, converted to another float type.
pub(super) fn converted<T: Float>(cx: &mut Cx<'_, '_>, operand: &crate::cx::Operand) -> Outcome<Elems<T>> {
    if crate::number::compute(operand.elem) == crate::number::compute(T::ELEM) {
        return cx.read::<T>(operand);
    }
    let values = cx.read_f64(operand)?;
    Ok(Elems::owned(cx.collect(values.iter().map(|&value| T::of_f64(value)))?))
}

/// Normalizes in the type `T`; with the mean subtracted, or the root of the mean square only.
pub(super) fn compute<T: Float>(cx: &mut Cx<'_, '_>, stash: ElemType, is_centered: bool) -> Outcome {
    let (x, scale) = (cx.tensor(0)?, cx.tensor(1)?);
    let bias = if is_centered { cx.optional(2)? } else { None };
    let axis = axes::axis(cx.int_or(attr::AXIS, -1)?, x.rank())?;
    let (rows, length) = (product(&x.dims[..axis]), product(&x.dims[axis..]));
    let epsilon = T::of_f64(f64::from(cx.float_or(attr::EPSILON, 1e-5)?));
    let elements = converted::<T>(cx, &x)?;
    let count = T::of_i64(length as i64);
    let (mut normalized, mut means, mut inverses) =
        (cx.buffer::<T>(x.count)?, cx.buffer::<T>(rows)?, cx.buffer::<T>(rows)?);
    for at in 0..rows {
        let row = &elements[at * length..][..length];
        let sum = sum_of(row, |value| value);
        let mean = if is_centered { sum.over(count).unwrap_or(sum) } else { T::ZERO };
        let squares = sum_of(row, |value| {
            let distance = value.minus(mean);
            distance.times(distance)
        });
        let variance = squares.over(count).unwrap_or(squares);
        let inverse = T::ONE.over(variance.plus(epsilon).root()).unwrap_or(T::ONE);
        means.push(mean);
        inverses.push(inverse);
        normalized.extend(row.iter().map(|&value| value.minus(mean).times(inverse)));
    }
    // The second stage is computed in the type of the data, which the elements are rounded to.
    let first = crate::number::round_all(x.elem, &normalized);
    let out = scaled(cx, &x.dims, first, &scale, bias.as_ref())?;
    let payload = round_to(x.elem, &out, true, Default::default());
    let tensor = cx.tensor_of(x.elem, &x.dims, payload)?;
    cx.put_value(0, tensor)?;
    if !is_centered {
        return Ok(());
    }
    let mut dims: Dims = x.dims[..axis].into();
    dims.extend(x.dims[axis..].iter().map(|_| 1));
    for (index, values) in [(1, means), (2, inverses)] {
        if cx.wants(index) {
            cx.put(index, stash, &dims, values)?;
        }
    }
    Ok(())
}

/// The elements times a scale plus a bias, which both broadcast to them.
pub(super) fn scaled(
    cx: &mut Cx<'_, '_>,
    dims: &[usize],
    mut elements: Vec<f64>,
    scale: &crate::cx::Operand,
    bias: Option<&crate::cx::Operand>,
) -> Outcome<Vec<f64>> {
    for (operand, is_scale) in [(Some(scale), true), (bias, false)] {
        let Some(operand) = operand else { continue };
        if joined(&[dims, &operand.dims])?.as_slice() != dims {
            return Err(Stop::failed(format_args!(
                "a scale or bias of the sizes {:?} does not broadcast to the input {dims:?}",
                operand.dims
            )));
        }
        let values = cx.read_f64(operand)?;
        let steps = [repeated(dims, dims), repeated(&operand.dims, dims)];
        for_each_piece(cx.poll(), dims, [&steps[0], &steps[1]], |[at, from], [_, step], length| {
            for (i, element) in elements[at..at + length].iter_mut().enumerate() {
                let value = values[from + i * step];
                *element = if is_scale { *element * value } else { *element + value };
            }
        })?;
    }
    Ok(elements)
}
