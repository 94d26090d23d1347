//! Recipe of `Trilu`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::TRILU], trilu)];

fn trilu(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.of_rank(2, 4)?;
    if draft.wants(40) {
        let diagonal = draft.smith.choices.int(-1, 2);
        draft.scalar(diagonal)?;
    }
    Some(())
}
