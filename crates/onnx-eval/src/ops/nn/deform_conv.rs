//! `DeformConv`: a convolution whose kernel elements are displaced by an offset for each place and element, and weighted by a
//! mask.
//!
//! An offset has a number for each spatial axis, in their order. A displaced element is interpolated linearly between its
//! neighbors, in `double`; elements outside are 0, and so is one at a place that is NaN. The sum of products is that of `Conv`.
//! Any number of spatial axes; runtimes have two.

use onnx_schema::{attr, op};

use super::conv::Shape;
use crate::cx::axes::{product, size, strides};
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::family::gemm::{Matrix, Product, work};
use crate::family::window::advance;
use crate::interrupt_poll::InterruptPoll;
use crate::number::{Elems, by_float};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::DEFORM_CONV, &[since(19, deform)]).open();

/// Offsets and masks.
struct Displacement {
    offsets: Elems<f64>,
    mask: Option<Elems<f64>>,
    groups: usize,
    kernel: Dims,
    /// Sizes of the result without batch and features.
    counts: Dims,
    /// Sizes and distances of the spatial axes of the input.
    spatial: Dims,
    steps: Dims,
}

impl Displacement {
    fn read(cx: &mut Cx<'_, '_>, x: &Operand, w: &Operand, shape: &Shape) -> Outcome<Self> {
        let (offsets, mask) = (cx.tensor(2)?, cx.optional(4)?);
        let kernel: Dims = w.dims.get(2..).unwrap_or_default().into();
        let spatial: Dims = x.dims.get(2..).unwrap_or_default().into();
        let groups = size(cx.int_or(attr::OFFSET_GROUP, 1)?)?;
        if groups == 0 || !(shape.channels * shape.groups).is_multiple_of(groups) {
            return Err(Stop::failed("`offset_group` does not divide the channels"));
        }
        let counts = shape.windows.counts();
        let fits = |operand: &Operand, each: usize| {
            let planes = product(&kernel).checked_mul(groups).and_then(|planes| planes.checked_mul(each));
            let [batch, found, ref rest @ ..] = *operand.dims else { return false };
            batch == shape.batch && planes == Some(found) && *rest == *counts
        };
        if !fits(&offsets, spatial.len()) || mask.as_ref().is_some_and(|mask| !fits(mask, 1)) {
            return Err(Stop::failed("the offsets or the mask do not fit the result and the kernel"));
        }
        let mask = mask.map(|mask| cx.read_f64(&mask)).transpose()?;
        let steps = strides(&spatial);
        Ok(Self { offsets: cx.read_f64(&offsets)?, mask, groups, kernel, counts, spatial, steps })
    }

    /// The neighbors of a displaced element with their weights: element `k` of the kernel, at `place` of the result.
    fn taps(&self, shape: &Shape, at: &Tap<'_>, taps: &mut Vec<(usize, f64)>) {
        let (count, plane) = (product(&self.kernel), product(&self.counts));
        let group = (at.sample * self.groups + at.group) * count + at.element;
        taps.clear();
        let weight = self.mask.as_ref().map_or(1.0, |mask| mask[group * plane + at.place]);
        taps.push((0, weight));
        for (axis, window) in shape.windows.axes.iter().enumerate() {
            let offset = self.offsets[(group * self.spatial.len() + axis) * plane + at.place];
            let start = (at.window[axis] * window.stride + at.tap[axis] * window.dilation) as f64;
            let place = start - window.before as f64 + offset;
            let low = place.floor();
            let known = std::mem::take(taps);
            for (neighbor, share) in [(low, 1.0 - (place - low)), (low + 1.0, place - low)] {
                // Also false for NaN.
                if neighbor >= 0.0 && neighbor < self.spatial[axis] as f64 && share != 0.0 {
                    let step = neighbor as usize * self.steps[axis];
                    taps.extend(known.iter().map(|&(index, weight)| (index + step, weight * share)));
                }
            }
        }
    }
}

/// An element of the kernel at a place of the result.
struct Tap<'a> {
    sample: usize,
    group: usize,
    element: usize,
    tap: &'a [usize],
    place: usize,
    window: &'a [usize],
}

