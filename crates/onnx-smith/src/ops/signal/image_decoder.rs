//! Recipe of `ImageDecoder`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::IMAGE_DECODER], image)];

fn image(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.of_rank(1, 1).map(drop)
}
