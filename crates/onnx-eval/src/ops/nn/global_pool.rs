//! `GlobalAveragePool`, `GlobalLpPool`, `GlobalMaxPool`: all spatial axes become one element for each channel.

use onnx_schema::{attr, op};

use super::pool::{greatest, lp_norm};
use crate::cx::axes::product;
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::family::sum::sum_of;
use crate::number::{Number, by_float};
use crate::registry::{OpKernels, eval, since};

pub(super) const GLOBAL_AVERAGE_POOL: OpKernels = eval(op::GLOBAL_AVERAGE_POOL, &[since(1, average)]).open();

pub(super) const GLOBAL_LP_POOL: OpKernels = eval(op::GLOBAL_LP_POOL, &[since(1, lp)]).open();

pub(super) const GLOBAL_MAX_POOL: OpKernels = eval(op::GLOBAL_MAX_POOL, &[since(1, max)]);

fn pooled<T: Number>(cx: &mut Cx<'_, '_>, x: &Operand, function: impl Fn(&[T]) -> T) -> Outcome {
    let (Some(outer), Some(spatial)) = (x.dims.get(..2), x.dims.get(2..)) else {
        return Err(Stop::failed("the input has fewer than two axes"));
    };
    let mut dims: Dims = outer.into();
    dims.extend(spatial.iter().map(|_| 1));
    let (count, plane) = (product(outer), product(spatial));
    let elements = cx.read::<T>(x)?;
    let mut out = cx.buffer(count)?;
    out.extend((0..count).map(|at| function(&elements[at * plane..(at + 1) * plane])));
    cx.put(0, x.elem, &dims, out)
}

fn average(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    by_float!(x.elem, T => pooled::<T>(cx, &x, |plane| {
        let sum = sum_of(plane, |value| value);
        sum.over(T::of_i64(plane.len() as i64)).unwrap_or(sum)
    }))
}

fn lp(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    // Version 1 has a float here.
    let p = match cx.since() {
        1 => f64::from(cx.float_or(attr::P, 2.0)?),
        _ => cx.int_or(attr::P, 2)? as f64,
    };
    by_float!(x.elem, T => pooled::<T>(cx, &x, |plane| lp_norm(&mut plane.iter().copied(), p)))
}

fn max(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    by_float!(x.elem, T => pooled::<T>(cx, &x, |plane| {
        let best = plane.iter().fold(None, |best, &value| if greatest(best, value) { Some(value) } else { best });
        best.unwrap_or(T::BOTTOM)
    }))
}
