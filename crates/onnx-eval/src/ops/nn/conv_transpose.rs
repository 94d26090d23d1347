//! `ConvTranspose`: the transposed convolution: each element of the input adds the weights, times itself, to the elements of the
//! result that its window covers.
//!
//! Without `output_shape`, a result has `(H - 1) * stride + output_padding + extent - before - after` elements along an axis. With
//! it, or with `auto_pad` `SAME_…` (for a result of at most `H * stride` elements), the padding is what is left; an odd element is at
//! the end for `SAME_UPPER`, and at the beginning otherwise, at all versions as in version 11.

use onnx_schema::{attr, op};

use crate::cx::axes::{product, size, strides};
use crate::cx::{Cx, Dims, Outcome, Stop};
use crate::family::gemm::{Matrix, Product, work};
use crate::family::window::advance;
use crate::interrupt_poll::InterruptPoll;
use crate::number::{Number, by_float};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::CONV_TRANSPOSE, &[since(1, transpose)]).open();

/// One spatial axis.
#[derive(Clone, Copy)]
struct Axis {
    input: usize,
    kernel: usize,
    stride: usize,
    dilation: usize,
    before: i128,
    output: usize,
}

fn list(cx: &Cx<'_, '_>, name: onnx_types::Symbol, count: usize, otherwise: i64) -> Outcome<Vec<usize>> {
    let values = cx.ints(name)?.unwrap_or_else(|| vec![otherwise; count]);
    if values.len() != count {
        let name = cx.model.str(name);
        return Err(Stop::failed(format_args!("attribute `{name}` has the wrong length")));
    }
    values.into_iter().map(size).collect()
}

fn axes(cx: &Cx<'_, '_>, spatial: &[usize], kernel: &[usize]) -> Outcome<Vec<Axis>> {
    let count = spatial.len();
    let steps = list(cx, attr::STRIDES, count, 1)?;
    let dilations = list(cx, attr::DILATIONS, count, 1)?;
    let added = list(cx, attr::OUTPUT_PADDING, count, 0)?;
    let padding = cx.text(attr::AUTO_PAD)?;
    let pads = if matches!(padding, "" | "NOTSET") {
        list(cx, attr::PADS, 2 * count, 0)?
    } else {
        vec![0; 2 * count]
    };
    let shape = match cx.ints(attr::OUTPUT_SHAPE)? {
        // Some exporters write the batch and the channels, too.
        Some(shape) if shape.len() == count + 2 => Some(shape[2..].to_vec()),
        Some(shape) if shape.len() == count => Some(shape),
        Some(shape) => {
            let length = shape.len();
            return Err(Stop::failed(format_args!(
                "`output_shape` has {length} elements instead of {count}"
            )));
        }
        None => None,
    };
    let mut axes = Vec::with_capacity(count);
    for at in 0..count {
        let (stride, dilation) = (steps[at], dilations[at]);
        if stride == 0 || dilation == 0 || kernel[at] == 0 {
            return Err(Stop::failed("a stride, dilation or kernel is 0"));
        }
        let whole = (spatial[at] as i128 - 1) * stride as i128
            + added[at] as i128
            + (kernel[at] as i128 - 1) * dilation as i128
            + 1;
        let wanted = match &shape {
            Some(shape) => Some(i128::from(shape[at])),
            None if padding.starts_with("SAME") => Some(spatial[at] as i128 * stride as i128),
            None => None,
        };
        let (before, output) = match wanted {
            Some(wanted) => {
                let total = (whole - wanted).max(0);
                // `SAME_…` crops and does not extend; a given shape may be larger than the result.
                let output = if shape.is_some() { wanted } else { whole - total };
                (if padding == "SAME_UPPER" { total / 2 } else { total - total / 2 }, output)
            }
            None => (pads[at] as i128, whole - pads[at] as i128 - pads[at + count] as i128),
        };
        let output = usize::try_from(output).map_err(|_| Stop::failed("a size of the result is negative"))?;
        axes.push(Axis { input: spatial[at], kernel: kernel[at], stride, dilation, before, output });
    }
    Ok(axes)
}

