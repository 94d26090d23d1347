//! `NonMaxSuppression`: of boxes `[B, S, 4]` and scores `[B, C, S]` the indices `[selected, 3]` of those to keep. How many
//! that are is known at run time only.

use onnx_schema::op;
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};
use crate::ty::at;

pub(super) const RULES: OpRules = infer(op::NON_MAX_SUPPRESSION, &[since(10, select)]);

fn select(cx: &mut Cx<'_, '_>) -> Outcome {
    let boxes = cx.dims_of_rank(0, 3)?;
    let scores = cx.dims_of_rank(1, 3)?;
    cx.same(at(&boxes, 0), at(&scores, 0), "the batch sizes of the boxes and of the scores")?;
    cx.same(at(&boxes, 1), at(&scores, 2), "the numbers of boxes and of their scores")?;
    cx.same(at(&boxes, 2), Dim::Known(4), "the coordinates of a box")?;
    cx.set_shape(0, [Dim::Unknown, Dim::Known(3)]);
    Ok(())
}
