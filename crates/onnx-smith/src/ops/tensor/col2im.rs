//! Recipe of `Col2Im`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::COL2IM], columns)];

fn columns(draft: &mut Draft<'_, '_>) -> Option<()> {
    let (height, width) = (draft.smith.choices.int(2, 5), draft.smith.choices.int(2, 5));
    let block = [draft.smith.choices.int(1, 2), draft.smith.choices.int(1, 2)];
    let channels = draft.smith.choices.int(1, 3);
    let area: i64 = block.iter().product();
    let steps = (height - block[0] + 1) * (width - block[1] + 1);
    let batch = draft.smith.dims(1);
    draft.shaped(&[*batch.first()?, Dim::Known(channels * area), Dim::Known(steps)])?;
    draft.vector(&[height, width])?;
    draft.vector(&block)?;
    draft.leave(&[attr::STRIDES, attr::PADS, attr::DILATIONS]);
    Some(())
}
