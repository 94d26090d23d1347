//! `RoiAlign`: for each of `R` regions `[R, 4]` of an input `[N, C, H, W]`, samples of a fixed size: `[R, C, h, w]`.
//!
//! The number of regions is that of `rois` and of `batch_indices`, which must be the same. A negative size is a fault; the
//! reference gives it.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::family::window::not_negative;
use crate::registry::{OpRules, infer, since};
use crate::ty::at;

pub(super) const RULES: OpRules = infer(op::ROI_ALIGN, &[since(10, align)]);

fn align(cx: &mut Cx<'_, '_>) -> Outcome {
    let input = cx.dims_of_rank(0, 4)?;
    let rois = cx.dims_of_rank(1, 2)?;
    let batch = cx.dims_of_rank(2, 1)?;
    cx.same(at(&rois, 1), Dim::Known(4), "the coordinates of a region")?;
    let count = cx.same(at(&rois, 0), at(&batch, 0), "the numbers of regions and of their batch indices")?;
    let height = Dim::Known(cx.int_or(attr::OUTPUT_HEIGHT, 1)?);
    let width = Dim::Known(cx.int_or(attr::OUTPUT_WIDTH, 1)?);
    let (height, width) = (not_negative(cx, height)?, not_negative(cx, width)?);
    cx.set_shape(0, [count, at(&input, 1), height, width]);
    Ok(())
}
