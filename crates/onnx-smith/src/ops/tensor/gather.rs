//! Recipe of `Gather`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::family::indices::{choose_axis, data};
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::GATHER], gather)];

fn gather(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = data(draft, 4)?;
    choose_axis(draft, dims.len())?;
    if draft.smith.choices.chance(50) {
        let count = draft.smith.choices.below(4);
        return draft.vector(&vec![0; count]);
    }
    if draft.smith.choices.chance(50) { draft.scalar(0) } else { draft.constant(&[2, 1], &[0, 0]) }
}
