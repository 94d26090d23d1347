//! `TensorScatter`: a cache with new entries written along one axis; the output has the shape of the cache.
//!
//! All sizes but that of the axis are those of the update, and there is a write index for each member of the batch. The first
//! axis is that of the batch, so nothing is written along it.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome};
use crate::fault::{AXIS_OUT_OF_RANGE, WRONG_RANK};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::TENSOR_SCATTER, &[since(24, tensor_scatter)]);

fn tensor_scatter(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape(0)?;
    let rank = dims.len();
    if let Ok(other) = cx.rank(1)
        && other != rank
    {
        return Err(cx.fail(&WRONG_RANK, format_args!("the cache has rank {rank} and the update {other}")));
    }
    let axis = cx.int_or(attr::AXIS, -2)?;
    let axis = cx.axis(axis, rank)?;
    if axis == 0 {
        return Err(cx.fail(&AXIS_OUT_OF_RANGE, "the first axis is that of the batch"));
    }
    if cx.rank(2).is_ok_and(|rank| rank != 1) {
        return Err(cx.fail(&WRONG_RANK, "the write indices must be a vector"));
    }
    if let (Ok(&[count]), Some(batch)) = (cx.shape(2).as_deref(), dims.first_mut()) {
        *batch = cx.same(*batch, count, "the sizes of the batch and of the write indices")?;
    }
    if let Ok(update) = cx.shape(1) {
        for (at, (dim, other)) in dims.iter_mut().zip(update).enumerate() {
            if at != axis {
                *dim = cx.same(*dim, other, "the sizes of the cache and of the update")?;
            }
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}
