//! Recipe of `Squeeze`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::SQUEEZE], squeeze)];

fn squeeze(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.operand(
        |dims| dims.contains(&Dim::Known(1)),
        |smith| {
            let rank = smith.choices.between(1, 3);
            let mut dims = smith.dims(rank);
            let at = smith.choices.below(rank);
            if let Some(dim) = dims.get_mut(at) {
                *dim = Dim::Known(1);
            }
            dims
        },
    )?;
    let axes: Vec<i64> =
        (0_i64..).zip(&dims).filter(|(_, dim)| **dim == Dim::Known(1)).map(|(at, _)| at).collect();
    draft.ints(attr::AXES, &axes)
}
