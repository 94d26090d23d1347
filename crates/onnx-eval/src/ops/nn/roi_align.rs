//! `RoiAlign`: regions of images, sampled between pixels, each brought to one size by average or maximum.
//!
//! The maximum is one of the weighted pixels around the samples, not of the samples, as in the recorded tests and in runtimes.
//! Version 10 does not shift by half a pixel. A bin without samples is 0.

use onnx_schema::{attr, op};

use crate::cx::axes::size;
use crate::cx::{Cx, Outcome, Stop};
use crate::ops::math::cast::put_real;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels = eval(
    op::ROI_ALIGN,
    &[
        since(10, |cx| align(cx, false)),
        since(16, |cx| match cx.text(attr::COORDINATE_TRANSFORMATION_MODE)? {
            "half_pixel" => align(cx, true),
            "output_half_pixel" => align(cx, false),
            _ => Err(Stop::failed("`coordinate_transformation_mode` names no transformation")),
        }),
    ],
)
.open()
.takes(&[(2, Takes::Indices { of: 0, axis: Some(0) })]);

/// A region along one axis: where it begins, and the extent and the number of samples of a bin.
#[derive(Clone, Copy)]
struct Span {
    start: f64,
    bin: f64,
    samples: usize,
}

/// A sample along one axis: two pixels with their weights.
type Sample = [(usize, f64); 2];

impl Span {
    fn new(ends: (f64, f64), bins: usize, is_half: bool, ratio: usize) -> Self {
        let extent = ends.1 - ends.0;
        let extent = if is_half { extent } else { extent.max(1.0) };
        let bin = extent / bins as f64;
        // A conversion saturates, and the work is counted before samples are taken.
        let samples = if ratio > 0 { ratio } else { bin.ceil() as usize };
        Self { start: ends.0, bin, samples }
    }

    /// `None` outside the image.
    fn sample(&self, bin: usize, at: usize, size: usize) -> Option<Sample> {
        let step = (at as f64 + 0.5) * self.bin / self.samples as f64;
        let place = self.start + bin as f64 * self.bin + step;
        if !(place >= -1.0 && place <= size as f64) {
            return None;
        }
        let place = place.max(0.0);
        let low = place.floor() as usize;
        let last = size.checked_sub(1)?;
        if low >= last {
            return Some([(last, 1.0), (last, 0.0)]);
        }
        let ratio = place - low as f64;
        Some([(low, 1.0 - ratio), (low + 1, ratio)])
    }
}

fn align(cx: &mut Cx<'_, '_>, is_half: bool) -> Outcome {
    let (x, rois) = (cx.tensor(0)?, cx.tensor(1)?);
    let batches = cx.tensor(2)?;
    let is_max = match cx.text(attr::MODE)? {
        "avg" => false,
        "max" => true,
        _ => return Err(Stop::failed("`mode` is neither `avg` nor `max`")),
    };
    let (&[batch, channels, height, width], &[regions, 4]) = (&x.dims[..], &rois.dims[..]) else {
        return Err(Stop::failed("the input has not four axes, or the regions have not four numbers"));
    };
    let batches = cx.read_f64(&batches)?;
    if batches.len() != regions || batches.iter().any(|&at| !(at >= 0.0 && at < batch as f64)) {
        return Err(Stop::failed("the indices of the images do not fit"));
    }
    let scale = f64::from(cx.float_or(attr::SPATIAL_SCALE, 1.0)?);
    let ratio = cx.int_or(attr::SAMPLING_RATIO, 0)?.max(0) as usize;
    let bins = [size(cx.int_or(attr::OUTPUT_HEIGHT, 1)?)?, size(cx.int_or(attr::OUTPUT_WIDTH, 1)?)?];
    let dims = [regions, channels, bins[0], bins[1]];
    let count = cx.count(&dims)?;
    let mut out = cx.buffer(count)?;
    let (elements, regions) = (cx.read_f64(&x)?, cx.read_f64(&rois)?);
    let shift = if is_half { 0.5 } else { 0.0 };
    for (region, &n) in regions.chunks_exact(4).zip(batches.iter()).filter(|_| count > 0) {
        let end = |at: usize| region[at] * scale - shift;
        let rows = Span::new((end(1), end(3)), bins[0], is_half, ratio);
        let columns = Span::new((end(0), end(2)), bins[1], is_half, ratio);
        // Rows without columns are visited, too.
        let samples = rows.samples.saturating_mul(columns.samples.max(1));
        for c in 0..channels {
            let size = height.saturating_mul(width);
            let start = (n as usize * channels + c).saturating_mul(size);
            let plane = &elements[start..start.saturating_add(size)];
            for bin in 0..bins[0] * bins[1] {
                // The number of samples follows from the data: a region can have any size.
                cx.work(samples)?;
                let bin = (bin / bins[1], bin % bins[1]);
                out.push(pooled(plane, [height, width], [&rows, &columns], bin, is_max));
            }
        }
    }
    put_real(cx, 0, x.elem, &dims, &out)
}

fn pooled(
    plane: &[f64],
    [height, width]: [usize; 2],
    [rows, columns]: [&Span; 2],
    bin: (usize, usize),
    is_max: bool,
) -> f64 {
    let (mut sum, mut max) = (0.0, None);
    for y in 0..rows.samples {
        let row = rows.sample(bin.0, y, height);
        for x in 0..columns.samples {
            let corners = match (row, columns.sample(bin.1, x, width)) {
                (Some([top, low]), Some([left, right])) => {
                    [(top, left), (top, right), (low, left), (low, right)]
                        .map(|((y, wy), (x, wx))| wy * wx * plane[y * width + x])
                }
                _ => [0.0; 4],
            };
            sum += corners.iter().sum::<f64>();
            let most = corners.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            max = Some(max.map_or(most, |max: f64| max.max(most)));
        }
    }
    if is_max {
        return max.unwrap_or(0.0);
    }
    sum / rows.samples.saturating_mul(columns.samples).max(1) as f64
}
