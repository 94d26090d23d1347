//! `GlobalAveragePool`, `GlobalMaxPool` and `GlobalLpPool`: the batch and the channels stay, each other axis becomes 1.

use onnx_schema::op;
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpRules, infer, since};

pub(super) const GLOBAL_AVERAGE_POOL: OpRules = infer(op::GLOBAL_AVERAGE_POOL, &[since(1, collapse)]);
pub(super) const GLOBAL_LP_POOL: OpRules = infer(op::GLOBAL_LP_POOL, &[since(1, collapse)]);
pub(super) const GLOBAL_MAX_POOL: OpRules = infer(op::GLOBAL_MAX_POOL, &[since(1, collapse)]);

fn collapse(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape(0)?;
    // The reference says nothing of fewer than two dimensions, and no runtime takes them.
    dims.get_mut(2..).ok_or(Stop::Unknown)?.fill(Dim::Known(1));
    cx.set_dims(0, dims);
    Ok(())
}
