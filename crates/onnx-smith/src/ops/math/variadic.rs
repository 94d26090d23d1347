//! Recipe of `Max`, `Mean`, `Min` and `Sum`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::MAX, op::MEAN, op::MIN, op::SUM], variadic)];

fn variadic(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.any()?;
    for _ in 0..draft.smith.choices.below(3) {
        if draft.since() < 8 {
            draft.shaped(&dims)?;
        } else {
            draft.partner(&dims)?;
        }
    }
    Some(())
}
