//! Recipe of `Expand`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::EXPAND], expand)];

fn expand(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.any()?;
    let mut sizes: Vec<i64> = Vec::new();
    for _ in 0..draft.smith.choices.below(2) {
        sizes.push(draft.smith.choices.int(1, 3));
    }
    for dim in &dims {
        sizes.push(match dim.known() {
            Some(1) => draft.smith.choices.int(1, 4),
            Some(size) if draft.smith.choices.chance(50) => size,
            _ => 1,
        });
    }
    draft.vector(&sizes)
}
