//! `SVMRegressor` and `SVMClassifier`: support vectors for each row of features.
//!
//! A classifier of more than three classes has a score for each pair of classes or for each class, by what it was trained
//! for; so their number is not guessed there. The reference infers no shapes.

use onnx_schema::{attr, domain, op};
use onnx_types::Dim;

use super::{labels, rows, size};
use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const REGRESSOR: OpRules = infer(op::SVM_REGRESSOR, &[since(1, regressor)]).of(domain::ML);
pub(super) const CLASSIFIER: OpRules = infer(op::SVM_CLASSIFIER, &[since(1, classifier)]).of(domain::ML);

fn regressor(cx: &mut Cx<'_, '_>) -> Outcome {
    let rows = rows(cx)?;
    cx.set_shape(0, [rows, Dim::Known(1)]);
    Ok(())
}

fn classifier(cx: &mut Cx<'_, '_>) -> Outcome {
    let labels = labels(cx, attr::CLASSLABELS_INTS, attr::CLASSLABELS_STRINGS)?;
    let rows = rows(cx)?;
    cx.set_shape(0, [rows]);
    // Three classes have three pairs.
    cx.set_shape(1, [rows, if matches!(labels, 2 | 3) { size(labels) } else { Dim::Unknown }]);
    Ok(())
}
