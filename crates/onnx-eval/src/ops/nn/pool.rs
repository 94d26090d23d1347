//! `AveragePool`, `LpPool`, `MaxPool`: windows that become one element each.
//!
//! * `AveragePool` divides by the elements that a window covers; with `count_include_pad` also by those of explicit padding,
//!   but not by the part of the window beyond the padding.
//! * `MaxPool` ignores NaN if the window also contains numbers, as runtimes do; the specification does not define this.
//!   Indices are those of the flat input; with `storage_order` 1 they count column by column within the spatial axes.
//! * `LpPool` has no elements in the padding. `p` is 2 by default.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::axes::{product, sizes};
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::family::window::{Taps, Windows};
use crate::number::{Float, Number, by_float, by_number, integer_range};
use crate::registry::{OpKernels, eval, since};

pub(super) const AVERAGE_POOL: OpKernels = eval(op::AVERAGE_POOL, &[since(1, average)]);

pub(super) const MAX_POOL: OpKernels = eval(op::MAX_POOL, &[since(1, max)]);

pub(super) const LP_POOL: OpKernels = eval(op::LP_POOL, &[since(1, lp)]);

/// The windows of a pool, with the sizes of its result.
fn windows(cx: &mut Cx<'_, '_>, x: &Operand) -> Outcome<(Taps, Dims)> {
    let [batch, channels, spatial @ ..] = &x.dims[..] else {
        return Err(Stop::failed("the input has fewer than two axes"));
    };
    let kernel = cx.ints(attr::KERNEL_SHAPE)?.ok_or_else(|| Stop::failed("`kernel_shape` is missing"))?;
    let rounds_up = cx.flag(attr::CEIL_MODE)?;
    let windows = Windows::read(cx, spatial, &sizes(&kernel)?, rounds_up)?;
    let mut dims: Dims = [*batch, *channels].into_iter().collect();
    dims.extend(windows.counts());
    let taps = windows.taps(cx)?;
    Ok((taps, dims))
}

/// The elements of the result, given a function of the elements of a window and of their number with padding.
fn pooled<T: Number>(
    cx: &mut Cx<'_, '_>,
    x: &Operand,
    function: impl Fn(&mut dyn Iterator<Item = T>, usize) -> T,
) -> Outcome {
    let (taps, dims) = windows(cx, x)?;
    let elements = cx.read::<T>(x)?;
    let plane = product(&x.dims[2..]);
    let mut out = cx.buffer(cx.count(&dims)?)?;
    for at in 0..product(&x.dims[..2]) {
        let input = &elements[at * plane..(at + 1) * plane];
        for (places, covered) in taps.iter() {
            cx.work(places.len())?;
            out.push(function(&mut places.iter().map(|&place| input[place]), covered));
        }
    }
    cx.put(0, x.elem, &dims, out)
}

fn average(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let includes_pad = cx.flag(attr::COUNT_INCLUDE_PAD)?;
    by_float!(x.elem, T => pooled::<T>(cx, &x, |window, covered| {
        let (mut sum, mut count) = (T::ZERO, 0);
        for value in window {
            sum = sum.plus(value);
            count += 1;
        }
        let divisor = if includes_pad { covered as i64 } else { count };
        sum.over(T::of_i64(divisor)).unwrap_or(sum)
    }))
}

fn lp(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    // Version 1 has a float here.
    let p = match cx.since() {
        1 => f64::from(cx.float_or(attr::P, 2.0)?),
        _ => cx.int_or(attr::P, 2)? as f64,
    };
    by_float!(x.elem, T => pooled::<T>(cx, &x, |window, _| lp_norm(window, p)))
}

/// The p-th root of the sum of the p-th powers.
pub(super) fn lp_norm<T: Float>(elements: &mut dyn Iterator<Item = T>, p: f64) -> T {
    let sum = elements.fold(0.0, |sum, value| sum + libm::pow(value.f64().abs(), p));
    T::of_f64(if p == 1.0 { sum } else { libm::pow(sum, 1.0 / p) })
}

/// The greatest number, or NaN if all values are NaN.
pub(super) fn greatest<T: Number>(best: Option<T>, value: T) -> bool {
    best.is_none_or(|best| value > best || (best.is_nan() && !value.is_nan()))
}

fn max(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let is_column_major = cx.flag(attr::STORAGE_ORDER)?;
    let (taps, dims) = windows(cx, &x)?;
    let spatial: Dims = x.dims[2..].into();
    let plane = product(&spatial);
    by_number!(x.elem, T => {
        let elements = cx.read::<T>(&x)?;
        let count = cx.count(&dims)?;
        let (mut out, mut indices) = (cx.buffer(count)?, cx.buffer::<i64>(count)?);
        let least = match integer_range(x.elem) {
            Ok((low, _)) => T::of_i64(low as i64),
            Err(_) => T::BOTTOM,
        };
        for at in 0..product(&x.dims[..2]) {
            let input = &elements[at * plane..(at + 1) * plane];
            for (places, _) in taps.iter() {
                cx.work(places.len())?;
                let (mut best, mut best_place) = (None, 0);
                for &place in places {
                    if greatest(best, input[place]) {
                        (best, best_place) = (Some(input[place]), place);
                    }
                }
                out.push(best.unwrap_or(least));
                let place = if is_column_major { column_major(best_place, &spatial) } else { best_place };
                indices.push((at * plane + place) as i64);
            }
        }
        cx.put(0, x.elem, &dims, out)?;
        if cx.wants(1) { cx.put(1, ElemType::Int64, &dims, indices) } else { Ok(()) }
    })
}

/// The place of an element if the first axis varies fastest.
fn column_major(place: usize, dims: &[usize]) -> usize {
    let (mut rest, mut index) = (place, Dims::new());
    for &dim in dims.iter().rev() {
        index.push(rest % dim);
        rest /= dim;
    }
    // `index` has the last axis first, and the last axis has the greatest distance.
    index.iter().zip(dims.iter().rev()).fold(0, |place, (&at, &dim)| place * dim + at)
}
