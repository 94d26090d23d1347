//! `MaxRoiPool`: regions of images, each brought to one size by the maximum of bins.
//!
//! The ends of a region are rounded to pixels, halves away from zero, and both belong to it; a region that is empty has one
//! pixel. Bins are the smallest ones of whole pixels that cover their part, so they overlap. A bin outside the image is 0.

use onnx_schema::{attr, op};

use crate::cx::axes::sizes;
use crate::cx::{Cx, Outcome, Stop};
use crate::number::{Number, by_float};
use crate::ops::math::variadic::greater;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::MAX_ROI_POOL, &[since(1, pool)]);

/// The pixels of a bin of a region along one axis.
fn bin(ends: (f64, f64), at: usize, bins: usize, size: usize) -> std::ops::Range<usize> {
    // Conversions saturate far outside every image.
    let whole = |end: f64| (end.round().clamp(-1e15, 1e15)) as i128;
    let (start, end) = (whole(ends.0), whole(ends.1));
    let extent = (end - start + 1).max(1);
    let (at, bins) = (at as i128, bins as i128);
    let low = start + at * extent / bins;
    let high = start + ((at + 1) * extent + bins - 1) / bins;
    let clamp = |index: i128| index.clamp(0, size as i128) as usize;
    clamp(low)..clamp(high)
}

fn pool(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, rois) = (cx.tensor(0)?, cx.tensor(1)?);
    let pooled = cx.ints(attr::POOLED_SHAPE)?.ok_or_else(|| Stop::failed("`pooled_shape` is missing"))?;
    let (&[batch, channels, height, width], &[regions, 5], &[rows, columns]) =
        (&x.dims[..], &rois.dims[..], &sizes(&pooled)?[..])
    else {
        return Err(Stop::failed("the input, the regions or `pooled_shape` has the wrong size"));
    };
    let scale = f64::from(cx.float_or(attr::SPATIAL_SCALE, 1.0)?);
    let dims = [regions, channels, rows, columns];
    let count = cx.count(&dims)?;
    let numbers = cx.read_f64(&rois)?;
    by_float!(x.elem, T => {
        let elements = cx.read::<T>(&x)?;
        let mut out = cx.buffer(count)?;
        for region in numbers.chunks_exact(5).filter(|_| count > 0) {
            if !(region[0] >= 0.0 && region[0] < batch as f64) {
                return Err(Stop::failed(format_args!("image {} does not exist", region[0])));
            }
            let n = region[0] as usize;
            let end = |at: usize| region[at] * scale;
            for at in 0..channels * rows * columns {
                let (c, row, column) = (at / (rows * columns), at / columns % rows, at % columns);
                let ys = bin((end(2), end(4)), row, rows, height);
                let xs = bin((end(1), end(3)), column, columns, width);
                cx.work(ys.len().saturating_mul(xs.len()))?;
                let plane = &elements[(n * channels + c).saturating_mul(height.saturating_mul(width))..];
                let pixels = ys.flat_map(|y| xs.clone().map(move |x| y * width + x));
                out.push(pixels.map(|place| plane[place]).reduce(greater).unwrap_or(T::ZERO));
            }
        }
        cx.put::<T>(0, x.elem, &dims, out)
    })
}
