//! Labels: digests of a node or an initializer by itself, without names and without its neighbors.

use onnx_ir::{AttrValue, Attribute, Callee, Constant, GraphId, Model, NodeId, SparseTensor};
use onnx_ir::{TensorHolder, TensorPart, TensorPlace, ValueId};
use onnx_schema::{Registry, Schema};
use onnx_types::expr::Dialect;
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, Symbol, TensorType, Type, TypeKind};
use smallvec::SmallVec;

use super::contents::Contents;
use super::message::{Digest, Message};

/// Which operands or results are there. Where `is_trimmed`, omitted ones at the end are the same as none.
fn given_ones(all: impl Iterator<Item = bool>, is_trimmed: bool, message: &mut Message) {
    let mut all: SmallVec<[bool; 8]> = all.collect();
    while is_trimmed && all.last() == Some(&false) {
        all.pop();
    }
    message.count(all.len());
    all.iter().for_each(|&is_given| _ = message.byte(is_given.into()));
}

/// Makes labels. With contents, the elements of tensors are part of them; without, only their types and dimensions.
#[derive(Clone, Copy)]
pub(crate) struct Labels<'a> {
    pub(crate) model: &'a Model,
    pub(crate) contents: Option<&'a Contents>,
}

impl Labels<'_> {
    /// Operator, which operands and results are there, attributes that are not the default, and the interfaces of nested
    /// graphs.
    pub(crate) fn node(&self, node: NodeId, message: &mut Message) -> Digest {
        let (model, record) = (self.model, self.model.node(node));
        let callee = model.callee(node, Registry::STANDARD);
        let schema = match callee {
            Callee::Standard(schema) => Some(schema),
            _ => None,
        };
        message.begin("node");
        for name in [record.domain(), record.op(), record.overload()] {
            self.name(name, message);
        }
        let is_function = matches!(callee, Callee::Function(_));
        // The number of results can mean something: `Split` makes as many parts.
        let is_fixed = |schema: &Schema| schema.max_outputs().is_some() && schema.output_counts().is_empty();
        let inputs = record.inputs().map(|input| input.is_some());
        given_ones(inputs, is_function || schema.is_some(), message);
        let outputs = record.outputs().iter().map(Option::is_some);
        given_ones(outputs, is_function || schema.is_some_and(is_fixed), message);
        let given = given(model, record.attributes(), schema);
        message.count(given.len());
        for (position, attribute) in given {
            self.attribute(TensorHolder::Attribute(node, position), attribute, message);
        }
        message.finish()
    }

    /// An initializer. A value without contents has the label of an empty message.
    pub(crate) fn initializer(&self, value: ValueId, message: &mut Message) -> Digest {
        message.begin("initializer");
        if let Some(constant) = self.model.value(value).initializer() {
            self.constant(TensorHolder::Initializer(value), constant, message);
        }
        message.finish()
    }

    fn constant(&self, holder: TensorHolder, constant: &Constant, message: &mut Message) {
        match constant {
            Constant::Dense(tensor) => {
                message.byte(0);
                self.tensor(TensorPlace { holder, element: 0, part: TensorPart::Dense }, tensor, message);
            }
            Constant::Sparse(sparse) => {
                message.byte(1);
                self.sparse(holder, 0, sparse, message);
            }
        }
    }

    /// Name, kind and value of an attribute. Nested graphs are represented by their interfaces.
    pub(crate) fn attribute(&self, holder: TensorHolder, attribute: &Attribute, message: &mut Message) {
        self.name(attribute.name(), message);
        message.signed(attribute.kind().code().into());
        let dense = |element| TensorPlace { holder, element, part: TensorPart::Dense };
        match attribute.value() {
            AttrValue::None => _ = message.byte(0),
            AttrValue::Ref(target) => self.name(*target, message.byte(1)),
            AttrValue::Float(value) => _ = message.byte(2).number(value.to_bits().into()),
            AttrValue::Int(value) => _ = message.byte(2).signed(*value),
            AttrValue::String(value) => _ = message.byte(2).text(value),
            AttrValue::Value(value) => self.named(*value, message.byte(2)),
            AttrValue::Values(values) => {
                message.byte(2).count(values.len());
                values.iter().for_each(|&value| self.named(value, message));
            }
            AttrValue::Floats(values) => {
                message.byte(2).count(values.len());
                values.iter().for_each(|value| _ = message.number(value.to_bits().into()));
            }
            AttrValue::Ints(values) => {
                message.byte(2).count(values.len());
                values.iter().for_each(|value| _ = message.signed(*value));
            }
            AttrValue::Strings(values) => {
                message.byte(2).count(values.len());
                values.iter().for_each(|value| _ = message.text(value));
            }
            AttrValue::Tensor(tensor) => self.tensor(dense(0), tensor, message.byte(2)),
            AttrValue::Tensors(tensors) => {
                message.byte(2).count(tensors.len());
                let tensors = tensors.iter().enumerate();
                tensors.for_each(|(element, tensor)| self.tensor(dense(element), tensor, message));
            }
            AttrValue::SparseTensor(sparse) => self.sparse(holder, 0, sparse, message.byte(2)),
            AttrValue::SparseTensors(list) => {
                message.byte(2).count(list.len());
                let list = list.iter().enumerate();
                list.for_each(|(element, sparse)| self.sparse(holder, element, sparse, message));
            }
            AttrValue::Type(ty) => self.ty(Some(ty), message.byte(2)),
            AttrValue::Types(types) => {
                message.byte(2).count(types.len());
                types.iter().for_each(|ty| self.ty(Some(ty), message));
            }
            value @ (AttrValue::Graph(_) | AttrValue::Graphs(_)) => {
                message.byte(2).count(value.graphs().len());
                value.graphs().iter().for_each(|&graph| self.nested(graph, message));
            }
        }
    }

    /// The name of a value that an attribute names: the content of the attribute is a string.
    fn named(&self, value: ValueId, message: &mut Message) {
        self.name(self.model.value(value).name(), message);
    }

    /// Types of inputs and outputs of a nested graph, and the defaults of inputs.
    fn nested(&self, graph: GraphId, message: &mut Message) {
        let Some(record) = self.model.get_graph(graph) else { return };
        message.count(record.inputs().len());
        for &input in record.inputs() {
            let value = self.model.value(input);
            self.ty(value.ty(), message);
            message.byte(value.initializer().is_some().into());
            if let Some(constant) = value.initializer() {
                self.constant(TensorHolder::Initializer(input), constant, message);
            }
        }
        message.count(record.outputs().len());
        for output in record.outputs() {
            self.ty(declared(self.model, output), message);
        }
    }

    fn tensor(&self, place: TensorPlace, tensor: &Tensor, message: &mut Message) {
        message.signed(tensor.data_type().into()).count(tensor.rank());
        tensor.dims().iter().for_each(|&dim| _ = message.signed(dim));
        if let Some(contents) = self.contents {
            message.digest(contents.of(place));
        }
    }

    fn sparse(&self, holder: TensorHolder, element: usize, sparse: &SparseTensor, message: &mut Message) {
        message.count(sparse.dims.len());
        sparse.dims.iter().for_each(|&dim| _ = message.signed(dim));
        let parts =
            [(TensorPart::SparseValues, &sparse.values), (TensorPart::SparseIndices, &sparse.indices)];
        for (part, tensor) in parts {
            message.byte(tensor.is_some().into());
            if let Some(tensor) = tensor {
                self.tensor(TensorPlace { holder, element, part }, tensor, message);
            }
        }
    }

    /// A type by its kind; denotations are notes.
    pub(crate) fn ty(&self, ty: Option<&Type>, message: &mut Message) {
        let mut at = ty;
        while let Some(ty) = at {
            match &ty.kind {
                TypeKind::Undefined => _ = message.byte(1),
                TypeKind::Tensor(tensor) => self.tensor_type(tensor, message.byte(2)),
                TypeKind::SparseTensor(tensor) => self.tensor_type(tensor, message.byte(3)),
                TypeKind::Sequence(_) => _ = message.byte(4),
                TypeKind::Optional(_) => _ = message.byte(5),
                TypeKind::Map { key, .. } => _ = message.byte(6).signed(key.code().into()),
                TypeKind::Opaque { domain, name } => {
                    message.byte(7);
                    self.name(*domain, message);
                    self.name(*name, message);
                }
            }
            at = ty.inner();
        }
        message.byte(0);
    }

    fn tensor_type(&self, tensor: &TensorType, message: &mut Message) {
        message.signed(tensor.elem.code().into());
        let Some(shape) = &tensor.shape else {
            message.byte(0);
            return;
        };
        message.byte(1).count(shape.rank());
        for &dim in shape.dims() {
            match dim {
                Dim::Unknown => _ = message.byte(0),
                Dim::Known(size) => _ = message.byte(1).signed(size),
                // A file has the text of either.
                Dim::Var(name) => self.name(name, message.byte(2)),
                Dim::Expr(_) => {
                    let text = self.model.exprs().text(dim, self.model.names(), Dialect::Python);
                    message.byte(2).text(text.unwrap_or_default().as_bytes());
                }
            }
        }
    }

    pub(crate) fn name(&self, name: Symbol, message: &mut Message) {
        message.text(self.model.str(name).as_bytes());
    }
}

/// The attributes that are not the default of the operator, in the order of their names, each with its position.
pub(crate) fn given<'a>(
    model: &Model,
    attributes: &'a [Attribute],
    schema: Option<&Schema>,
) -> SmallVec<[(usize, &'a Attribute); 8]> {
    let is_default = |attribute: &Attribute| {
        let default = schema.and_then(|schema| schema.attribute(attribute.name())?.default);
        default.is_some_and(|default| attribute.value().is_default(default))
    };
    let mut given: SmallVec<[(usize, &Attribute); 8]> =
        attributes.iter().enumerate().filter(|(_, attribute)| !is_default(attribute)).collect();
    given.sort_by_key(|(_, attribute)| model.str(attribute.name()));
    given
}

/// The declared type of an output of a graph.
pub(crate) fn declared<'a>(model: &'a Model, output: &'a onnx_ir::GraphOutput) -> Option<&'a Type> {
    match output.own() {
        Some(own) => own.ty.as_deref(),
        None => model.ty(output.value()),
    }
}
