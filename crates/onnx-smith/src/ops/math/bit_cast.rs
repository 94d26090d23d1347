//! Recipe of `BitCast`.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::BIT_CAST], bit_cast)];

/// To a type of the same width.
fn bit_cast(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    let bits = draft.ty(0)?.elem().bits()?;
    for _ in 0..12 {
        let code = draft.elem_code(0)?;
        if ElemType::from_code(i32::try_from(code).ok()?).and_then(ElemType::bits) == Some(bits) {
            draft.set(attr::TO, code);
            return Some(());
        }
    }
    None
}
