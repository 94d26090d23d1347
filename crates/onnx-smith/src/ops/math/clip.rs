//! Recipe of `Clip`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::CLIP], clip)];

fn clip(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    for bound in [0, 2] {
        if draft.wants(60) {
            draft.scalar(bound)?;
        } else if draft.formal().is_some() {
            draft.skip();
        }
    }
    Some(())
}
