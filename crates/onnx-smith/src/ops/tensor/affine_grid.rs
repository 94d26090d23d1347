//! Recipe of `AffineGrid`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::family::image::known;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::AFFINE_GRID], affine_grid)];

fn affine_grid(draft: &mut Draft<'_, '_>) -> Option<()> {
    let axes = draft.smith.choices.int(2, 3);
    let batch = draft.smith.choices.int(1, 3);
    draft.shaped(&known(&[batch, axes, axes + 1]))?;
    let mut size = vec![batch, draft.smith.choices.int(1, 3)];
    for _ in 0..axes {
        size.push(draft.smith.choices.int(1, 5));
    }
    draft.vector(&size)
}
