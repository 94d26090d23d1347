//! Recipe of `OneHotEncoder`.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::draft::Draft;
use crate::family::samples::WORDS;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::ONE_HOT_ENCODER], one_hot_encoder)];

fn one_hot_encoder(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    if draft.ty(0)?.elem() == ElemType::String {
        draft.set_strings(attr::CATS_STRINGS, WORDS);
    } else {
        draft.set(attr::CATS_INT64S, [0, 1, 2]);
    }
    draft.set(attr::ZEROS, 1_i64);
    Some(())
}
