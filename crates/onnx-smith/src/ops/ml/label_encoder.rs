//! Recipe of `LabelEncoder`.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::draft::Draft;
use crate::family::samples::WORDS;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::LABEL_ENCODER], label_encoder)];

fn label_encoder(draft: &mut Draft<'_, '_>) -> Option<()> {
    if draft.since() < 2 {
        draft.any()?;
        draft.set_strings(attr::CLASSES_STRINGS, WORDS);
        return Some(());
    }
    draft.prefer(&[ElemType::String, ElemType::Int64, ElemType::Float])?;
    draft.any()?;
    match draft.ty(0)?.elem() {
        ElemType::String => draft.set_strings(attr::KEYS_STRINGS, WORDS),
        ElemType::Int64 => draft.set(attr::KEYS_INT64S, [0, 1, 2]),
        _ => draft.set_floats(attr::KEYS_FLOATS, 3),
    }
    match draft.smith.choices.below(3) {
        0 => draft.set_strings(attr::VALUES_STRINGS, WORDS),
        1 => draft.set(attr::VALUES_INT64S, [3, 4, 5]),
        _ => draft.set_floats(attr::VALUES_FLOATS, 3),
    }
    Some(())
}
