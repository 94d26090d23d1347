//! Recipe of `GlobalAveragePool`, `GlobalLpPool` and `GlobalMaxPool`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::family::image::image;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] =
    &[row(&[op::GLOBAL_AVERAGE_POOL, op::GLOBAL_LP_POOL, op::GLOBAL_MAX_POOL], global_pool)];

fn global_pool(draft: &mut Draft<'_, '_>) -> Option<()> {
    image(draft, 1, 3).map(drop)
}
