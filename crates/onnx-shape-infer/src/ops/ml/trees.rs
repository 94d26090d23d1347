//! `TreeEnsembleClassifier` and `TreeEnsembleRegressor`: trees for each row of features.
//!
//! From version 3 on, the input must be a matrix. Before, nothing says so, but inputs of more than two dimensions do not
//! run: the outputs are what they are for others. For version 1 the reference infers no shapes, and nothing for version 5,
//! which is deprecated.

use onnx_schema::{attr, domain, op};
use onnx_types::Dim;

use super::{labels, rows, size};
use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const CLASSIFIER: OpRules = infer(
    op::TREE_ENSEMBLE_CLASSIFIER,
    &[since(1, classifier), since(3, |cx| matrix(cx, classifier)), since(5, classifier)],
)
.of(domain::ML);
pub(super) const REGRESSOR: OpRules = infer(
    op::TREE_ENSEMBLE_REGRESSOR,
    &[since(1, regressor), since(3, |cx| matrix(cx, regressor)), since(5, regressor)],
)
.of(domain::ML);

/// Checks that the input is a matrix, then applies `rule`.
pub(super) fn matrix(cx: &mut Cx<'_, '_>, rule: fn(&mut Cx<'_, '_>) -> Outcome) -> Outcome {
    if cx.rank(0).is_ok() {
        cx.shape_of_rank(0, 2)?;
    }
    rule(cx)
}

fn classifier(cx: &mut Cx<'_, '_>) -> Outcome {
    let labels = labels(cx, attr::CLASSLABELS_INT64S, attr::CLASSLABELS_STRINGS)?;
    let rows = rows(cx).unwrap_or_default();
    cx.set_shape(0, [rows]);
    cx.set_shape(1, [rows, if labels > 0 { size(labels) } else { Dim::Unknown }]);
    Ok(())
}

pub(super) fn regressor(cx: &mut Cx<'_, '_>) -> Outcome {
    let rows = rows(cx).unwrap_or_default();
    let targets = cx.int(attr::N_TARGETS)?.filter(|&targets| targets > 0);
    cx.set_shape(0, [rows, targets.map_or(Dim::Unknown, Dim::Known)]);
    Ok(())
}
