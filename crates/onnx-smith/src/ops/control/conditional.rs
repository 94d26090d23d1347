//! Recipe of `If`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::IF], conditional)];

fn conditional(draft: &mut Draft<'_, '_>) -> Option<()> {
    // A condition is one truth value, of any rank.
    draft.operand(|dims| dims.iter().all(|&dim| dim == Dim::Known(1)), |_| Vec::new())?;
    let then_branch = draft.open(&[]);
    draft.fill_body();
    let count = draft.smith.choices.between(1, 2);
    let mut types = Vec::new();
    for _ in 0..count {
        let ty = draft.result()?;
        types.push(ty);
    }
    draft.smith.close();
    let else_branch = draft.open(&[]);
    draft.fill_body();
    for ty in &types {
        let value = draft.smith.produce(ty)?;
        draft.smith.model.push_graph_output(else_branch, value);
    }
    draft.smith.close();
    draft.set(attr::THEN_BRANCH, then_branch);
    draft.set(attr::ELSE_BRANCH, else_branch);
    draft.make(count);
    Some(())
}
