//! Recipe of `ConcatFromSequence`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::CONCAT_FROM_SEQUENCE], concat_sequence)];

fn concat_sequence(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    let rank = draft.ty(0)?.inner()?.shape()?.rank();
    let is_new = rank == 0 || draft.smith.choices.chance(50);
    draft.set(attr::NEW_AXIS, i64::from(is_new));
    let axis = draft.smith.choices.below(rank.saturating_add(usize::from(is_new)));
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    Some(())
}
