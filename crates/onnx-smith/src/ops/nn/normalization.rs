//! Recipes of `InstanceNormalization`, `RMSNormalization`, `GroupNormalization`, `LRN` and
//! `MeanVarianceNormalization`.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use crate::draft::Draft;
use crate::family::channels::{channels, layer_normalization};
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[
    row(&[op::INSTANCE_NORMALIZATION], instance_normalization),
    row(&[op::RMS_NORMALIZATION], layer_normalization),
    row(&[op::GROUP_NORMALIZATION], group_normalization),
    row(&[op::LRN], local_response),
    row(&[op::MEAN_VARIANCE_NORMALIZATION], mean_variance),
];

fn instance_normalization(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = channels(draft, 3)?;
    draft.shaped(&[*dims.get(1)?])?;
    draft.shaped(&[*dims.get(1)?])
}

fn group_normalization(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = channels(draft, 3)?;
    let count = dims.get(1)?.known()?;
    let groups = if draft.smith.choices.chance(50) { count } else { 1 };
    draft.set(attr::NUM_GROUPS, groups);
    let size = if draft.since() < 21 { groups } else { count };
    draft.shaped(&[Dim::Known(size)])?;
    draft.shaped(&[Dim::Known(size)])
}

fn local_response(draft: &mut Draft<'_, '_>) -> Option<()> {
    channels(draft, 3)?;
    let size = draft.smith.choices.pick(&[1, 3, 5])?;
    draft.set(attr::SIZE, size);
    Some(())
}

fn mean_variance(draft: &mut Draft<'_, '_>) -> Option<()> {
    // The reference's body of the operator knows floats only, and does not fill in the default of the axes.
    draft.prefer(&[ElemType::Float])?;
    let dims = draft.of_rank(1, 4)?;
    let axes = draft.axes(dims.len());
    draft.set(attr::AXES, axes);
    Some(())
}
