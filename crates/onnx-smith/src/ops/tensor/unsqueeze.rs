//! Recipe of `Unsqueeze`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::UNSQUEEZE], unsqueeze)];

fn unsqueeze(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.any()?;
    let rank = dims.len().saturating_add(1 + draft.smith.choices.below(2));
    let mut axes: Vec<i64> = (0..i64::try_from(rank).ok()?).collect();
    while axes.len() > rank - dims.len() {
        let at = draft.smith.choices.below(axes.len());
        axes.remove(at);
    }
    draft.ints(attr::AXES, &axes)
}
