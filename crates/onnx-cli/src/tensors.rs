//! Every tensor of a model, with its owner.

use onnx_ir::{AttrValue, Attribute, Constant, Model, ValueId};
use onnx_types::tensor::Tensor;

/// The kind of owner of a tensor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// It is an initializer, or part of a sparse one.
    Initializer { value: ValueId, is_sparse: bool },
    /// It is in an attribute of a node, or in an attribute default of a function.
    Attribute,
}

/// Calls `visit` with every tensor of the model.
pub(crate) fn for_each<'a>(model: &'a Model, mut visit: impl FnMut(Place, &'a Tensor)) {
    for graph in model.all_graphs() {
        for value in model.initializers(graph) {
            let Some(constant) = model.value(value).initializer() else { continue };
            match &**constant {
                Constant::Dense(tensor) => visit(Place::Initializer { value, is_sparse: false }, tensor),
                Constant::Sparse(sparse) => {
                    let place = Place::Initializer { value, is_sparse: true };
                    sparse.values.iter().chain(&sparse.indices).for_each(|tensor| visit(place, tensor));
                }
            }
        }
        for node in model.nodes(graph) {
            for attribute in model.node(node).attributes() {
                in_attribute(attribute, &mut |tensor| visit(Place::Attribute, tensor));
            }
        }
    }
    for &function in model.functions() {
        for default in &model.function(function).defaults {
            in_attribute(default, &mut |tensor| visit(Place::Attribute, tensor));
        }
    }
}

fn in_attribute<'a>(attribute: &'a Attribute, visit: &mut dyn FnMut(&'a Tensor)) {
    match attribute.value() {
        AttrValue::Tensor(tensor) => visit(tensor),
        AttrValue::Tensors(tensors) => tensors.iter().for_each(|tensor| visit(tensor)),
        AttrValue::SparseTensor(sparse) => sparse.values.iter().chain(&sparse.indices).for_each(visit),
        AttrValue::SparseTensors(list) => {
            list.iter().flat_map(|sparse| sparse.values.iter().chain(&sparse.indices)).for_each(visit);
        }
        _ => {}
    }
}
