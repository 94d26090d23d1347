//! Recipe of `CenterCropPad`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::CENTER_CROP_PAD], center_crop_pad)];

fn center_crop_pad(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axes = draft.axes(dims.len());
    let sizes: Vec<i64> = axes.iter().map(|_| draft.smith.choices.int(1, 5)).collect();
    draft.set(attr::AXES, axes);
    draft.vector(&sizes)
}
