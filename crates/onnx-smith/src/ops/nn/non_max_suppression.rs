//! Recipe of `NonMaxSuppression`.

use onnx_schema::op;
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::NON_MAX_SUPPRESSION], non_max_suppression)];

fn non_max_suppression(draft: &mut Draft<'_, '_>) -> Option<()> {
    let front = draft.smith.dims(2);
    let [batch, boxes] = *front.first_chunk::<2>()?;
    draft.shaped(&[batch, boxes, Dim::Known(4)])?;
    let classes = *draft.smith.dims(1).first()?;
    draft.shaped(&[batch, classes, boxes])?;
    if draft.wants(60) {
        draft.scalar(2)?;
    }
    Some(())
}
