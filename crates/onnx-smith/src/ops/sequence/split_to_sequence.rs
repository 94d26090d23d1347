//! Recipe of `SplitToSequence`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::SPLIT_TO_SEQUENCE], split_sequence)];

fn split_sequence(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 3)?;
    let axis = draft.smith.choices.below(dims.len());
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    if draft.wants(50) {
        draft.scalar(1)?;
    }
    Some(())
}