fn transpose(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, w, b) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(2)?);
    let ([batch, channels, spatial @ ..], [inputs, features, kernel @ ..]) = (&x.dims[..], &w.dims[..])
    else {
        return Err(Stop::failed(format_args!(
            "the input and the weights have {} and {} axes, each must have at least two",
            x.rank(),
            w.rank()
        )));
    };
    let groups = size(cx.int_or(attr::GROUP, 1)?)?;
    if channels != inputs || groups == 0 || channels % groups != 0 || spatial.len() != kernel.len() {
        return Err(Stop::failed(format_args!(
            "the weights {:?} do not fit the input {:?} in {groups} groups: they must be [{channels}, features, kernel…]",
            w.dims, x.dims
        )));
    }
    // Without channels, any number divides them, and the groups are gone through.
    cx.work(cx.count(&[(*batch).max(1), groups])?)?;
    let axes = axes(cx, spatial, kernel)?;
    let all = features.checked_mul(groups).ok_or(Stop::Limit("run_elements"))?;
    let mut dims: Dims = [*batch, all].into_iter().collect();
    dims.extend(axes.iter().map(|axis| axis.output));
    let (depth, plane) = (channels / groups, product(spatial));
    let columns = features * product(kernel);
    by_float!(x.elem, T => {
        let (elements, weights) = (cx.read::<T>(&x)?, cx.read::<T>(&w)?);
        let mut out = cx.filled(cx.count(&dims)?, T::ZERO)?;
        work(cx, batch.saturating_mul(*channels), columns, plane)?;
        let block = product(&dims[2..]);
        let mut spread = cx.filled(cx.count(&[columns, plane])?, T::ZERO)?;
        for n in 0..*batch {
            for group in 0..groups {
                let first = (n * groups + group) * depth * plane;
                let input = Matrix::new(&elements[first..first + depth * plane], depth, plane);
                let first = group * depth * columns;
                let matrix = Matrix::new(&weights[first..first + depth * columns], depth, columns);
                T::product(matrix.transposed(), input, &mut spread, cx.poll())?;
                let at = (n * groups + group) * features * block;
                add(&axes, &spread, *features, &mut out[at..at + features * block], cx.poll())?;
            }
        }
        if let Some(b) = &b {
            let bias = cx.read::<T>(b)?;
            if bias.len() != all {
                return Err(Stop::failed(format_args!("the bias has {} elements instead of {all}, one for each feature", bias.len())));
            }
            for (at, plane) in out.chunks_mut(block.max(1)).enumerate() {
                plane.iter_mut().for_each(|value| *value = value.plus(bias[at % all]));
            }
        }
        cx.put(0, x.elem, &dims, out)
    })
}

/// Adds what each element of the kernel contributes to the result.
fn add<T: Number>(
    axes: &[Axis],
    spread: &[T],
    features: usize,
    out: &mut [T],
    poll: &mut InterruptPoll,
) -> Outcome {
    let kernel: Dims = axes.iter().map(|axis| axis.kernel).collect();
    let inputs: Dims = axes.iter().map(|axis| axis.input).collect();
    let outputs: Dims = axes.iter().map(|axis| axis.output).collect();
    let (plane, block, own) = (product(&inputs), product(&outputs), strides(&outputs));
    let mut row = 0;
    for feature in 0..features {
        let mut element: Dims = kernel.iter().map(|_| 0).collect();
        for _ in 0..product(&kernel) {
            let values = &spread[row * plane..(row + 1) * plane];
            let mut index: Dims = inputs.iter().map(|_| 0).collect();
            poll.step(plane.saturating_mul(axes.len().max(1)))?;
            for value in values {
                let places = axes.iter().zip(&index).zip(&element).zip(&own);
                let place = places.map(|(((axis, &at), &element), &stride)| {
                    let [at, element] = [(at, axis.stride), (element, axis.dilation)]
                        .map(|(index, step)| index as i128 * step as i128);
                    let place = at + element - axis.before;
                    let place = usize::try_from(place).ok().filter(|&place| place < axis.output)?;
                    Some(place * stride)
                });
                if let Some(place) = place.sum::<Option<usize>>() {
                    let slot = &mut out[feature * block + place];
                    *slot = slot.plus(*value);
                }
                advance(&mut index, &inputs);
            }
            advance(&mut element, &kernel);
            row += 1;
        }
    }
    Ok(())
}