fn deform(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, w, b) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(3)?);
    let shape = Shape::read(cx, &x, &w)?;
    let displacement = Displacement::read(cx, &x, &w, &shape)?;
    if let Some(b) = b.as_ref().filter(|b| *b.dims != [shape.features]) {
        return Err(Stop::wrong_sizes("the bias", &b.dims, &[shape.features]));
    }
    by_float!(x.elem, T => {
        let (elements, weights) = (cx.read::<T>(&x)?, cx.read::<T>(&w)?);
        let bias = b.map(|b| cx.read::<T>(&b)).transpose()?;
        let mut out = convolved::<T>(cx, &shape, &displacement, &elements, &weights)?;
        if let Some(bias) = bias {
            let plane = product(&displacement.counts).max(1);
            for (at, plane) in out.chunks_mut(plane).enumerate() {
                plane.iter_mut().for_each(|value| *value += bias[at % shape.features]);
            }
        }
        cx.put(0, x.elem, &shape.dims, out)
    })
}

/// The result without bias.
fn convolved<T: Product>(
    cx: &mut Cx<'_, '_>,
    shape: &Shape,
    displacement: &Displacement,
    x: &[T],
    w: &[T],
) -> Outcome<Vec<T>> {
    let mut out = cx.filled(cx.count(&shape.dims)?, T::ZERO)?;
    let (plane, kernel) = (product(&displacement.counts), product(&displacement.kernel));
    let channels = shape.channels * shape.groups;
    if out.is_empty() || channels == 0 {
        return Ok(out);
    }
    let corners = 1_usize.checked_shl(displacement.spatial.len() as u32).unwrap_or(usize::MAX);
    let rows = cx.count(&[channels, kernel, plane])?;
    cx.work(rows.saturating_mul(corners).saturating_mul(shape.batch))?;
    let depth = shape.channels * kernel;
    work(cx, out.len(), depth, 1)?;
    let mut columns = cx.filled(rows, T::ZERO)?;
    let features = shape.features / shape.groups;
    for sample in 0..shape.batch {
        lay_out(shape, displacement, x, sample, &mut columns, cx.poll())?;
        for group in 0..shape.groups {
            let weights = Matrix::new(&w[group * features * depth..][..features * depth], features, depth);
            let part = Matrix::new(&columns[group * depth * plane..][..depth * plane], depth, plane);
            let at = (sample * shape.groups + group) * features * plane;
            T::product(weights, part, &mut out[at..at + features * plane], cx.poll())?;
        }
    }
    Ok(out)
}

/// Sets the displaced elements of all channels and kernel elements, for all places.
fn lay_out<T: Product>(
    shape: &Shape,
    displacement: &Displacement,
    x: &[T],
    sample: usize,
    columns: &mut [T],
    poll: &mut InterruptPoll,
) -> Outcome {
    let (plane, kernel) = (product(&displacement.counts), product(&displacement.kernel));
    let (channels, input) = (shape.channels * shape.groups, product(&displacement.spatial));
    let each = channels / displacement.groups;
    let mut taps = Vec::new();
    for group in 0..displacement.groups {
        let mut tap: Dims = displacement.kernel.iter().map(|_| 0).collect();
        for element in 0..kernel {
            let mut window: Dims = displacement.counts.iter().map(|_| 0).collect();
            for place in 0..plane {
                let at = Tap { sample, group, element, tap: &tap, place, window: &window };
                displacement.taps(shape, &at, &mut taps);
                poll.step(taps.len().saturating_add(1).saturating_mul(each))?;
                for channel in group * each..(group + 1) * each {
                    let source = &x[(sample * channels + channel) * input..][..input];
                    // The iterator's `sum` of nothing is -0.0.
                    let sum =
                        taps.iter().fold(0.0, |sum, &(index, weight)| sum + source[index].f64() * weight);
                    columns[(channel * kernel + element) * plane + place] = T::of_f64(sum);
                }
                advance(&mut window, &displacement.counts);
            }
            advance(&mut tap, &displacement.kernel);
        }
    }
    Ok(())
}
