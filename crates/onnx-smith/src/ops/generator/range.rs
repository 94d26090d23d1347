//! Recipe of `Range`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::RANGE], range)];

fn range(draft: &mut Draft<'_, '_>) -> Option<()> {
    for (least, most) in [(0, 2), (2, 6), (1, 2)] {
        let number = draft.smith.choices.int(least, most);
        draft.scalar(number)?;
    }
    Some(())
}
