//! Sizes are halved, wherever they occur.

use std::collections::BTreeSet;
use std::sync::Arc;

use onnx_ir::{Attribute, Constant, Model, NodeId, Owner, ValueId};
use onnx_schema::{attr, op};
use onnx_shape_infer::{InferOptions, MergePolicy, infer};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{Dim, ElemType, Shape, Type, TypeKind};

use super::cut::all_nodes;
use super::parts::all_initializers;
use super::weights::zeros;
use super::{Chosen, Taken};
use crate::sizes::map_dims;

/// Elements of a tensor that is read as sizes.
const MAX_SIZES: usize = 64;

/// Halves sizes of inputs and weights, and the numbers in small integer constants that equal them. Declared types in between are
/// inferred again.
pub(super) fn halve(model: &mut Model, chosen: Chosen) -> Taken {
    let all: Vec<i64> = sizes(model).into_iter().rev().collect();
    let mut taken = Taken { all: all.len(), gone: 0 };
    let picked: BTreeSet<i64> = (0..all.len())
        .filter(|&index| chosen.contains(index))
        .filter_map(|index| all.get(index).copied())
        .collect();
    if picked.is_empty() {
        return taken;
    }
    taken.gone = picked.len();
    let new = |size: i64| if picked.contains(&size) { size / 2 } else { size };
    resize_inputs(model, &new);
    for (graph, value) in all_initializers(model) {
        if let Some(tensor) = model.value(value).initializer().and_then(|constant| constant.dense())
            && let Some(tensor) = resized(tensor, &new)
        {
            model.set_initializer(graph, value, Some(Arc::new(Constant::Dense(tensor))));
        }
    }
    for node in all_nodes(model) {
        resize_constant(model, node, &new);
    }
    infer_again(model);
    taken
}

/// The sizes from 2 of inputs and weights.
fn sizes(model: &Model) -> BTreeSet<i64> {
    let mut sizes = BTreeSet::new();
    for &input in model.graph(model.main_graph()).inputs() {
        let dims = model.ty(input).and_then(Type::shape).map(Shape::dims).unwrap_or_default();
        sizes.extend(dims.iter().filter_map(|dim| dim.known()));
    }
    for (_, value) in all_initializers(model) {
        let tensor = model.value(value).initializer().and_then(|constant| constant.dense());
        sizes.extend(tensor.map(|tensor| tensor.dims().to_vec()).unwrap_or_default());
    }
    sizes.retain(|&size| size >= 2);
    sizes
}

fn resize_inputs(model: &mut Model, new: &dyn Fn(i64) -> i64) {
    for input in model.graph(model.main_graph()).inputs().to_vec() {
        let Some(ty) = model.ty(input) else { continue };
        let Some(shape) = ty.shape() else { continue };
        let dims =
            shape.dims().iter().copied().map(|dim| dim.known().map_or(dim, |size| Dim::Known(new(size))));
        let dims: Vec<Dim> = dims.collect();
        if dims != shape.dims() && matches!(ty.kind, TypeKind::Tensor(_)) {
            let ty = Type::tensor(ty.elem(), Some(dims.into_iter().collect()));
            model.set_type(input, Some(ty));
        }
    }
}

/// A tensor of new sizes, and with new elements if it holds sizes; `None` if nothing changes.
fn resized(tensor: &Tensor, new: &dyn Fn(i64) -> i64) -> Option<Tensor> {
    let dims: Vec<i64> = tensor.dims().iter().map(|&dim| new(dim)).collect();
    if dims != tensor.dims() {
        return zeros(tensor.elem(), &dims);
    }
    if tensor.elem() != ElemType::Int64 || tensor.rank() > 1 {
        return None;
    }
    let elements = tensor.get_i64s(&NoData, MAX_SIZES).ok()?;
    let changed: Vec<i64> = elements.iter().map(|&element| new(element)).collect();
    if changed == elements {
        return None;
    }
    Some(match (tensor.rank(), changed.as_slice()) {
        (0, &[element]) => Tensor::scalar(element),
        _ => Tensor::vector(&changed),
    })
}

/// Changes the tensor of a `Constant`.
fn resize_constant(model: &mut Model, node: NodeId, new: &dyn Fn(i64) -> i64) {
    let record = model.node(node);
    if !record.is(op::CONSTANT) || record.attribute(attr::VALUE).is_none() {
        return;
    }
    if let Some(tensor) = record.constant_tensor().and_then(|tensor| resized(&tensor, new)) {
        // It does not fail: the node is of this model, and the attribute has no graph.
        let _ = model.set_attribute(node, Attribute::new(attr::VALUE, tensor));
    }
}

/// Replaces the declared types of the results of nodes by the inferred types, and the sizes that inputs of nested graphs declare
/// by the inferred sizes.
fn infer_again(model: &mut Model) {
    let made: Vec<ValueId> = all_nodes(model)
        .into_iter()
        .flat_map(|node| model.node(node).outputs().iter().flatten().copied())
        .collect();
    let declared: Vec<Option<Type>> = made.iter().map(|&value| model.ty(value).cloned()).collect();
    for &value in &made {
        model.set_type(value, None::<Type>);
    }
    for value in nested_inputs(model) {
        if let Some(open) = model.ty(value).map(without_sizes) {
            model.set_type(value, Some(open));
        }
    }
    let mut inference = infer(model, &InferOptions::default());
    // A candidate without these types is tried, too.
    let _ = inference.apply(model, MergePolicy::Refine);
    for (value, ty) in made.into_iter().zip(declared) {
        // If inference does not know the type, the element type is kept.
        if model.ty(value).is_none()
            && let Some(ty) = ty
        {
            let ty = match ty.kind {
                TypeKind::Tensor(tensor) => Type::tensor(tensor.elem, None),
                _ => without_sizes(&ty),
            };
            model.set_type(value, Some(ty));
        }
    }
}

/// The inputs of the graphs of nodes.
fn nested_inputs(model: &Model) -> Vec<ValueId> {
    let graphs = model.all_graphs().filter(|&graph| matches!(model.graph(graph).owner(), Owner::Node(_)));
    graphs.flat_map(|graph| model.graph(graph).inputs().iter().copied()).collect()
}

/// A type without the sizes that halving can change. Its rank stays: an input of a graph can be a scalar or a vector of one
/// element because it is declared so.
fn without_sizes(ty: &Type) -> Type {
    let open = |_, dim: Dim| if dim.known().is_some_and(|size| size >= 2) { Dim::Unknown } else { dim };
    map_dims(ty, open).unwrap_or_else(|| ty.clone())
}
