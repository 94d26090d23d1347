//! Recipes of `MatMul`, `MatMulInteger` and `QLinearMatMul`.

use onnx_schema::op;
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] =
    &[row(&[op::MAT_MUL, op::MAT_MUL_INTEGER], product), row(&[op::Q_LINEAR_MAT_MUL], quantized_product)];

/// The second operand of a product: another matrix, or as many as the first has.
fn second(draft: &mut Draft<'_, '_>, first: &[Dim]) -> Option<()> {
    let inner = *first.last()?;
    let width = *draft.smith.dims(1).first()?;
    let batch = first.get(..first.len().saturating_sub(2)).unwrap_or_default();
    let mut dims = if draft.smith.choices.chance(50) { batch.to_vec() } else { Vec::new() };
    dims.push(inner);
    if !dims.len().eq(&1) || draft.smith.choices.chance(80) {
        dims.push(width);
    }
    draft.shaped(&dims)
}

fn product(draft: &mut Draft<'_, '_>) -> Option<()> {
    let first = draft.of_rank(1, 4)?;
    second(draft, &first)?;
    if draft.wants(40) {
        draft.shaped(&[])?;
        if draft.wants(50) {
            draft.shaped(&[])?;
        }
    }
    Some(())
}

fn quantized_product(draft: &mut Draft<'_, '_>) -> Option<()> {
    let first = draft.of_rank(2, 3)?;
    draft.shaped(&[])?;
    draft.shaped(&[])?;
    let mut dims = vec![*first.last()?];
    dims.extend(draft.smith.dims(1));
    draft.shaped(&dims)?;
    for _ in 0..4 {
        draft.shaped(&[])?;
    }
    Some(())
}
