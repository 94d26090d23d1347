//! `TreeEnsembleClassifier` and `TreeEnsembleRegressor`: trees for each row of features.
//!
//! From version 3 on, the input must be a matrix. Before, nothing says so, but inputs of more than two dimensions do not
//! run: the outputs are what they are for others. For version 1 the reference infers no shapes, and nothing for version 5,
//! which is deprecated. Lists that are given as attributes and as tensors are a fault from version 3 on.

use onnx_schema::{attr, domain, op};
use onnx_types::{Dim, Symbol};

use super::{labels, rows, size};
use crate::cx::{Cx, Outcome};
use crate::fault::{BAD_ATTRIBUTE, MISSING};
use crate::registry::{OpRules, infer, since};

pub(super) const CLASSIFIER: OpRules = infer(
    op::TREE_ENSEMBLE_CLASSIFIER,
    &[since(1, classifier), since(3, |cx| matrix(cx, either_classifier)), since(5, either_classifier)],
)
.of(domain::ML);
pub(super) const REGRESSOR: OpRules = infer(
    op::TREE_ENSEMBLE_REGRESSOR,
    &[since(1, regressor), since(3, |cx| matrix(cx, either_regressor)), since(5, either_regressor)],
)
.of(domain::ML);

/// Checks that the input is a matrix, then applies `rule`.
pub(super) fn matrix(cx: &mut Cx<'_, '_>, rule: fn(&mut Cx<'_, '_>) -> Outcome) -> Outcome {
    if cx.rank(0).is_ok() {
        cx.shape_of_rank(0, 2)?;
    }
    rule(cx)
}

fn either_classifier(cx: &mut Cx<'_, '_>) -> Outcome {
    either(cx, (attr::CLASS_WEIGHTS, attr::CLASS_WEIGHTS_AS_TENSOR))?;
    if labels(cx, attr::CLASSLABELS_INT64S, attr::CLASSLABELS_STRINGS)? == 0 {
        return Err(cx.fail(&MISSING, "one of `classlabels_int64s` and `classlabels_strings` is needed"));
    }
    classifier(cx)
}

fn either_regressor(cx: &mut Cx<'_, '_>) -> Outcome {
    either(cx, (attr::TARGET_WEIGHTS, attr::TARGET_WEIGHTS_AS_TENSOR))?;
    regressor(cx)
}

/// Checks that no list is given as an attribute and as a tensor: "All fields ending with `_as_tensor` can be used instead of the same
/// parameter without the suffix".
fn either(cx: &mut Cx<'_, '_>, weights: (Symbol, Symbol)) -> Outcome {
    let lists = [
        (attr::NODES_VALUES, attr::NODES_VALUES_AS_TENSOR),
        (attr::NODES_HITRATES, attr::NODES_HITRATES_AS_TENSOR),
        (attr::BASE_VALUES, attr::BASE_VALUES_AS_TENSOR),
        weights,
    ];
    for (list, tensor) in lists {
        if cx.has_attribute(list) && cx.has_attribute(tensor) {
            let [list, tensor] = [list, tensor].map(|name| cx.names().resolve(name).to_owned());
            let message = format_args!("attributes `{list}` and `{tensor}` exclude each other");
            return Err(cx.fail(&BAD_ATTRIBUTE, message));
        }
    }
    Ok(())
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
