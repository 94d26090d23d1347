//! Recipe of `Concat`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::CONCAT], concat)];

fn concat(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axis = draft.smith.choices.below(dims.len());
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    for _ in 0..draft.smith.choices.below(3) {
        let size = *draft.smith.dims(1).first()?;
        let others = dims.clone();
        draft.operand(
            |found| {
                found.len() == dims.len()
                    && (0..dims.len()).all(|at| at == axis || found.get(at) == dims.get(at))
            },
            |_| others.iter().enumerate().map(|(at, &dim)| if at == axis { size } else { dim }).collect(),
        )?;
    }
    Some(())
}
