//! Recipe of `MelWeightMatrix`.

use onnx_schema::op;
use onnx_types::ElemType;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::MEL_WEIGHT_MATRIX], mel)];

fn mel(draft: &mut Draft<'_, '_>) -> Option<()> {
    for number in [4, 16, 8000, 0, 4000] {
        if draft.count() == 0 {
            draft.prefer(&[ElemType::Int64, ElemType::Int32])?;
        } else if draft.count() == 3 {
            draft.prefer(&[ElemType::Float, ElemType::Double])?;
        }
        draft.scalar(number)?;
    }
    Some(())
}
