//! Recipe of `LinearAttention`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::LINEAR_ATTENTION], linear_attention)];

fn linear_attention(draft: &mut Draft<'_, '_>) -> Option<()> {
    let (heads, size) = (draft.smith.choices.int(1, 3), draft.smith.choices.int(1, 3));
    let front = draft.smith.dims(2);
    let with = |width: i64| -> Vec<Dim> { front.iter().copied().chain([Dim::Known(width)]).collect() };
    draft.set(attr::Q_NUM_HEADS, heads);
    draft.set(attr::KV_NUM_HEADS, heads);
    draft.set(attr::UPDATE_RULE, "linear");
    draft.leave(&[attr::CHUNK_SIZE]);
    draft.shaped(&with(heads * size))?;
    draft.shaped(&with(heads * size))?;
    draft.shaped(&with(heads * (size + 1)))
}
