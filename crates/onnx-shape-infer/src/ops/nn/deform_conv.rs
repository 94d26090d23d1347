//! `DeformConv`: a convolution whose elements are displaced by an input `[N, 2*offset_group*k, out…]`.
//!
//! The result has the spatial sizes of a convolution without displacement, which those of the offsets and of the mask must
//! be; the reference does not compare them.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use super::conv::{in_groups, result};
use crate::cx::{Cx, Outcome};
use crate::fault::WRONG_RANK;
use crate::registry::{OpRules, infer, since};
use crate::ty::{Dims, at};

pub(super) const RULES: OpRules = infer(op::DEFORM_CONV, &[since(19, deform)]);

fn deform(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims: Dims = result(cx, 1, 3)?;
    for input in [2, 4] {
        let Ok(displaced) = cx.shape(input) else { continue };
        if displaced.len() != dims.len() {
            let (rank, other) = (dims.len(), displaced.len());
            let message = format_args!("the result has rank {rank} and input {input} has rank {other}");
            return Err(cx.fail(&WRONG_RANK, message));
        }
        for (axis, (size, &other)) in dims.iter_mut().zip(&displaced).enumerate() {
            if axis != 1 {
                *size = cx.same(*size, other, "a size of the result and of the offsets or the mask")?;
            }
        }
    }
    offsets_fit(cx, &dims)?;
    cx.set_dims(0, dims);
    Ok(())
}

/// There is an offset along each spatial axis for each element of the kernel, in each group of offsets.
fn offsets_fit(cx: &mut Cx<'_, '_>, dims: &[Dim]) -> Outcome {
    let (Ok(weights), Ok(offsets)) = (cx.shape(1), cx.shape(2)) else { return Ok(()) };
    let axes = i64::try_from(dims.len().saturating_sub(2)).unwrap_or(i64::MAX);
    let groups = cx.int_or(attr::OFFSET_GROUP, 1)?;
    if let Ok(input) = cx.shape(0) {
        in_groups(cx, at(&input, 1), Dim::Known(groups), "input channels")?;
    }
    let kernel = cx.product(weights.get(2..).unwrap_or_default());
    let each = cx.dims().mul(Dim::Known(axes), Dim::Known(groups));
    let count = cx.dims().mul(each, kernel);
    if let Some(&found) = offsets.get(1) {
        cx.same(found, count, "the offsets for each place and the elements of the kernel")?;
    }
    Ok(())
}
