//! The normalizations whose only result has the shape of the input.
//!
//! An axis that the input does not have is a fault. The reference reports that only for `MeanVarianceNormalization`; it
//! does not infer `GroupNormalization` and the first version of `InstanceNormalization`. `RMSNormalization` gives the
//! type of `scale`, as in the schema; the reference gives that of the input.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::family::elementwise::like_first;
use crate::registry::{OpRules, infer, since};
use crate::ty::at;

pub(super) const GROUP_NORMALIZATION: OpRules =
    infer(op::GROUP_NORMALIZATION, &[since(18, by_group), since(21, by_channel_in_groups)]);
pub(super) const INSTANCE_NORMALIZATION: OpRules = infer(op::INSTANCE_NORMALIZATION, &[since(1, by_channel)]);
pub(super) const LP_NORMALIZATION: OpRules = infer(op::LP_NORMALIZATION, &[since(1, along_axis)]);
pub(super) const LRN: OpRules = infer(op::LRN, &[since(1, like_first)]);
pub(super) const MEAN_VARIANCE_NORMALIZATION: OpRules =
    infer(op::MEAN_VARIANCE_NORMALIZATION, &[since(9, along_axes)]);
pub(super) const RMS_NORMALIZATION: OpRules = infer(op::RMS_NORMALIZATION, &[since(23, scaled)]);

/// The second and third input have an element for each channel.
fn by_channel(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape(0)?;
    if dims.len() >= 2 {
        for input in [1, 2] {
            let of = cx.dims_of_rank(input, 1)?;
            let channels = cx.same(at(&dims, 1), at(&of, 0), "the channels of the inputs")?;
            if let Some(size) = dims.get_mut(1) {
                *size = channels;
            }
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}

/// The channels are a multiple of the groups.
fn groups(cx: &mut Cx<'_, '_>) -> Outcome<Dim> {
    let groups = cx.int(attr::NUM_GROUPS)?.map_or(Dim::Unknown, Dim::Known);
    if let Ok(dims) = cx.shape(0) {
        cx.divides(groups, at(&dims, 1), "channels")?;
    }
    Ok(groups)
}

/// The second and third input have an element for each group.
fn by_group(cx: &mut Cx<'_, '_>) -> Outcome {
    let groups = groups(cx)?;
    for input in [1, 2] {
        let of = cx.dims_of_rank(input, 1)?;
        cx.same(groups, at(&of, 0), "the number of groups and of scales or biases")?;
    }
    like_first(cx)
}

fn by_channel_in_groups(cx: &mut Cx<'_, '_>) -> Outcome {
    groups(cx)?;
    by_channel(cx)
}

/// The scale broadcasts to the input.
fn scaled(cx: &mut Cx<'_, '_>) -> Outcome {
    if let (Ok(dims), Ok(scale)) = (cx.shape(0), cx.shape(1)) {
        cx.broadcasts_to(&scale, &dims, "the scale")?;
    }
    along_axis(cx)
}

fn along_axis(cx: &mut Cx<'_, '_>) -> Outcome {
    let rank = cx.rank(0)?;
    let axis = cx.int_or(attr::AXIS, -1)?;
    cx.axis(axis, rank)?;
    like_first(cx)
}

fn along_axes(cx: &mut Cx<'_, '_>) -> Outcome {
    let rank = cx.rank(0)?;
    for &axis in cx.ints(attr::AXES)?.unwrap_or_default() {
        cx.axis(axis, rank)?;
    }
    like_first(cx)
}
