//! Recipe of `Pad`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::PAD], pad)];

fn pad(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let is_constant =
        draft.smith.choices.chance(70) || dims.iter().any(|dim| dim.known().is_none_or(|size| size < 3));
    draft.set(attr::MODE, if is_constant { "constant" } else { "reflect" });
    let pads: Vec<i64> = (0..2 * dims.len()).map(|_| draft.smith.choices.int(0, 2)).collect();
    // The first version calls them otherwise.
    if draft.since() < 2 {
        draft.set(attr::PADDINGS, pads);
        return Some(());
    }
    draft.ints(attr::PADS, &pads)?;
    if draft.wants(40) {
        draft.scalar(1)?;
    }
    Some(())
}
