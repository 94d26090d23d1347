//! Recipe of `Dropout`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::DROPOUT], dropout)];

fn dropout(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    if draft.wants(40) {
        draft.scalar(0)?;
        if draft.wants(50) {
            draft.scalar(0)?;
        }
    }
    Some(())
}
