//! Every tensor of a model, and how to replace some of them.

use std::sync::Arc;

use onnx_ir::{
    AttrExtra, AttrValue, Attribute, Constant, EditError, FunctionId, GraphId, Model, NodeId, SparseTensor,
    ValueId,
};
use onnx_types::Symbol;
use onnx_types::tensor::Tensor;

/// The owner of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// An initializer.
    Initializer(GraphId, ValueId),
    /// The attribute of a node at a position.
    Attribute(NodeId, usize),
    /// The attribute default of a function at a position.
    Default(FunctionId, usize),
}

/// Which tensor of its holder it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The dense tensor at a position of a list, or the only one.
    Dense(usize),
    /// The values of the sparse tensor at a position.
    Values(usize),
    /// The indices of the sparse tensor at a position.
    Indices(usize),
}

/// The site of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) holder: Holder,
    pub(crate) part: Part,
}

impl Place {
    /// Whether it is a dense initializer.
    pub(crate) fn is_dense_initializer(self) -> bool {
        matches!((self.holder, self.part), (Holder::Initializer(..), Part::Dense(_)))
    }

    /// The place in words, for messages.
    pub(crate) fn describe(self, model: &Model) -> String {
        let text = |symbol: Symbol| model.str(symbol).escape_debug().to_string();
        let of_graph = |graph: GraphId| format!("graph `{}`", text(model.graph(graph).name()));
        let holder = match self.holder {
            Holder::Initializer(graph, value) => {
                format!("initializer `{}` of {}", text(model.value(value).name()), of_graph(graph))
            }
            Holder::Attribute(node, index) => {
                let record = model.node(node);
                let attribute = record.attributes().get(index).map(Attribute::name).unwrap_or_default();
                let (op, name) = (text(record.op()), text(record.name()));
                format!(
                    "attribute `{}` of node {op} `{name}` in {}",
                    text(attribute),
                    of_graph(record.graph())
                )
            }
            Holder::Default(function, index) => {
                let record = model.function(function);
                let attribute = record.defaults.get(index).map(Attribute::name).unwrap_or_default();
                format!("attribute `{}` of function `{}`", text(attribute), text(record.name()))
            }
        };
        match self.part {
            Part::Dense(0) => holder,
            Part::Dense(index) => format!("tensor #{index} of {holder}"),
            Part::Values(_) => format!("values of {holder}"),
            Part::Indices(_) => format!("indices of {holder}"),
        }
    }
}

/// Calls `visit` for every tensor of the model, in an order that depends only on the model: initializers, sparse ones
/// included, and attributes, in the main graph, training graphs, function bodies and all graphs nested in them, and
/// attribute defaults of functions.
pub(crate) fn for_each_tensor<'m>(model: &'m Model, mut visit: impl FnMut(Place, &'m Tensor)) {
    let mut graphs = vec![model.main_graph()];
    for training in &model.info().training {
        graphs.extend(training.initialization.into_iter().chain(training.algorithm));
    }
    for &id in model.functions() {
        let function = model.function(id);
        graphs.push(function.body());
        for (index, attribute) in function.defaults.iter().enumerate() {
            visit_attribute(attribute, Holder::Default(id, index), &mut visit);
            graphs.extend(attribute.value().graphs());
        }
    }
    // Nested graphs are appended while the list is walked, so that no nesting deepens the stack.
    let mut next = 0;
    while let Some(&graph) = graphs.get(next) {
        next = next.saturating_add(1);
        for value in model.initializers(graph) {
            if let Some(constant) = model.value(value).initializer() {
                visit_constant(constant, Holder::Initializer(graph, value), &mut visit);
            }
        }
        for node in model.nodes(graph) {
            for (index, attribute) in model.node(node).attributes().iter().enumerate() {
                visit_attribute(attribute, Holder::Attribute(node, index), &mut visit);
                graphs.extend(attribute.value().graphs());
            }
        }
    }
}

fn visit_constant<'m>(constant: &'m Constant, holder: Holder, visit: &mut impl FnMut(Place, &'m Tensor)) {
    match constant {
        Constant::Dense(tensor) => visit(Place { holder, part: Part::Dense(0) }, tensor),
        Constant::Sparse(sparse) => visit_sparse(sparse, holder, 0, visit),
    }
}

