//! Every tensor of a model, with its place.

use std::sync::Arc;

use onnx_types::tensor::Tensor;

use crate::attr::{AttrValue, Attribute};
use crate::changes::Aspects;
use crate::constant::{Constant, SparseTensor};
use crate::entity::{FunctionId, NodeId, ValueId};
use crate::model::Model;

/// The owner of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TensorHolder {
    /// An initializer.
    Initializer(ValueId),
    /// An attribute of a node, by its position.
    Attribute(NodeId, usize),
    /// An attribute default of a function, by its position.
    Default(FunctionId, usize),
}

/// Which part of its holder a tensor is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TensorPart {
    /// A dense tensor.
    Dense,
    /// The values of a sparse tensor.
    SparseValues,
    /// The indices of a sparse tensor.
    SparseIndices,
}

/// The site of a tensor in its model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TensorPlace {
    /// Its owner.
    pub holder: TensorHolder,
    /// The position among the tensors of a list attribute; 0 elsewhere.
    pub element: usize,
    /// Which part it is.
    pub part: TensorPart,
}

/// A function that gives tensors their replacements.
type Replace<'a> = dyn FnMut(TensorPlace, &Tensor) -> Option<Tensor> + 'a;

impl Model {
    /// Calls `visit` with every tensor of the model: initializers and attributes of all graphs (nested ones, functions and
    /// training included, detached ones not), attribute defaults of functions, and both parts of sparse tensors.
    ///
    /// Graph by graph, initializers come first, in file order, and then attributes in the order of nodes; attribute
    /// defaults come last. A tensor that several places share is visited once for each.
    pub fn for_each_tensor<'a>(&'a self, mut visit: impl FnMut(TensorPlace, &'a Tensor)) {
        for graph in self.all_graphs() {
            for value in self.initializers(graph) {
                let holder = TensorHolder::Initializer(value);
                match self.values[value].constant.as_deref() {
                    Some(Constant::Dense(tensor)) => {
                        visit(TensorPlace { holder, element: 0, part: TensorPart::Dense }, tensor);
                    }
                    Some(Constant::Sparse(sparse)) => visit_sparse(holder, 0, sparse, &mut visit),
                    None => {}
                }
            }
            for node in self.nodes(graph) {
                for (position, attribute) in self.nodes[node].attributes.iter().enumerate() {
                    visit_attribute(TensorHolder::Attribute(node, position), attribute, &mut visit);
                }
            }
        }
        for &function in &self.function_order {
            for (position, default) in self.functions[function].defaults.iter().enumerate() {
                visit_attribute(TensorHolder::Default(function, position), default, &mut visit);
            }
        }
    }

    /// Replaces tensors: calls `replace` with every tensor, as [`Model::for_each_tensor`] does, and puts what it returns in
    /// its place. Contents that are shared with a clone of the model are not changed there.
    pub fn replace_tensors(&mut self, mut replace: impl FnMut(TensorPlace, &Tensor) -> Option<Tensor>) {
        let graphs: Vec<_> = self.all_graphs().collect();
        for graph in graphs {
            let values: Vec<ValueId> = self.initializers(graph).collect();
            for value in values {
                if let Some(constant) = &mut self.values[value].constant {
                    let new = replace_constant(TensorHolder::Initializer(value), constant, &mut replace);
                    self.changes.record(value, Aspects::CONSTANT.when(new));
                }
            }
            let mut at = self.graphs[graph].first;
            while let Some(node) = at {
                for (position, attribute) in self.nodes[node].attributes.iter_mut().enumerate() {
                    let holder = TensorHolder::Attribute(node, position);
                    let new = replace_attribute(holder, attribute, &mut replace);
                    self.changes.record(node, Aspects::OPERATOR.when(new));
                }
                at = self.nodes[node].next;
            }
        }
        for &function in &self.function_order {
            for (position, default) in self.functions[function].defaults.iter_mut().enumerate() {
                let new = replace_attribute(TensorHolder::Default(function, position), default, &mut replace);
                self.changes.record(function, Aspects::INTERFACE.when(new));
            }
        }
    }
}

