//! `MaxRoiPool`: for each of `R` regions `[R, 5]` of an input `[N, C, H, W]`, a pool to `pooled_shape`: `[R, C, h, w]`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::family::window::ints_of;
use crate::fault::MISSING;
use crate::registry::{OpRules, infer, since};
use crate::ty::at;

pub(super) const RULES: OpRules = infer(op::MAX_ROI_POOL, &[since(1, pool)]);

fn pool(cx: &mut Cx<'_, '_>) -> Outcome {
    let input = cx.dims_of_rank(0, 4)?;
    let rois = cx.dims_of_rank(1, 2)?;
    cx.agree(at(&rois, 1), Dim::Known(5), "the numbers of a region")?;
    if cx.ints(attr::POOLED_SHAPE)?.is_none() {
        return Err(cx.fail(&MISSING, "attribute `pooled_shape` is missing"));
    }
    let pooled = ints_of(cx, attr::POOLED_SHAPE, 2, 1, 1)?;
    let sizes = pooled.iter().map(|&size| Dim::Known(size));
    cx.set_shape(0, [at(&rois, 0), at(&input, 1)].into_iter().chain(sizes));
    Ok(())
}