fn visit_sparse<'m>(
    sparse: &'m SparseTensor,
    holder: Holder,
    index: usize,
    visit: &mut impl FnMut(Place, &'m Tensor),
) {
    if let Some(values) = &sparse.values {
        visit(Place { holder, part: Part::Values(index) }, values);
    }
    if let Some(indices) = &sparse.indices {
        visit(Place { holder, part: Part::Indices(index) }, indices);
    }
}

fn visit_attribute<'m>(attribute: &'m Attribute, holder: Holder, visit: &mut impl FnMut(Place, &'m Tensor)) {
    match attribute.value() {
        AttrValue::Tensor(tensor) => visit(Place { holder, part: Part::Dense(0) }, tensor),
        AttrValue::Tensors(tensors) => {
            for (index, tensor) in tensors.iter().enumerate() {
                visit(Place { holder, part: Part::Dense(index) }, tensor);
            }
        }
        AttrValue::SparseTensor(sparse) => visit_sparse(sparse, holder, 0, visit),
        AttrValue::SparseTensors(list) => {
            for (index, sparse) in list.iter().enumerate() {
                visit_sparse(sparse, holder, index, visit);
            }
        }
        _ => {}
    }
}

/// Replaces tensors at places that [`for_each_tensor`] showed, in the order in which it showed them. The model must not
/// have changed in between.
pub(crate) fn replace_tensors(
    model: &mut Model,
    replacements: Vec<(Place, Tensor)>,
) -> Result<(), EditError> {
    let mut rest = replacements.into_iter().peekable();
    while let Some((place, tensor)) = rest.next() {
        let mut parts = vec![(place.part, tensor)];
        while let Some((place, tensor)) = rest.next_if(|(next, _)| next.holder == place.holder) {
            parts.push((place.part, tensor));
        }
        replace_in(model, place.holder, parts)?;
    }
    Ok(())
}

fn replace_in(model: &mut Model, holder: Holder, parts: Vec<(Part, Tensor)>) -> Result<(), EditError> {
    match holder {
        Holder::Initializer(graph, value) => {
            let Some(old) = model.value(value).initializer() else { return Ok(()) };
            let mut constant = Constant::clone(old);
            for (part, tensor) in parts {
                match &mut constant {
                    Constant::Dense(slot) => *slot = tensor,
                    Constant::Sparse(sparse) => put(sparse, part, tensor),
                }
            }
            model.set_initializer(graph, value, Some(Arc::new(constant)));
        }
        Holder::Attribute(node, index) => {
            let Some(old) = model.node(node).attributes().get(index) else { return Ok(()) };
            let attribute = with_tensors(old, parts);
            model.replace_attribute(node, index, attribute)?;
        }
        Holder::Default(function, index) => {
            let Some(old) = model.function(function).defaults.get(index) else { return Ok(()) };
            let default = with_tensors(old, parts);
            model.replace_function_default(function, index, default)?;
        }
    }
    Ok(())
}

/// The attribute with some of its tensors replaced and everything else as it was.
fn with_tensors(old: &Attribute, parts: Vec<(Part, Tensor)>) -> Attribute {
    let mut value = old.value().clone();
    for (part, tensor) in parts {
        match (&mut value, part) {
            (AttrValue::Tensor(slot), _) => *slot = Arc::new(tensor),
            (AttrValue::Tensors(slots), Part::Dense(index)) => {
                if let Some(slot) = slots.get_mut(index) {
                    *slot = Arc::new(tensor);
                }
            }
            (AttrValue::SparseTensor(sparse), part) => put(Arc::make_mut(sparse), part, tensor),
            (AttrValue::SparseTensors(list), Part::Values(index) | Part::Indices(index)) => {
                if let Some(sparse) = list.get_mut(index) {
                    put(Arc::make_mut(sparse), part, tensor);
                }
            }
            _ => {}
        }
    }
    let extra = AttrExtra::boxed(old.doc(), old.unknown().to_vec());
    Attribute::from_parts(old.name(), value, old.declared_kind(), old.forms(), extra)
}

fn put(sparse: &mut SparseTensor, part: Part, tensor: Tensor) {
    match part {
        Part::Indices(_) => sparse.indices = Some(tensor),
        Part::Values(_) | Part::Dense(_) => sparse.values = Some(tensor),
    }
}
