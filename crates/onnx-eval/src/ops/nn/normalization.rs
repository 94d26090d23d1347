//! `GroupNormalization`, `InstanceNormalization`, `LpNormalization`, `LRN`, `MeanVarianceNormalization`, `RMSNormalization`.
//!
//! Means and variances are computed in two passes, in `double`. `LRN` has a window of `floor((size-1)/2)` channels before and
//! the rest of `size` after. `LpNormalization` of zeros is zeros. `MeanVarianceNormalization` adds 1e-9 to the deviation, as
//! the function body of the standard does.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use super::layer_normalization::compute;
use crate::cx::axes::{product, size};
use crate::cx::{Cx, Operand, Outcome, Stop, axes};
use crate::family::broadcast::map2;
use crate::family::lines::Lines;
use crate::family::reduce::{Reduction, Set};
use crate::family::sum::sum_of;
use crate::number::{Number, by_float};
use crate::ops::math::cast::round_to;
use crate::registry::{OpKernels, eval, since};

pub(super) const GROUP_NORMALIZATION: OpKernels =
    eval(op::GROUP_NORMALIZATION, &[since(18, |cx| grouped(cx, true)), since(21, |cx| grouped(cx, false))])
        .open();

pub(super) const INSTANCE_NORMALIZATION: OpKernels =
    eval(op::INSTANCE_NORMALIZATION, &[since(1, instance)]).open();

pub(super) const LP_NORMALIZATION: OpKernels = eval(op::LP_NORMALIZATION, &[since(1, lp)]).open();

pub(super) const LRN: OpKernels = eval(op::LRN, &[since(1, lrn)]).open();

pub(super) const MEAN_VARIANCE_NORMALIZATION: OpKernels =
    eval(op::MEAN_VARIANCE_NORMALIZATION, &[since(9, mean_variance)]).open();

pub(super) const RMS_NORMALIZATION: OpKernels = eval(op::RMS_NORMALIZATION, &[since(23, rms)]).open();

/// Sets the output to numbers, each rounded once.
fn put(cx: &mut Cx<'_, '_>, x: &Operand, values: &[f64]) -> Outcome {
    let payload = round_to(x.elem, values, true, Default::default());
    let tensor = cx.tensor_of(x.elem, &x.dims, payload)?;
    cx.put_value(0, tensor)
}

/// The mean and the variance of some elements.
fn moments<T: Number>(elements: &[T]) -> (f64, f64) {
    let count = elements.len() as f64;
    let mean = sum_of(elements, Number::f64) / count;
    let squares = sum_of(elements, |value| {
        let distance = value.f64() - mean;
        distance * distance
    });
    (mean, squares / count)
}

/// Scale and bias have one element for each group in version 18, and for each channel from version 21 on.
fn grouped(cx: &mut Cx<'_, '_>, is_by_group: bool) -> Outcome {
    let x = cx.tensor(0)?;
    let groups = size(cx.int_or(attr::NUM_GROUPS, 0)?)?;
    let channels = x.dims.get(1).copied().unwrap_or(0);
    if x.rank() < 2 || groups == 0 || channels % groups != 0 {
        return Err(Stop::failed(format_args!("{channels} channels do not make {groups} groups")));
    }
    let parts = if is_by_group { groups } else { channels };
    normalized(cx, &x, groups, parts)
}

fn instance(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let channels = x.dims.get(1).copied();
    let channels = channels.ok_or_else(|| Stop::failed("the input has fewer than two axes"))?;
    normalized(cx, &x, channels, channels)
}

/// Normalizes groups of channels; scale and bias have `parts` elements.
fn normalized(cx: &mut Cx<'_, '_>, x: &Operand, groups: usize, parts: usize) -> Outcome {
    let (scale, bias) = (cx.tensor(1)?, cx.tensor(2)?);
    if scale.count != parts || bias.count != parts {
        return Err(Stop::failed(format_args!("scale and bias have not {parts} elements")));
    }
    let epsilon = f64::from(cx.float_or(attr::EPSILON, 1e-5)?);
    let (scale, bias) = (cx.read_f64(&scale)?, cx.read_f64(&bias)?);
    let group = product(&x.dims[1..]).checked_div(groups).unwrap_or(0);
    let channel = group / parts.checked_div(groups).unwrap_or(0).max(1);
    let stretched = Stretched { epsilon, scale: &scale, bias: &bias, group, channel };
    if x.elem == ElemType::Float {
        let (elements, mut out) = (cx.read::<f32>(x)?, cx.buffer(x.count)?);
        stretched.apply(&elements, &mut out);
        return cx.put(0, x.elem, &x.dims, out);
    }
    let (elements, mut out) = (cx.read_f64(x)?, cx.buffer(x.count)?);
    stretched.apply(&elements, &mut out);
    put(cx, x, &out)
}

