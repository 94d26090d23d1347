//! Recipe of `FlexAttention`.

use onnx_schema::op;
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::FLEX_ATTENTION], flex_attention)];

fn flex_attention(draft: &mut Draft<'_, '_>) -> Option<()> {
    // The reference refuses values whose rank it does not infer, so these come from nowhere else.
    let dims: Vec<Dim> = (0..4).map(|_| Dim::Known(draft.smith.choices.int(1, 3))).collect();
    for _ in 0..3 {
        draft.fresh(&dims)?;
    }
    Some(())
}
