//! Recipe of `Gemm`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::GEMM], gemm)];

fn gemm(draft: &mut Draft<'_, '_>) -> Option<()> {
    let first = draft.of_rank(2, 2)?;
    let width = *draft.smith.dims(1).first()?;
    let is_turned = [draft.smith.choices.chance(30), draft.smith.choices.chance(30)];
    draft.leave(&[attr::TRANS_A, attr::TRANS_B, attr::BROADCAST]);
    let (rows, inner) =
        if is_turned[0] { (first.get(1)?, first.first()?) } else { (first.first()?, first.get(1)?) };
    for (name, turned) in [(attr::TRANS_A, is_turned[0]), (attr::TRANS_B, is_turned[1])] {
        if turned {
            draft.set(name, 1_i64);
        }
    }
    draft.shaped(&if is_turned[1] { [width, *inner] } else { [*inner, width] })?;
    if draft.schema.min_inputs() > 2 || draft.wants(60) {
        let whole = [*rows, width];
        if draft.schema.attribute(attr::BROADCAST).is_some() {
            return draft.shaped(&whole);
        }
        draft.partner(&whole)?;
    }
    Some(())
}