/// A scale and a bias for each channel, or each group, after normalization.
struct Stretched<'a> {
    epsilon: f64,
    scale: &'a [f64],
    bias: &'a [f64],
    /// Number of elements that are normalized together.
    group: usize,
    /// Number of elements with one scale and bias.
    channel: usize,
}

impl Stretched<'_> {
    /// Appends the results.
    fn apply<T: Number>(&self, elements: &[T], out: &mut Vec<T>) {
        let mut factors = self.scale.iter().zip(self.bias).cycle();
        for group in elements.chunks(self.group.max(1)) {
            let (mean, variance) = moments(group);
            let inverse = 1.0 / (variance + self.epsilon).sqrt();
            for (channel, (scale, bias)) in group.chunks(self.channel.max(1)).zip(&mut factors) {
                out.extend(
                    channel.iter().map(|value| T::of_f64((value.f64() - mean) * inverse * scale + bias)),
                );
            }
        }
    }
}

fn lp(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let axis = axes::axis(cx.int_or(attr::AXIS, -1)?, x.rank())?;
    let is_first = match cx.int_or(attr::P, 2)? {
        1 => true,
        2 => false,
        _ => return Err(Stop::failed("`p` is neither 1 nor 2")),
    };
    let lines = Lines::new(&x.dims, axis);
    let elements = cx.read_f64(&x)?;
    let mut out = cx.filled(x.count, 0.0)?;
    for start in lines.starts() {
        let places = || (0..lines.length).map(|at| start + at * lines.inner);
        let sum: f64 =
            places().map(|at| if is_first { elements[at].abs() } else { elements[at] * elements[at] }).sum();
        let norm = if is_first { sum } else { sum.sqrt() };
        places().for_each(|at| out[at] = if norm == 0.0 { 0.0 } else { elements[at] / norm });
    }
    put(cx, &x, &out)
}

fn lrn(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let [batch, channels, spatial @ ..] = &x.dims[..] else {
        return Err(Stop::failed("the input has fewer than two axes"));
    };
    let window = cx.int(attr::SIZE)?.filter(|&window| window > 0);
    let window = size(window.ok_or_else(|| Stop::failed("`size` is missing or not positive"))?)?;
    let (alpha, beta) =
        (f64::from(cx.float_or(attr::ALPHA, 1e-4)?), f64::from(cx.float_or(attr::BETA, 0.75)?));
    let bias = f64::from(cx.float_or(attr::BIAS, 1.0)?);
    let (before, after) = ((window - 1) / 2, window - 1 - (window - 1) / 2);
    let (plane, elements) = (product(spatial), cx.read_f64(&x)?);
    cx.work(x.count.saturating_mul(window.min(*channels)))?;
    let mut out = cx.buffer(x.count)?;
    for n in 0..*batch {
        for c in 0..*channels {
            let range = c.saturating_sub(before)..=c.saturating_add(after).min(channels - 1);
            for at in 0..plane {
                cx.poll().step(window.min(*channels))?;
                let place = |c: usize| (n * channels + c) * plane + at;
                let sum: f64 = range.clone().map(|c| elements[place(c)] * elements[place(c)]).sum();
                let divisor = libm::pow(bias + alpha / window as f64 * sum, beta);
                out.push(elements[place(c)] / divisor);
            }
        }
    }
    put(cx, &x, &out)
}

fn mean_variance(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let listed = cx.ints(attr::AXES)?.unwrap_or_else(|| vec![0, 2, 3]);
    let reduction = Reduction::new(&x.dims, Some(&listed))?;
    let elements = cx.read_f64(&x)?;
    let count = reduction.size() as f64;
    let means = reduction.apply(cx, &elements, |set| set.fold(0.0, |sum, value| sum + value) / count)?;
    let (_, centered) =
        map2(cx, (&elements, &x.dims), (&means, &reduction.kept), |x: f64, mean: f64| x - mean)?;
    let square = |set: Set<'_, f64>| set.fold(0.0, |sum, value| sum + value * value) / count;
    let variances = reduction.apply(cx, &centered, square)?;
    let (_, out) = map2(cx, (&centered, &x.dims), (&variances, &reduction.kept), |x: f64, variance: f64| {
        x / (variance.sqrt() + 1e-9)
    })?;
    put(cx, &x, &out)
}

fn rms(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let scale = cx.tensor(1)?;
    if scale.elem != x.elem {
        // The schema has a type variable for each, but the body of the operator multiplies them.
        let types = format_args!(
            "`scale` is {} and `X` is {}: they are multiplied, and have one type",
            scale.elem, x.elem
        );
        return Err(Stop::failed(types));
    }
    match cx.elem_attribute(attr::STASH_TYPE)?.unwrap_or(ElemType::Float) {
        ElemType::Double => compute::<f64>(cx, ElemType::Double, false),
        ElemType::Float => compute::<f32>(cx, ElemType::Float, false),
        _ => by_float!(x.elem, T => compute::<T>(cx, x.elem, false)),
    }
}
