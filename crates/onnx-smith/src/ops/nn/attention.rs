//! Recipe of `Attention`.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::ATTENTION], attention)];

/// Queries, keys and values of four axes, which need no numbers of heads.
fn attention(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.prefer(&[ElemType::Float, ElemType::Float16, ElemType::Double])?;
    let (heads, size) = (draft.smith.choices.int(1, 3), draft.smith.choices.int(1, 4));
    let (steps, keys) = (draft.smith.choices.int(1, 4), draft.smith.choices.int(1, 4));
    let batch = *draft.smith.dims(1).first()?;
    let shape = |length: i64, size: i64| [batch, Dim::Known(heads), Dim::Known(length), Dim::Known(size)];
    draft.shaped(&shape(steps, size))?;
    draft.shaped(&shape(keys, size))?;
    let elem = draft.ty(0)?.elem();
    draft.prefer(&[elem])?;
    draft.shaped(&shape(keys, size + 1))?;
    draft.leave(&[
        attr::Q_NUM_HEADS,
        attr::KV_NUM_HEADS,
        attr::QK_MATMUL_OUTPUT_MODE,
        attr::LEFT_WINDOW_SIZE,
        attr::RIGHT_WINDOW_SIZE,
        attr::SOFTMAX_PRECISION,
    ]);
    draft.make(1);
    if draft.smith.choices.chance(30) {
        draft.prefer(&[elem])?;
        draft.shaped(&[Dim::Known(steps), Dim::Known(keys)])?;
    }
    Some(())
}
