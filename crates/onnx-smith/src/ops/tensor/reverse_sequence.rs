//! Recipe of `ReverseSequence`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::REVERSE_SEQUENCE], reverse_sequence)];

fn reverse_sequence(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(2, 4)?;
    let batch = draft.smith.choices.int(0, 1);
    draft.set(attr::BATCH_AXIS, batch);
    draft.set(attr::TIME_AXIS, 1 - batch);
    draft.shaped(&[*dims.get(usize::try_from(batch).ok()?)?])
}
