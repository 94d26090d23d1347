//! `Conv`, `ConvInteger`, `QLinearConv`: a convolution, as products of matrices: the weights of a group times the elements that each window covers.
//!
//! The elements are laid out for a part of the windows at a time, so that memory does not grow with the size of the kernel.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::axes::{product, size};
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::family::gemm::{Matrix, Product, products, work};
use crate::family::window::{Run, Windows};
use crate::interrupt_poll::InterruptPoll;
use crate::number::{Number, by_float};
use crate::ops::quant::linear::{put_quantized, quantized, spread};
use crate::registry::{OpKernels, eval, since};

pub(super) const CONV: OpKernels = eval(op::CONV, &[since(1, conv)]).open();

pub(super) const CONV_INTEGER: OpKernels = eval(op::CONV_INTEGER, &[since(10, conv_integer)]);

pub(super) const Q_LINEAR_CONV: OpKernels = eval(op::Q_LINEAR_CONV, &[since(10, quantized_conv)]);

/// Number of elements that are laid out at one time, unless one row of windows has more: they fit into the cache of a core.
const BLOCK: usize = 1 << 18;

/// A group with fewer features is computed without a product of matrices, whose kernels have as many rows.
const FEW: usize = 4;

pub(crate) fn conv(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, w, b) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(2)?);
    by_float!(x.elem, T => {
        let (elements, weights) = (cx.read::<T>(&x)?, cx.read::<T>(&w)?);
        let bias = match &b {
            Some(b) => Some(cx.read::<T>(b)?),
            None => None,
        };
        let shape = Shape::read(cx, &x, &w)?;
        let mut out = convolved::<T>(cx, &shape, &elements, &weights)?;
        if let Some(bias) = bias {
            if bias.len() != shape.features {
                return Err(Stop::failed(format_args!("the bias has {} elements instead of {}, one for each feature", bias.len(), shape.features)));
            }
            let plane = product(&shape.windows.counts()).max(1);
            for (at, plane) in out.chunks_mut(plane).enumerate() {
                let bias = bias[at % shape.features];
                plane.iter_mut().for_each(|value| *value = value.plus(bias));
            }
        }
        cx.put(0, x.elem, &shape.dims, out)
    })
}

/// The sizes of a convolution.
pub(super) struct Shape {
    pub(super) batch: usize,
    pub(super) groups: usize,
    /// Channels of a group.
    pub(super) channels: usize,
    /// Features of all groups.
    pub(super) features: usize,
    pub(super) windows: Windows,
    /// Sizes of the result.
    pub(super) dims: Dims,
}

impl Shape {
    pub(super) fn read(cx: &mut Cx<'_, '_>, x: &Operand, w: &Operand) -> Outcome<Self> {
        let ([batch, channels, spatial @ ..], [features, depth, kernel @ ..]) = (&x.dims[..], &w.dims[..])
        else {
            return Err(Stop::failed(format_args!(
                "the input and the weights have {} and {} axes, each must have at least two",
                x.rank(),
                w.rank()
            )));
        };
        let groups = size(cx.int_or(attr::GROUP, 1)?)?;
        let fits = groups > 0 && depth.checked_mul(groups) == Some(*channels) && features % groups == 0;
        if !fits {
            return Err(Stop::failed(format_args!(
                "{channels} channels do not fit {features} features of {depth} channels in {groups} groups"
            )));
        }
        if let Some(declared) = cx.ints(attr::KERNEL_SHAPE)?
            && !declared.iter().copied().eq(kernel.iter().map(|&size| size as i64))
        {
            return Err(Stop::failed(format_args!(
                "`kernel_shape` differs from the sizes of the weights, {kernel:?}"
            )));
        }
        let windows = Windows::read(cx, spatial, kernel, false)?;
        let mut dims: Dims = [*batch, *features].into_iter().collect();
        dims.extend(windows.counts());
        Ok(Self { batch: *batch, groups, channels: *depth, features: *features, windows, dims })
    }

    /// Whether each window is one element of the input, in order.
    fn is_direct(&self) -> bool {
        let mut axes = self.windows.axes.iter();
        axes.all(|axis| axis.kernel == 1 && axis.stride == 1 && axis.before == 0 && axis.windows == axis.size)
    }
}

