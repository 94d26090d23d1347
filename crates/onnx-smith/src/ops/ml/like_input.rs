//! Recipes of `Imputer`, `Scaler` and `Normalizer`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::family::samples::samples;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] =
    &[row(&[op::IMPUTER], imputer), row(&[op::SCALER], scaler), row(&[op::NORMALIZER], normalizer)];

fn imputer(draft: &mut Draft<'_, '_>) -> Option<()> {
    samples(draft)?;
    if draft.ty(0)?.elem().is_integer() {
        draft.set(attr::IMPUTED_VALUE_INT64S, [1]);
    } else {
        draft.set(attr::IMPUTED_VALUE_FLOATS, vec![1.0_f32]);
    }
    draft.leave(&[attr::REPLACED_VALUE_INT64, attr::REPLACED_VALUE_FLOAT]);
    Some(())
}

fn scaler(draft: &mut Draft<'_, '_>) -> Option<()> {
    let features = usize::try_from(samples(draft)?).ok()?;
    draft.set_floats(attr::SCALE, features);
    draft.set_floats(attr::OFFSET, features);
    Some(())
}

fn normalizer(draft: &mut Draft<'_, '_>) -> Option<()> {
    samples(draft).map(drop)
}
