//! Every tensor of a model with the place where it stands.

use onnx_diag::{Locus, Position};
use onnx_ir::{AttrValue, Attribute, Constant, GraphId, Model, NodeId, Origin, Owner, ValueId};
use onnx_types::tensor::Tensor;

/// Where a tensor stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    /// It is an initializer, or part of a sparse one.
    Initializer { graph: GraphId, value: ValueId, is_sparse: bool },
    /// It is in an attribute of a node.
    Attribute { node: NodeId, index: usize, attribute: &'a Attribute },
    /// It is in an attribute default of a function.
    Default,
}

impl Place<'_> {
    /// The place for people.
    pub(crate) fn locus(&self, model: &Model) -> Locus {
        match *self {
            Self::Initializer { graph, value, is_sparse } => {
                let name = model.str(model.value(value).name());
                let locus = graph_locus(model, graph);
                let locus = if is_sparse { locus.sparse_initializer(name) } else { locus.initializer(name) };
                locus.at(position(model.value_origin(value)))
            }
            Self::Attribute { node, index, attribute } => {
                let record = model.node(node);
                graph_locus(model, record.graph())
                    .node(index, model.str(record.op()), model.str(record.name()))
                    .attribute(model.str(attribute.name()))
                    .at(position(model.node_origin(node)))
            }
            Self::Default => Locus::model(),
        }
    }
}

/// The graph alone: the way to a nested one would cost more than it tells, as the byte offset is there.
fn graph_locus(model: &Model, graph: GraphId) -> Locus {
    let record = model.graph(graph);
    match record.owner() {
        Owner::Function(function) => {
            let function = model.function(function);
            Locus::model().function(
                model.str(function.domain()),
                model.str(function.name()),
                model.str(function.overload()),
            )
        }
        _ => Locus::model().graph(model.str(record.name())),
    }
}

fn position(origin: Origin) -> Option<Position> {
    match origin {
        Origin::Byte(offset) => Some(Position::Byte(offset)),
        _ => None,
    }
}

/// Calls `visit` with every tensor of the model.
pub(crate) fn for_each<'a>(model: &'a Model, mut visit: impl FnMut(Place<'a>, &'a Tensor)) {
    for graph in model.all_graphs() {
        for value in model.initializers(graph) {
            let Some(constant) = model.value(value).initializer() else { continue };
            match &**constant {
                Constant::Dense(tensor) => {
                    visit(Place::Initializer { graph, value, is_sparse: false }, tensor)
                }
                Constant::Sparse(sparse) => {
                    let place = Place::Initializer { graph, value, is_sparse: true };
                    sparse.values.iter().chain(&sparse.indices).for_each(|tensor| visit(place, tensor));
                }
            }
        }
        for (index, node) in model.nodes(graph).enumerate() {
            for attribute in model.node(node).attributes() {
                in_attribute(attribute, &mut |tensor| {
                    visit(Place::Attribute { node, index, attribute }, tensor)
                });
            }
        }
    }
    for &function in model.functions() {
        for default in &model.function(function).defaults {
            in_attribute(default, &mut |tensor| visit(Place::Default, tensor));
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
