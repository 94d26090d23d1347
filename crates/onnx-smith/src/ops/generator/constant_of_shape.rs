//! Recipe of `ConstantOfShape`.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::draft::Draft;
use crate::elements;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::CONSTANT_OF_SHAPE], constant_of_shape)];

fn constant_of_shape(draft: &mut Draft<'_, '_>) -> Option<()> {
    let sizes: Vec<i64> = (0..draft.smith.choices.below(4)).map(|_| draft.smith.choices.int(0, 4)).collect();
    if draft.smith.choices.chance(60) {
        let code = i32::try_from(draft.elem_code(0)?).ok()?;
        let value = elements::tensor(ElemType::from_code(code)?, &[1], &[1])?;
        draft.set(attr::VALUE, value);
    }
    draft.vector(&sizes)
}
