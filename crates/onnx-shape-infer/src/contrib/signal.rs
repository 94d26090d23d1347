//! Transforms of signals, and operators on images.

use onnx_schema::onnxruntime::{default, microsoft};
use onnx_schema::{domain, op};
use onnx_types::Dim;

use super::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::ty::{Dims, at};

pub(super) const RULES: &[OpRules] = &[
    infer(default::CROP, &[since(1, crop)]),
    infer(microsoft::CROP_AND_RESIZE, &[since(1, crop_and_resize)]),
    infer(microsoft::DYNAMIC_TIME_WARPING, &[since(1, warp)]),
    infer(microsoft::GRID_SAMPLE, &[since(1, sample)]),
    infer(microsoft::IRFFT, &[since(1, inverse)]),
    infer(microsoft::RFFT, &[since(1, forward)]),
];

/// The schema declares the type of the result apart from that of the image, which it has.
fn sample(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Ok(elem) = cx.elem(0) {
        cx.set_elem(0, elem);
    }
    cx.infer_as(domain::ONNX, op::GRID_SAMPLE, 16)
}

/// Half of a spectrum of real numbers, with real and imaginary parts behind.
fn forward(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape_of_min_rank(0, 1)?;
    if let Some(last) = dims.last_mut() {
        let half = cx.dims().floor_div(*last, Dim::Known(2));
        *last = cx.dims().add(half, Dim::Known(1));
    }
    dims.push(Dim::Known(2));
    cx.set_dims(0, dims);
    Ok(())
}

fn inverse(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape_of_min_rank(0, 2)?;
    dims.pop();
    if let Some(last) = dims.last_mut() {
        let steps = cx.dims().sub(*last, Dim::Known(1));
        let size = cx.dims().mul(steps, Dim::Known(2));
        *last = if cx.is_size(size) { size } else { Dim::Unknown };
    }
    cx.set_dims(0, dims);
    Ok(())
}

/// The length of the path depends on the costs.
#[expect(clippy::unnecessary_wraps, reason = "it has the type of rules")]
fn warp(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_shape(0, [Dim::Known(2), Dim::Unknown]);
    Ok(())
}

/// An image `[N, C, H, W]` to `scale`, or less `border` (left, top, right, bottom).
fn crop(cx: &mut Cx<'_, '_>) -> Outcome {
    let input = cx.shape_of_rank(0, 4)?;
    let sizes: Dims = match (cx.ints("scale")?, cx.ints("border")?) {
        (Some(&[height, width]), _) => [height, width].map(Dim::Known).into_iter().collect(),
        (None | Some([]), Some(&[left, top, right, bottom])) => [(2, top, bottom), (3, left, right)]
            .into_iter()
            .map(|(axis, before, after)| {
                let cut = cx.dims().add(Dim::Known(before), Dim::Known(after));
                let size = cx.dims().sub(at(&input, axis), cut);
                if cx.is_size(size) { size } else { Dim::Unknown }
            })
            .collect(),
        _ => Dims::from_elem(Dim::Unknown, 2),
    };
    cx.set_shape(0, [at(&input, 0), at(&input, 1), at(&sizes, 0), at(&sizes, 1)]);
    Ok(())
}

fn crop_and_resize(cx: &mut Cx<'_, '_>) -> Outcome {
    let (input, regions) = (cx.dims_of_rank(0, 4)?, cx.dims_of_rank(1, 2)?);
    let sizes = cx.elements(3)?.unwrap_or_default();
    let sizes = [0, 1].map(|axis| {
        let size = at(&sizes, axis);
        if cx.is_size(size) { size } else { Dim::Unknown }
    });
    cx.set_shape(0, [at(&regions, 0), at(&input, 1), sizes[0], sizes[1]]);
    Ok(())
}
