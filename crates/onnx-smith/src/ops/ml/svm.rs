//! Recipe of `SVMClassifier` and `SVMRegressor`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::family::samples::{labels, samples};
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::SVM_CLASSIFIER, op::SVM_REGRESSOR], support_vectors)];

fn support_vectors(draft: &mut Draft<'_, '_>) -> Option<()> {
    let features = usize::try_from(samples(draft)?).ok()?;
    let is_classifier = draft.schema.op() == op::SVM_CLASSIFIER;
    draft.set_floats(attr::SUPPORT_VECTORS, 2 * features);
    draft.set_floats(attr::COEFFICIENTS, 2);
    draft.set_floats(attr::RHO, 1);
    draft.set(attr::KERNEL_TYPE, "LINEAR");
    draft.set(attr::N_SUPPORTS, 2_i64);
    draft.leave(&[attr::POST_TRANSFORM, attr::ONE_CLASS]);
    if is_classifier {
        labels(draft, 2);
        draft.set(attr::VECTORS_PER_CLASS, [1, 1]);
        draft.make(2);
    }
    Some(())
}
