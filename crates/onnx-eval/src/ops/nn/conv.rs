//! `Conv`, `ConvInteger`, `QLinearConv`: a convolution, as products of matrices: the weights of a group times the elements that each window covers.
//!
//! The elements are laid out for a part of the windows at a time, so that memory does not grow with the size of the kernel.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::axes::{product, size};
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::family::gemm::{Matrix, Product, work};
use crate::family::window::{Windows, advance};
use crate::number::{Number, by_float};
use crate::ops::quant::linear::{put_quantized, quantized, spread};
use crate::registry::{OpKernels, eval, since};

pub(super) const CONV: OpKernels = eval(op::CONV, &[since(1, conv)]);

pub(super) const CONV_INTEGER: OpKernels = eval(op::CONV_INTEGER, &[since(10, conv_integer)]);

pub(super) const Q_LINEAR_CONV: OpKernels = eval(op::Q_LINEAR_CONV, &[since(10, quantized_conv)]);

/// Maximum number of elements that are laid out at one time.
const BLOCK: usize = 1 << 20;

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
                return Err(Stop::failed("the bias has not one element for each feature"));
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
            return Err(Stop::failed("the input or the weights have fewer than two axes"));
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
            return Err(Stop::failed("`kernel_shape` differs from the sizes of the weights"));
        }
        let windows = Windows::read(cx, spatial, kernel, false)?;
        let mut dims: Dims = [*batch, *features].into_iter().collect();
        dims.extend(windows.counts());
        Ok(Self { batch: *batch, groups, channels: *depth, features: *features, windows, dims })
    }
}

/// The elements of a convolution without bias.
pub(super) fn convolved<T: Product>(cx: &mut Cx<'_, '_>, shape: &Shape, x: &[T], w: &[T]) -> Outcome<Vec<T>> {
    let mut out = cx.filled(cx.count(&shape.dims)?, T::ZERO)?;
    let counts = shape.windows.counts();
    let (plane, input_plane) = (product(&counts), shape.windows.axes.iter().map(|axis| axis.size).product());
    let kernel: usize = shape.windows.axes.iter().map(|axis| axis.kernel).product();
    let (features, depth) = (shape.features / shape.groups, shape.channels * kernel);
    if out.is_empty() {
        return Ok(out);
    }
    work(cx, out.len(), depth, 1)?;
    let is_direct =
        shape.windows.axes.iter().all(|axis| {
            axis.kernel == 1 && axis.stride == 1 && axis.before == 0 && axis.windows == axis.size
        });
    // A part is a number of rows along the last axis.
    let row = counts.last().copied().unwrap_or(1);
    let rows = (BLOCK / (depth * row).max(1)).clamp(1, (plane / row).max(1));
    let mut columns: Vec<T> = Vec::new();
    for n in 0..shape.batch {
        for group in 0..shape.groups {
            let first = (n * shape.groups + group) * shape.channels * input_plane;
            let input = x.get(first..first + shape.channels * input_plane).unwrap_or_default();
            let weights = w.get(group * features * depth..(group + 1) * features * depth).unwrap_or_default();
            let at = (n * shape.groups + group) * features * plane;
            let result = &mut out[at..at + features * plane];
            let weights = Matrix::new(weights, features, depth);
            if is_direct {
                T::product(weights, Matrix::new(input, depth, plane), result)?;
                continue;
            }
            let mut from = 0;
            while from < plane {
                let length = (rows * row).min(plane - from);
                let laid = Part { from: from / row, rows: length / row, row };
                columns.clear();
                columns.try_reserve(depth * length).map_err(|_| Stop::Limit("run_bytes"))?;
                laid.lay_out(shape, input, input_plane, &mut columns);
                if length == plane {
                    T::product(weights, Matrix::new(&columns, depth, length), result)?;
                } else {
                    let mut part = vec![T::ZERO; features * length];
                    T::product(weights, Matrix::new(&columns, depth, length), &mut part)?;
                    for (feature, part) in part.chunks_exact(length).enumerate() {
                        result[feature * plane + from..][..length].copy_from_slice(part);
                    }
                }
                from += length;
            }
        }
    }
    Ok(out)
}

/// A part of the windows: rows along the last axis.
struct Part {
    from: usize,
    rows: usize,
    row: usize,
}

impl Part {
    /// Appends, for each channel and element of the kernel, the input's element of each window.
    fn lay_out<T: Number>(&self, shape: &Shape, input: &[T], plane: usize, columns: &mut Vec<T>) {
        let Some((last, outer)) = shape.windows.axes.split_last() else {
            columns.extend_from_slice(input);
            return;
        };
        let kernel: Dims = shape.windows.axes.iter().map(|axis| axis.kernel).collect();
        let counts: Dims = outer.iter().map(|axis| axis.windows).collect();
        let mut first: Dims = counts.iter().map(|_| 0).collect();
        let mut rest = self.from;
        for (slot, &count) in first.iter_mut().zip(&counts).rev() {
            (*slot, rest) = (rest % count.max(1), rest / count.max(1));
        }
        for channel in 0..shape.channels {
            let input = &input[channel * plane..(channel + 1) * plane];
            let mut element: Dims = kernel.iter().map(|_| 0).collect();
            for _ in 0..product(&kernel) {
                let mut window = first.clone();
                for _ in 0..self.rows {
                    let mut places = outer.iter().zip(&window).zip(&element);
                    let start = places.try_fold(0, |start, ((axis, &window), &element)| {
                        Some(start * axis.size + axis.index(window, element)?)
                    });
                    let last_element = element.last().copied().unwrap_or(0);
                    match start {
                        Some(start) => {
                            let line = &input[start * last.size..(start + 1) * last.size];
                            let places = (0..self.row).map(|window| last.index(window, last_element));
                            columns.extend(places.map(|place| place.map_or(T::ZERO, |place| line[place])));
                        }
                        None => columns.resize(columns.len() + self.row, T::ZERO),
                    }
                    advance(&mut window, &counts);
                }
                advance(&mut element, &kernel);
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
    cx.put::<i64>(0, ElemType::Int32, &shape.dims, out.iter().map(|&value| value as i64).collect())
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
        return Err(Stop::failed("input and output have one scale and zero point each"));
    };
    let plane = product(&shape.windows.counts()).max(1);
    for (at, plane) in out.chunks_mut(plane).enumerate() {
        let feature = at % shape.features;
        let factor = x_scale * w_scales[feature] / y_scale;
        plane.iter_mut().for_each(|sum| *sum = quantized(y_zero.elem, (*sum + bias[feature]) * factor, zero));
    }
    put_quantized(cx, y_zero.elem, &shape.dims, &out)
}
