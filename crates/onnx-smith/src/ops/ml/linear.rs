//! Recipes of `LinearClassifier` and `LinearRegressor`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::family::samples::{labels, samples};
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] =
    &[row(&[op::LINEAR_CLASSIFIER], linear_classifier), row(&[op::LINEAR_REGRESSOR], linear_regressor)];

fn linear_classifier(draft: &mut Draft<'_, '_>) -> Option<()> {
    let features = usize::try_from(samples(draft)?).ok()?;
    labels(draft, 3);
    draft.set_floats(attr::COEFFICIENTS, 3 * features);
    draft.set_floats(attr::INTERCEPTS, 3);
    draft.leave(&[attr::POST_TRANSFORM, attr::MULTI_CLASS]);
    draft.make(2);
    Some(())
}

fn linear_regressor(draft: &mut Draft<'_, '_>) -> Option<()> {
    let features = usize::try_from(samples(draft)?).ok()?;
    let targets = draft.smith.choices.between(1, 2);
    draft.set(attr::TARGETS, i64::try_from(targets).ok()?);
    draft.set_floats(attr::COEFFICIENTS, targets * features);
    draft.set_floats(attr::INTERCEPTS, targets);
    draft.leave(&[attr::POST_TRANSFORM]);
    Some(())
}
