//! `Upsample`, which `Resize` has replaced: axes scaled by two attributes for height and width at version 1, by one
//! attribute until version 8 and by an input after that.
//!
//! It samples as `Resize` of version 10 does, and accepts scales below 1, as runtimes do.

use onnx_schema::{attr, op};

use super::resize::{by_scales, scaled};
use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels = eval(
    op::UPSAMPLE,
    &[since(1, height_and_width), since(7, by_attribute), since(9, |cx| by_scales(cx, 1))],
)
.open()
.takes(&[(1, Takes::ONE)]);

fn height_and_width(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.tensor(0)?.rank() != 4 {
        return Err(Stop::failed("the image has not four axes"));
    }
    let (Some(height), Some(width)) = (cx.float(attr::HEIGHT_SCALE)?, cx.float(attr::WIDTH_SCALE)?) else {
        return Err(Stop::failed("a scale is missing"));
    };
    scaled(cx, &[1.0, 1.0, f64::from(height), f64::from(width)])
}

fn by_attribute(cx: &mut Cx<'_, '_>) -> Outcome {
    let scales = cx.floats(attr::SCALES)?.ok_or_else(|| Stop::failed("attribute `scales` is missing"))?;
    let scales: Vec<f64> = scales.into_iter().map(f64::from).collect();
    scaled(cx, &scales)
}
