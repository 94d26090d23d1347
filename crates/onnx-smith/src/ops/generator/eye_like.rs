//! Recipe of `EyeLike`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::EYE_LIKE], eye_like)];

fn eye_like(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.of_rank(2, 2).map(drop)
}
