//! Recipe of `Gradient`.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::GRADIENT], gradient)];

/// The derivatives of a value by the operands.
fn gradient(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.prefer(&[ElemType::Float])?;
    draft.any()?;
    let name = draft.operand_name(0)?;
    draft.set_strings(attr::XS, [name.as_str()]);
    draft.set(attr::Y, name.as_str());
    draft.leave(&[attr::ZS]);
    draft.make(1);
    Some(())
}