fn visit_attribute<'a>(
    holder: TensorHolder,
    attribute: &'a Attribute,
    visit: &mut impl FnMut(TensorPlace, &'a Tensor),
) {
    let dense = |element| TensorPlace { holder, element, part: TensorPart::Dense };
    match attribute.value() {
        AttrValue::Tensor(tensor) => visit(dense(0), tensor),
        AttrValue::Tensors(tensors) => {
            tensors.iter().enumerate().for_each(|(element, tensor)| visit(dense(element), tensor));
        }
        AttrValue::SparseTensor(sparse) => visit_sparse(holder, 0, sparse, visit),
        AttrValue::SparseTensors(list) => {
            list.iter()
                .enumerate()
                .for_each(|(element, sparse)| visit_sparse(holder, element, sparse, visit));
        }
        _ => {}
    }
}

fn visit_sparse<'a>(
    holder: TensorHolder,
    element: usize,
    sparse: &'a SparseTensor,
    visit: &mut impl FnMut(TensorPlace, &'a Tensor),
) {
    if let Some(values) = &sparse.values {
        visit(TensorPlace { holder, element, part: TensorPart::SparseValues }, values);
    }
    if let Some(indices) = &sparse.indices {
        visit(TensorPlace { holder, element, part: TensorPart::SparseIndices }, indices);
    }
}

/// Returns `true` if the constant was replaced.
fn replace_constant(holder: TensorHolder, constant: &mut Arc<Constant>, replace: &mut Replace<'_>) -> bool {
    let new = match constant.as_ref() {
        Constant::Dense(tensor) => {
            replace(TensorPlace { holder, element: 0, part: TensorPart::Dense }, tensor).map(Constant::Dense)
        }
        Constant::Sparse(sparse) => replaced_sparse(holder, 0, sparse, replace).map(Constant::Sparse),
    };
    set_some(constant, new)
}

fn set_some<T>(slot: &mut Arc<T>, new: Option<T>) -> bool {
    let is_new = new.is_some();
    if let Some(new) = new {
        *slot = Arc::new(new);
    }
    is_new
}

/// Returns `true` if a tensor of the attribute was replaced.
fn replace_attribute(holder: TensorHolder, attribute: &mut Attribute, replace: &mut Replace<'_>) -> bool {
    let dense = |element| TensorPlace { holder, element, part: TensorPart::Dense };
    let mut replaced = false;
    match attribute.value_mut() {
        AttrValue::Tensor(tensor) => {
            let new = replace(dense(0), tensor);
            replaced = set_some(tensor, new);
        }
        AttrValue::Tensors(tensors) => {
            for (element, tensor) in tensors.iter_mut().enumerate() {
                let new = replace(dense(element), tensor);
                replaced |= set_some(tensor, new);
            }
        }
        AttrValue::SparseTensor(sparse) => {
            let new = replaced_sparse(holder, 0, sparse, replace);
            replaced = set_some(sparse, new);
        }
        AttrValue::SparseTensors(list) => {
            for (element, sparse) in list.iter_mut().enumerate() {
                let new = replaced_sparse(holder, element, sparse, replace);
                replaced |= set_some(sparse, new);
            }
        }
        _ => {}
    }
    replaced
}

fn replaced_sparse(
    holder: TensorHolder,
    element: usize,
    sparse: &SparseTensor,
    replace: &mut Replace<'_>,
) -> Option<SparseTensor> {
    let mut ask = |tensor: &Option<Tensor>, part| {
        tensor.as_ref().and_then(|tensor| replace(TensorPlace { holder, element, part }, tensor))
    };
    let values = ask(&sparse.values, TensorPart::SparseValues);
    let indices = ask(&sparse.indices, TensorPart::SparseIndices);
    if values.is_none() && indices.is_none() {
        return None;
    }
    let mut new = sparse.clone();
    if values.is_some() {
        new.values = values;
    }
    if indices.is_some() {
        new.indices = indices;
    }
    Some(new)
}
