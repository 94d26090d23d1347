//! Recipe of `Where`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::WHERE], choice)];

fn choice(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.any()?;
    draft.partner(&dims)?;
    draft.partner(&dims)?;
    Some(())
}
