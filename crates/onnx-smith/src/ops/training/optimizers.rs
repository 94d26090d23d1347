//! Recipe of `Adagrad`, `Adam` and `Momentum`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::ADAGRAD, op::ADAM, op::MOMENTUM], optimizer)];

/// One tensor with its gradient and its state.
fn optimizer(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.shaped(&[])?;
    draft.shaped(&[])?;
    let dims = draft.any()?;
    let is_adam = draft.schema.op() == op::ADAM;
    for _ in 0..if is_adam { 3 } else { 2 } {
        let elem = draft.ty(2)?.elem();
        draft.prefer(&[elem])?;
        draft.shaped(&dims)?;
    }
    draft.make(if is_adam { 3 } else { 2 });
    Some(())
}
