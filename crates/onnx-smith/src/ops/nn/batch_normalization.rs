//! Recipe of `BatchNormalization`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::family::channels::channels;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::BATCH_NORMALIZATION], batch_normalization)];

fn batch_normalization(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = channels(draft, 2)?;
    for _ in 0..4 {
        draft.shaped(&[*dims.get(1)?])?;
    }
    // Early versions have a mode for training that nothing but an attribute tells from the other.
    draft.leave(&[attr::TRAINING_MODE, attr::IS_TEST, attr::CONSUMED_INPUTS, attr::SPATIAL]);
    if draft.since() < 7 {
        draft.set(attr::IS_TEST, 1_i64);
    }
    if draft.schema.attribute(attr::CONSUMED_INPUTS).is_some_and(|formal| formal.is_required) {
        draft.set(attr::CONSUMED_INPUTS, [0, 0, 0, 1, 1]);
    }
    draft.make(1);
    if draft.smith.choices.chance(30) && draft.schema.attribute(attr::TRAINING_MODE).is_some() {
        draft.set(attr::TRAINING_MODE, 1_i64);
        draft.make(3);
    }
    Some(())
}
