//! Recipe of `OneHot`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::ONE_HOT], one_hot)];

fn one_hot(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 3)?;
    let depth = draft.smith.choices.int(1, 5);
    if draft.smith.choices.chance(50) {
        draft.scalar(depth)?
    } else {
        draft.vector(&[depth])?
    }
    draft.vector(&[0, 1])?;
    let rank = i64::try_from(dims.len()).ok()?;
    let axis = draft.smith.choices.int(-rank - 1, rank);
    draft.set(attr::AXIS, axis);
    Some(())
}
