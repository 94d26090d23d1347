//! Recipe of `Transpose`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::TRANSPOSE], transpose)];

fn transpose(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.any()?;
    if draft.smith.choices.chance(70) {
        let order = draft.permutation(dims.len());
        draft.set(attr::PERM, order);
    }
    draft.leave(&[attr::PERM]);
    Some(())
}
