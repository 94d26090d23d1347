//! Recipe of `Flatten`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::FLATTEN], flatten)];

fn flatten(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let rank = i64::try_from(dims.len()).ok()?;
    let axis = draft.smith.choices.int(0, rank);
    draft.set(attr::AXIS, axis);
    Some(())
}
