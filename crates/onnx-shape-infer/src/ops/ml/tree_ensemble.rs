//! `TreeEnsemble`: trees for each row of features.
//!
//! The input must be a matrix. The lists about nodes must have one length, and those about leaves one, as in the reference;
//! splits, weights and members have the type of the input.

use std::sync::Arc;

use onnx_schema::{attr, domain, op};
use onnx_types::tensor::Tensor;
use onnx_types::{ElemType, Symbol};

use super::trees::{matrix, regressor};
use crate::cx::{Cx, Outcome, Stop};
use crate::fault::{BAD_ATTRIBUTE, MISSING, TYPES_DIFFER};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::TREE_ENSEMBLE, &[since(5, |cx| matrix(cx, ensemble))]).of(domain::ML);

fn ensemble(cx: &mut Cx<'_, '_>) -> Outcome {
    let data = cx.elem(0).ok();
    let nodes = needed_vector(cx, attr::NODES_SPLITS, data)?;
    let per_node =
        [attr::NODES_FEATUREIDS, attr::NODES_TRUENODEIDS, attr::NODES_FALSENODEIDS, attr::NODES_TRUELEAFS];
    for name in per_node.into_iter().chain([attr::NODES_FALSELEAFS]) {
        let Some(list) = cx.ints(name)? else { return Err(lacks(cx, name)) };
        same_length(cx, name, list.len(), nodes)?;
    }
    if let Some(list) = cx.ints(attr::NODES_MISSING_VALUE_TRACKS_TRUE)? {
        same_length(cx, attr::NODES_MISSING_VALUE_TRACKS_TRUE, list.len(), nodes)?;
    }
    let modes = needed_vector(cx, attr::NODES_MODES, Some(ElemType::Uint8))?;
    same_length(cx, attr::NODES_MODES, modes, nodes)?;
    if let Some(rates) = vector(cx, attr::NODES_HITRATES, Some(ElemType::Float))? {
        same_length(cx, attr::NODES_HITRATES, rates, nodes)?;
    }
    let leaves = needed_vector(cx, attr::LEAF_WEIGHTS, data)?;
    let Some(targets) = cx.ints(attr::LEAF_TARGETIDS)? else { return Err(lacks(cx, attr::LEAF_TARGETIDS)) };
    same_length(cx, attr::LEAF_TARGETIDS, targets.len(), leaves)?;
    tensor_of(cx, attr::MEMBERSHIP_VALUES, data)?;
    regressor(cx)
}

/// A tensor that must be of this type where one is given.
fn tensor_of<'m>(
    cx: &mut Cx<'_, 'm>,
    name: Symbol,
    elem: Option<ElemType>,
) -> Outcome<Option<&'m Arc<Tensor>>> {
    let Some(tensor) = cx.tensor_attr(name)? else { return Ok(None) };
    if let Some(wanted) = elem.filter(|&wanted| wanted != tensor.elem()) {
        let (found, wanted) = (tensor.elem().name(), wanted.name());
        let name = cx.names().resolve(name).to_owned();
        let message = format_args!("attribute `{name}` is of type {found} where {wanted} is needed");
        return Err(cx.fail(&TYPES_DIFFER, message));
    }
    Ok(Some(tensor))
}

/// The length of a tensor that must be a vector.
fn vector(cx: &mut Cx<'_, '_>, name: Symbol, elem: Option<ElemType>) -> Outcome<Option<usize>> {
    let Some(tensor) = tensor_of(cx, name, elem)? else { return Ok(None) };
    let &[length] = tensor.dims() else {
        let name = cx.names().resolve(name).to_owned();
        return Err(cx.fail(&BAD_ATTRIBUTE, format_args!("attribute `{name}` is not a vector")));
    };
    Ok(usize::try_from(length).ok())
}

fn needed_vector(cx: &mut Cx<'_, '_>, name: Symbol, elem: Option<ElemType>) -> Outcome<usize> {
    vector(cx, name, elem)?.ok_or_else(|| lacks(cx, name))
}

fn lacks(cx: &mut Cx<'_, '_>, name: Symbol) -> Stop {
    let name = cx.names().resolve(name).to_owned();
    cx.fail(&MISSING, format_args!("attribute `{name}` is missing"))
}

fn same_length(cx: &mut Cx<'_, '_>, name: Symbol, found: usize, needed: usize) -> Outcome {
    if found == needed {
        return Ok(());
    }
    let name = cx.names().resolve(name).to_owned();
    let message = format_args!("attribute `{name}` has {found} elements where {needed} are needed");
    Err(cx.fail(&BAD_ATTRIBUTE, message))
}
