//! Recipe of `Tile`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::TILE], tile)];

fn tile(draft: &mut Draft<'_, '_>) -> Option<()> {
    if draft.since() < 6 {
        draft.of_rank(1, 3)?;
        draft.constant(&[], &[2])?;
        return draft.constant(&[], &[0]);
    }
    let dims = draft.any()?;
    let repeats: Vec<i64> = dims.iter().map(|_| draft.smith.choices.int(1, 3)).collect();
    draft.vector(&repeats)
}
