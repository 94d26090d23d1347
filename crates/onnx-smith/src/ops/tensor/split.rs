//! Recipe of `Split`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::SPLIT], split)];

fn split(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axis = draft.smith.choices.below(dims.len());
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    draft.leave(&[attr::NUM_OUTPUTS, attr::SPLIT]);
    let size = dims.get(axis)?.known();
    let outputs = draft.smith.choices.int(1, 3);
    let parts = usize::try_from(outputs).ok()?;
    draft.make(parts);
    let is_even = size.is_none_or(|size| size % outputs == 0);
    if is_even && draft.smith.choices.chance(50) {
        draft.set(attr::NUM_OUTPUTS, outputs);
        return Some(());
    }
    let size = size.filter(|&size| size >= outputs)?;
    let mut sizes = vec![1; parts];
    *sizes.last_mut()? = size - (outputs - 1);
    draft.ints(attr::SPLIT, &sizes)
}
