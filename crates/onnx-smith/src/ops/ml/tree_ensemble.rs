//! Recipe of `TreeEnsemble`.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::draft::Draft;
use crate::elements;
use crate::family::samples::samples;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::TREE_ENSEMBLE], ensemble)];

/// One tree of a branch and two leaves, as the newest operator writes it.
fn ensemble(draft: &mut Draft<'_, '_>) -> Option<()> {
    samples(draft)?;
    let elem = draft.ty(0)?.elem();
    draft.set(attr::TREE_ROOTS, [0]);
    draft.set(attr::N_TARGETS, 1_i64);
    draft.set(attr::NODES_FEATUREIDS, [0]);
    draft.set(attr::NODES_MODES, elements::tensor(ElemType::Uint8, &[1], &[0])?);
    draft.set(attr::NODES_SPLITS, elements::tensor(elem, &[1], &[1])?);
    draft.set(attr::NODES_TRUENODEIDS, [0]);
    draft.set(attr::NODES_FALSENODEIDS, [1]);
    draft.set(attr::NODES_TRUELEAFS, [1]);
    draft.set(attr::NODES_FALSELEAFS, [1]);
    draft.set(attr::LEAF_TARGETIDS, [0, 0]);
    draft.set(attr::LEAF_WEIGHTS, elements::tensor(elem, &[2], &[1, 2])?);
    draft.leave(&[attr::AGGREGATE_FUNCTION, attr::POST_TRANSFORM]);
    Some(())
}