/// The elements of a convolution without bias.
pub(super) fn convolved<T: Product>(cx: &mut Cx<'_, '_>, shape: &Shape, x: &[T], w: &[T]) -> Outcome<Vec<T>> {
    let mut out = cx.filled(cx.count(&shape.dims)?, T::ZERO)?;
    if out.is_empty() {
        return Ok(out);
    }
    let plane = product(&shape.windows.counts());
    let input_plane: usize = shape.windows.axes.iter().map(|axis| axis.size).product();
    let kernel: usize = shape.windows.axes.iter().map(|axis| axis.kernel).product();
    let (features, depth) = (shape.features / shape.groups, shape.channels * kernel);
    work(cx, out.len(), depth, 1)?;
    // The groups of all elements of the batch, from one on: input and weights of each.
    let groups = |first: usize| {
        let inputs = x.chunks_exact((shape.channels * input_plane).max(1)).skip(first);
        inputs.zip(w.chunks_exact((features * depth).max(1)).cycle().skip(first % shape.groups))
    };
    if features < FEW {
        few(cx, shape, groups, &mut out)?;
        return Ok(out);
    }
    if shape.is_direct() {
        for ((input, weights), result) in groups(0).zip(out.chunks_exact_mut(features * plane)) {
            let (weights, input) = (Matrix::new(weights, features, depth), Matrix::new(input, depth, plane));
            products(cx, &mut vec![(weights, input, result)])?;
        }
        return Ok(out);
    }
    let (rows, row) = (shape.windows.rows(), shape.windows.axes.last().map_or(1, |axis| axis.windows));
    let most = (BLOCK / (depth * row).max(1)).clamp(1, rows);
    let mut columns = cx.buffer(depth.saturating_mul(most * row))?;
    for first in (0..rows).step_by(most) {
        let rows = first..rows.min(first + most);
        let part =
            Part { from: rows.start * row, length: rows.len() * row, runs: shape.windows.runs(cx, rows)? };
        columns.clear();
        columns.resize(depth * part.length, T::ZERO);
        let threads = cx.threads_for(columns.len().saturating_mul(features));
        for ((input, weights), result) in groups(0).zip(out.chunks_exact_mut(features * plane)) {
            let block = kernel * part.length;
            cx.poll().step(columns.len())?;
            threads.for_each_part(&mut columns, block, |first, columns| {
                let input = input.get(first / block * input_plane..).unwrap_or_default();
                part.lay_out(input, input_plane, kernel, columns);
                Ok(())
            })?;
            let matrix = Matrix::new(&columns, depth, part.length);
            let result = result.get_mut(part.from..).unwrap_or_default();
            T::product_into(
                Matrix::new(weights, features, depth),
                matrix,
                result,
                plane,
                threads,
                cx.poll(),
            )?;
        }
    }
    Ok(out)
}

/// Adds up the results of groups of few features without a product of matrices. `groups` are the input and the weights of the groups
/// of all elements of the batch, from one on.
fn few<'a, T: Product, I: Iterator<Item = (&'a [T], &'a [T])>>(
    cx: &mut Cx<'_, '_>,
    shape: &Shape,
    groups: impl Fn(usize) -> I + Sync,
    out: &mut [T],
) -> Outcome {
    let axes = shape.windows.axes.iter();
    let (input_plane, kernel) =
        axes.fold((1, 1), |(size, kernel), axis| (size * axis.size, kernel * axis.kernel));
    let (plane, depth) = (product(&shape.windows.counts()), shape.channels * kernel);
    let runs = shape.windows.runs(cx, 0..shape.windows.rows())?;
    let threads = cx.threads_for(out.len().saturating_mul(depth));
    let block = shape.features / shape.groups * plane;
    let poll = cx.poll().clone();
    threads.for_each_part(out, block, |first, part| {
        let mut poll = poll.clone();
        for ((input, weights), result) in groups(first / block).zip(part.chunks_exact_mut(block)) {
            for (weights, result) in weights.chunks_exact(depth).zip(result.chunks_exact_mut(plane)) {
                let channels = weights.chunks_exact(kernel).zip(input.chunks_exact(input_plane.max(1)));
                for (weights, input) in channels {
                    accumulate(&runs, weights, input, result, &mut poll)?;
                }
            }
        }
        Ok(())
    })
}

/// Adds the products of the weights of a channel with the elements that they meet in each window.
fn accumulate<T: Number>(
    runs: &[Run],
    weights: &[T],
    input: &[T],
    result: &mut [T],
    poll: &mut InterruptPoll,
) -> Outcome {
    for run in runs {
        poll.step(run.length)?;
        let weight = weights.get(run.element).copied().unwrap_or(T::ZERO);
        run.update(input, result, |sum, _, element| *sum = sum.plus(weight.times(element)));
    }
    Ok(())
}

