//! `TensorScatter`: a cache with new entries written along one axis; the output has the shape of the cache.
//!
//! The ranks of cache and update, the axis and the rank of the write indices are compared, as the reference does.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome};
use crate::fault::WRONG_RANK;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::TENSOR_SCATTER, &[since(24, tensor_scatter)]);

fn tensor_scatter(cx: &mut Cx<'_, '_>) -> Outcome {
    let dims = cx.shape(0)?;
    let rank = dims.len();
    if let Ok(other) = cx.rank(1)
        && other != rank
    {
        return Err(cx.fail(&WRONG_RANK, format_args!("the cache has rank {rank} and the update {other}")));
    }
    let axis = cx.int_or(attr::AXIS, -2)?;
    cx.axis(axis, rank)?;
    if cx.rank(2).is_ok_and(|rank| rank != 1) {
        return Err(cx.fail(&WRONG_RANK, "the write indices must be a vector"));
    }
    cx.set_dims(0, dims);
    Ok(())
}
