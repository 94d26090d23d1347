//! Recipe of `Compress`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::COMPRESS], compress)];

fn compress(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 3)?;
    if draft.smith.choices.chance(70) {
        let axis = draft.smith.choices.below(dims.len());
        draft.set(attr::AXIS, i64::try_from(axis).ok()?);
        return draft.shaped(&[*dims.get(axis)?]);
    }
    draft.leave(&[attr::AXIS]);
    draft.of_rank(1, 1).map(drop)
}