/// A part of the windows: rows along the last axis, with the places of the elements that they cover.
struct Part {
    /// The first window.
    from: usize,
    /// Number of windows.
    length: usize,
    runs: Vec<Run>,
}

impl Part {
    /// Lays out, for each channel and element of the kernel, the element of each window. What no run covers is in the padding:
    /// it is the same for every input, and 0 from the beginning.
    fn lay_out<T: Number>(&self, input: &[T], input_plane: usize, kernel: usize, columns: &mut [T]) {
        let channels =
            input.chunks_exact(input_plane.max(1)).zip(columns.chunks_exact_mut(kernel * self.length));
        for (input, columns) in channels {
            for run in &self.runs {
                let place = run.element * self.length + (run.to - self.from);
                let moved = Run { to: place, ..*run };
                moved.update(input, columns, |slot, _, element| *slot = element);
            }
        }
    }
}
/// The elements of an operand minus its zero point, of which there is one, or one for each index of the first axis.
fn shifted(cx: &mut Cx<'_, '_>, x: &Operand, zero: Option<&Operand>) -> Outcome<Vec<f64>> {
    let mut elements = cx.read_f64(x)?.into_vec();
    let Some(zero) = zero else { return Ok(elements) };
    let zeros = spread(&cx.read_f64(zero)?, x.dims.first().copied().unwrap_or(1))?;
    let block = product(x.dims.get(1..).unwrap_or_default());
    for (block, zero) in elements.chunks_mut(block.max(1)).zip(zeros) {
        block.iter_mut().for_each(|element| *element -= zero);
    }
    Ok(elements)
}

fn conv_integer(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, w) = (cx.tensor(0)?, cx.tensor(1)?);
    let (x_zero, w_zero) = (cx.optional(2)?, cx.optional(3)?);
    let shape = Shape::read(cx, &x, &w)?;
    // Sums of products of 8-bit integers are exact in `double`.
    let elements = shifted(cx, &x, x_zero.as_ref())?;
    let weights = shifted(cx, &w, w_zero.as_ref())?;
    let out = convolved::<f64>(cx, &shape, &elements, &weights)?;
    let out = cx.collect(out.iter().map(|&value| value as i64))?;
    cx.put::<i64>(0, ElemType::Int32, &shape.dims, out)
}

fn quantized_conv(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, w, y_zero) = (cx.tensor(0)?, cx.tensor(3)?, cx.tensor(7)?);
    let (x_scale, w_scale, y_scale) = (cx.tensor(1)?, cx.tensor(4)?, cx.tensor(6)?);
    let shape = Shape::read(cx, &x, &w)?;
    let elements = shifted(cx, &x, Some(&cx.tensor(2)?))?;
    let weights = shifted(cx, &w, Some(&cx.tensor(5)?))?;
    let mut out = convolved::<f64>(cx, &shape, &elements, &weights)?;
    let w_scales = spread(&cx.read_f64(&w_scale)?, shape.features)?;
    let bias = match cx.optional(8)? {
        Some(bias) => spread(&cx.read_f64(&bias)?, shape.features)?,
        None => vec![0.0; shape.features],
    };
    let one = |values: &[f64]| values.first().copied().filter(|_| values.len() == 1);
    let (x_scale, y_scale, zero) = (cx.read_f64(&x_scale)?, cx.read_f64(&y_scale)?, cx.read_f64(&y_zero)?);
    let (Some(x_scale), Some(y_scale), Some(zero)) = (one(&x_scale), one(&y_scale), one(&zero)) else {
        return Err(Stop::failed(format_args!(
            "the scales and the zero point of input and output have {} elements instead of one each",
            [x_scale.len(), y_scale.len(), zero.len()].map(|count| count.to_string()).join(", ")
        )));
    };
    let plane = product(&shape.windows.counts()).max(1);
    for (at, plane) in out.chunks_mut(plane).enumerate() {
        let feature = at % shape.features;
        let factor = x_scale * w_scales[feature] / y_scale;
        plane.iter_mut().for_each(|sum| *sum = quantized(y_zero.elem, (*sum + bias[feature]) * factor, zero));
    }
    put_quantized(cx, y_zero.elem, &shape.dims, &out)
}
