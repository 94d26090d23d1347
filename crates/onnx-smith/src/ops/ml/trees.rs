//! Recipe of `TreeEnsembleClassifier` and `TreeEnsembleRegressor`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::family::samples::{labels, samples};
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] =
    &[row(&[op::TREE_ENSEMBLE_CLASSIFIER, op::TREE_ENSEMBLE_REGRESSOR], trees)];

/// One tree of a branch and two leaves.
fn trees(draft: &mut Draft<'_, '_>) -> Option<()> {
    samples(draft)?;
    draft.set(attr::NODES_TREEIDS, [0, 0, 0]);
    draft.set(attr::NODES_NODEIDS, [0, 1, 2]);
    draft.set(attr::NODES_FEATUREIDS, [0, 0, 0]);
    draft.set_strings(attr::NODES_MODES, ["BRANCH_LEQ", "LEAF", "LEAF"]);
    draft.set(attr::NODES_TRUENODEIDS, [1, 0, 0]);
    draft.set(attr::NODES_FALSENODEIDS, [2, 0, 0]);
    draft.set_floats(attr::NODES_VALUES, 3);
    draft.leave(&[attr::POST_TRANSFORM, attr::AGGREGATE_FUNCTION]);
    if draft.schema.op() == op::TREE_ENSEMBLE_REGRESSOR {
        draft.set(attr::N_TARGETS, 1_i64);
        draft.set(attr::TARGET_TREEIDS, [0, 0]);
        draft.set(attr::TARGET_NODEIDS, [1, 2]);
        draft.set(attr::TARGET_IDS, [0, 0]);
        draft.set_floats(attr::TARGET_WEIGHTS, 2);
        return Some(());
    }
    labels(draft, 2);
    draft.set(attr::CLASS_TREEIDS, [0, 0]);
    draft.set(attr::CLASS_NODEIDS, [1, 2]);
    draft.set(attr::CLASS_IDS, [0, 1]);
    draft.set_floats(attr::CLASS_WEIGHTS, 2);
    draft.make(2);
    Some(())
}
