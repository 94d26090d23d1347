//! Recipe of `RotaryEmbedding`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::ROTARY_EMBEDDING], rotary)];

fn rotary(draft: &mut Draft<'_, '_>) -> Option<()> {
    let (batch, heads, length) =
        (draft.smith.choices.int(1, 3), draft.smith.choices.int(1, 3), draft.smith.choices.int(1, 4));
    let half = draft.smith.choices.int(1, 3);
    let known = |sizes: &[i64]| -> Vec<Dim> { sizes.iter().map(|&size| Dim::Known(size)).collect() };
    draft.shaped(&known(&[batch, heads, length, 2 * half]))?;
    draft.leave(&[attr::NUM_HEADS, attr::ROTARY_EMBEDDING_DIM]);
    draft.shaped(&known(&[batch, length, half]))?;
    draft.shaped(&known(&[batch, length, half]))
}
