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
use crate::family::window::Windows;
use crate::number::{Float, Number, by_float, by_number, integer_range};
use crate::registry::{OpKernels, eval, since};

pub(super) const AVERAGE_POOL: OpKernels = eval(op::AVERAGE_POOL, &[since(1, average)]).open();

pub(super) const MAX_POOL: OpKernels = eval(op::MAX_POOL, &[since(1, max)]);

pub(super) const LP_POOL: OpKernels = eval(op::LP_POOL, &[since(1, lp)]).open();

/// The windows of a pool, with the sizes of its result.
fn windows(cx: &mut Cx<'_, '_>, x: &Operand) -> Outcome<(Windows, Dims)> {
    let [batch, channels, spatial @ ..] = &x.dims[..] else {
        return Err(Stop::failed("the input has fewer than two axes"));
    };
    let kernel = cx.ints(attr::KERNEL_SHAPE)?.ok_or_else(|| Stop::failed("`kernel_shape` is missing"))?;
    let rounds_up = cx.flag(attr::CEIL_MODE)?;
    let windows = Windows::read(cx, spatial, &sizes(&kernel)?, rounds_up)?;
    let mut dims: Dims = [*batch, *channels].into_iter().collect();
    dims.extend(windows.counts());
    Ok((windows, dims))
}

/// The results of all windows: each begins with `init`, is updated by the elements of the window in row-major order, and
/// is finished given the number of the window.
fn pooled<T: Number, R: Clone>(
    cx: &mut Cx<'_, '_>,
    x: &Operand,
    (windows, dims): (&Windows, &Dims),
    init: &R,
    update: impl Fn(&mut R, T, usize) + Copy,
    mut finish: impl FnMut(usize, &R),
) -> Outcome {
    let elements = cx.read::<T>(x)?;
    let (plane, count) = (product(&x.dims[2..]), cx.count(&dims[2..])?);
    // Axes of a result without elements may have any size.
    if cx.count(dims)? == 0 {
        return Ok(());
    }
    let runs = windows.runs(cx, 0..windows.rows())?;
    let work = runs.iter().fold(0_usize, |work, run| work.saturating_add(run.length));
    let mut results = cx.filled(count, init.clone())?;
    for at in 0..product(&x.dims[..2]) {
        cx.work(work)?;
        let input = elements.get(at * plane..(at + 1) * plane).unwrap_or_default();
        results.fill(init.clone());
        for run in &runs {
            cx.poll().step(run.length)?;
            run.update(input, &mut results, |result, place, value| update(result, value, place));
        }
        results.iter().enumerate().for_each(|(window, result)| finish(window, result));
    }
    Ok(())
}

fn average(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let includes_pad = cx.flag(attr::COUNT_INCLUDE_PAD)?;
    let (windows, dims) = windows(cx, &x)?;
    let counts = if includes_pad { windows.covered(cx)? } else { windows.inside(cx)? };
    by_float!(x.elem, T => {
        let mut out = cx.buffer::<T>(cx.count(&dims)?)?;
        let add = |sum: &mut T, value: T, _| *sum = sum.plus(value);
        pooled(cx, &x, (&windows, &dims), &T::ZERO, add, |window, sum| {
            out.push(sum.over(T::of_i64(counts[window] as i64)).unwrap_or(*sum));
        })?;
        cx.put(0, x.elem, &dims, out)
    })
}

fn lp(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    // Version 1 has a float here.
    let p = match cx.since() {
        1 => f64::from(cx.float_or(attr::P, 2.0)?),
        _ => cx.int_or(attr::P, 2)? as f64,
    };
    let (windows, dims) = windows(cx, &x)?;
    by_float!(x.elem, T => {
        let mut out = cx.buffer::<T>(cx.count(&dims)?)?;
        let add = |sum: &mut f64, value: T, _| *sum += libm::pow(value.f64().abs(), p);
        pooled(cx, &x, (&windows, &dims), &0.0, add, |_, &sum| out.push(T::of_f64(root(sum, p))))?;
        cx.put(0, x.elem, &dims, out)
    })
}

/// The p-th root.
fn root(sum: f64, p: f64) -> f64 {
    if p == 1.0 { sum } else { libm::pow(sum, 1.0 / p) }
}

/// The p-th root of the sum of the p-th powers.
pub(super) fn lp_norm<T: Float>(elements: &mut dyn Iterator<Item = T>, p: f64) -> T {
    let sum = elements.fold(0.0, |sum, value| sum + libm::pow(value.f64().abs(), p));
    T::of_f64(root(sum, p))
}

/// The greatest number, or NaN if all values are NaN.
pub(super) fn greatest<T: Number>(best: Option<T>, value: T) -> bool {
    best.is_none_or(|best| value > best || (best.is_nan() && !value.is_nan()))
}

fn max(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let is_column_major = cx.flag(attr::STORAGE_ORDER)?;
    let (windows, dims) = windows(cx, &x)?;
    let spatial: Dims = x.dims[2..].into();
    let (plane, windows_of_plane) = (product(&spatial), product(&dims[2..]).max(1));
    by_number!(x.elem, T => {
        let mut out = cx.buffer::<T>(cx.count(&dims)?)?;
        let least = match integer_range(x.elem) {
            Ok((low, _)) => T::of_i64(low as i64),
            Err(_) => T::BOTTOM,
        };
        if !cx.wants(1) {
            // NaN becomes the first number, and stays if there is none; a window without elements differs from both.
            let counts = windows.inside(cx)?;
            let is_empty: Vec<bool> = cx.collect(counts.iter().map(|&count| count == 0))?;
            let init = if T::IS_FLOAT { T::of_f64(f64::NAN) } else { least };
            let update = |best: &mut T, value: T, _| {
                let is_greater = value > *best || best.is_nan();
                *best = if is_greater { value } else { *best };
            };
            pooled(cx, &x, (&windows, &dims), &init, update, |window, &best| {
                out.push(if is_empty[window] { least } else { best });
            })?;
            return cx.put(0, x.elem, &dims, out);
        }
        let mut indices = cx.buffer::<i64>(cx.count(&dims)?)?;
        let update = |best: &mut (Option<T>, usize), value: T, place| {
            if greatest(best.0, value) {
                *best = (Some(value), place);
            }
        };
        pooled(cx, &x, (&windows, &dims), &(None, 0), update, |_, &(best, place)| {
            let start = out.len() / windows_of_plane * plane;
            out.push(best.unwrap_or(least));
            let place = if is_column_major { column_major(place, &spatial) } else { place };
            indices.push((start + place) as i64);
        })?;
        cx.put(0, x.elem, &dims, out)?;
        cx.put(1, ElemType::Int64, &dims, indices)
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
