//! Handles of values.

use std::sync::Arc;

use onnxkit::ir::{self, Def, NodeId, User, ValueId};
use onnxkit::types::{Shape, Type, TypeKind};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyString, PyTuple};

use crate::dtype::DType;
use crate::fault::{Fault, Outcome};
use crate::graph::{operand, refuse_interface_name};
use crate::model::{Inner, Model};
use crate::node::Node;
use crate::tensor::Tensor;
use crate::types::{DimText, dims_of_py, dims_to_py, texts_of_dims, type_of_text, type_text};

/// A value: an input, an initializer or a result of a node.
#[pyclass(frozen, weakref, module = "onnxkit")]
pub(crate) struct Value {
    pub(crate) model: Py<Model>,
    pub(crate) id: ValueId,
    /// The node that made the value at a moment of the model, which most loops over nodes ask for next.
    producer: Option<NodeId>,
    moment: u64,
}

/// A moment that no model has.
const NEVER: u64 = u64::MAX;

/// The value, if it is still in the model.
pub(crate) fn alive(model: &ir::Model, value: ValueId) -> Outcome<&ir::Value> {
    model.get_value(value).ok_or_else(|| Fault::stale("value"))
}

impl Value {
    pub(crate) const fn new(model: Py<Model>, id: ValueId) -> Self {
        Self { model, id, producer: None, moment: NEVER }
    }

    /// A value with the node that makes it at a moment.
    pub(crate) const fn at(model: Py<Model>, id: ValueId, (moment, producer): (u64, Option<NodeId>)) -> Self {
        Self { model, id, producer, moment }
    }

    fn read<T>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&Inner, &ir::Value) -> Outcome<T>,
    ) -> PyResult<T> {
        self.model.get().read(py, |inner| question(inner, alive(&inner.model, self.id)?))
    }

    fn write<T>(&self, py: Python<'_>, edit: impl FnOnce(&mut ir::Model) -> Outcome<T>) -> PyResult<T> {
        self.model.get().write(py, |model| {
            alive(model, self.id)?;
            edit(model)
        })
    }

    fn node(&self, py: Python<'_>, id: NodeId) -> Node {
        Node::new(self.model.clone_ref(py), id)
    }
}

#[pymethods]
impl Value {
    /// The name; empty if the value gets one when the model is written.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let shared = self.model.get();
        shared.read(py, |inner| Ok(shared.string(py, &inner.model, alive(&inner.model, self.id)?.name())))
    }

    #[setter]
    fn set_name(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.write(py, |model| {
            let graph = model.graph(model.main_graph());
            let is_output = graph.outputs().iter().any(|output| output.value() == self.id);
            if is_output || graph.inputs().contains(&self.id) {
                refuse_interface_name(model, name, Some(self.id))?;
            }
            let name = model.intern(name);
            model.set_value_name(self.id, name);
            Ok(())
        })
    }

    /// The declared type as ONNX text, such as `float[batch,3]`.
    #[getter]
    fn r#type(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.read(py, |inner, value| Ok(value.ty().map(|ty| type_text(&inner.model, ty))))
    }

    #[setter]
    fn set_type(&self, py: Python<'_>, text: Option<&str>) -> PyResult<()> {
        self.write(py, |model| {
            let ty = text.map(|text| type_of_text(model, text)).transpose()?;
            model.set_type(self.id, ty);
            Ok(())
        })
    }

    /// The declared element type.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Option<DType>> {
        self.read(py, |inner, value| {
            let elem = value.ty().map(Type::elem).filter(|elem| elem.code() != 0);
            let of_tensor = || inner.model.constant_tensor(self.id).map(|tensor| tensor.elem());
            Ok(elem.or_else(of_tensor).map(DType))
        })
    }

    #[setter]
    fn set_dtype(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>) -> PyResult<()> {
        let elem = DType::of_py(dtype)?.0;
        self.write(py, |model| {
            let shape = model.ty(self.id).and_then(Type::shape).cloned();
            model.set_type(self.id, Some(Type::tensor(elem, shape)));
            Ok(())
        })
    }

    /// The declared shape: numbers, expressions as strings, and `None` for sizes that are not known.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let dims = self.read(py, |inner, value| {
            let shape = value.ty().and_then(Type::shape);
            let declared = shape.map(|shape| texts_of_dims(&inner.model, shape.dims()));
            let of_tensor = || {
                let tensor = inner.model.constant_tensor(self.id)?;
                Some(tensor.dims().iter().map(|&dim| DimText::Known(dim)).collect())
            };
            Ok(declared.or_else(of_tensor))
        })?;
        dims.map(|dims| dims_to_py(py, dims)).transpose()
    }

    #[setter]
    fn set_shape(&self, py: Python<'_>, shape: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let dims = shape.map(dims_of_py).transpose()?;
        self.write(py, |model| {
            let elem = model.ty(self.id).map(Type::elem).unwrap_or(onnxkit::types::ElemType::Undefined);
            let shape =
                dims.map(|dims| Shape::new(dims.iter().map(|dim| dim.intern(model)).collect::<Vec<_>>()));
            let is_sparse = matches!(model.ty(self.id).map(|ty| &ty.kind), Some(TypeKind::SparseTensor(_)));
            let ty = if is_sparse { Type::sparse_tensor(elem, shape) } else { Type::tensor(elem, shape) };
            model.set_type(self.id, Some(ty));
            Ok(())
        })
    }

    /// The tensor that the value always is: an initializer that is not an input, or what a `Constant` node gives.
    #[getter]
    fn const_value(&self, py: Python<'_>) -> PyResult<Option<Tensor>> {
        self.read(py, |inner, value| {
            let tensor = inner.model.constant_tensor(self.id).cloned();
            let of_node = || inner.model.node(value.producer()?).constant_tensor();
            let tensor = tensor.or_else(of_node);
            let tensor = tensor.or_else(|| value.initializer()?.dense().cloned());
            Ok(tensor.map(|tensor| Tensor::new(tensor, inner.data.clone())))
        })
    }

    #[setter]
    fn set_const_value(&self, py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let tensor = Tensor::of_py(array, None)?;
        self.write(py, |model| {
            let Def::Initializer(graph) = model.value(self.id).def() else {
                return Err(Fault::edit("only the tensor of an initializer can be set"));
            };
            model.set_initializer(graph, self.id, Some(Arc::new(tensor.into())));
            Ok(())
        })
    }

    /// The node that makes the value.
    fn producer(&self, py: Python<'_>) -> PyResult<Option<Node>> {
        let node = match self.moment == self.model.get().moment() {
            true => self.producer,
            false => self.read(py, |_, value| Ok(value.producer()))?,
        };
        Ok(node.map(|id| self.node(py, id)))
    }

    /// The nodes that use the value, each once.
    fn consumers(&self, py: Python<'_>) -> PyResult<Vec<Node>> {
        let nodes: Vec<NodeId> = self.read(py, |inner, _| {
            let mut nodes: Vec<NodeId> = Vec::new();
            for node in inner.model.consumers(self.id) {
                if nodes.last() != Some(&node) && !nodes.contains(&node) {
                    nodes.push(node);
                }
            }
            Ok(nodes)
        })?;
        Ok(nodes.into_iter().map(|id| self.node(py, id)).collect())
    }

    /// The uses by nodes: the node and the index of its operand.
    fn uses(&self, py: Python<'_>) -> PyResult<Vec<(Node, usize)>> {
        let uses = self.read(py, |inner, _| Ok(inner.model.node_uses(self.id)))?;
        Ok(uses.into_iter().map(|(id, index)| (self.node(py, id), index)).collect())
    }

    /// The index of the value among the results of its node; `None` if no node makes it.
    fn index(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        self.read(py, |_, value| {
            Ok(match value.def() {
                Def::Output { index, .. } => Some(index),
                _ => None,
            })
        })
    }

    /// Whether the value is an input of a graph.
    fn is_graph_input(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |_, value| Ok(matches!(value.def(), Def::Input { .. })))
    }

    /// Whether the value is an output of a graph.
    fn is_graph_output(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |_, value| {
            Ok(value.output_uses().iter().any(|found| matches!(found.user, User::Graph(_))))
        })
    }

    /// Whether the value has the tensor of an initializer.
    fn is_initializer(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |_, value| Ok(value.initializer().is_some()))
    }

    /// Lets all uses be of another value. An output of the main graph keeps its name: an `Identity` is inserted if needed.
    fn replace_all_uses_with(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = operand(&self.model, value)?;
        self.write(py, |model| {
            alive(model, value)?;
            let replaced = model.replace_or_alias(self.id, value);
            replaced.map(drop).map_err(|error| Fault::edit(error.show(model)))
        })
    }

    /// Whether the value is still in its model.
    #[getter]
    fn is_alive(&self, py: Python<'_>) -> PyResult<bool> {
        self.model.get().read(py, |inner| Ok(inner.model.get_value(self.id).is_some()))
    }

    /// The model of the value.
    #[getter]
    fn model(&self, py: Python<'_>) -> Py<Model> {
        self.model.clone_ref(py)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().id == self.id && other.get().model.is(&self.model))
    }

    fn __hash__(&self) -> u64 {
        slotmap::Key::data(&self.id).as_ffi()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.model.get().read(py, |inner| {
            Ok(match inner.model.get_value(self.id) {
                Some(value) => {
                    let name = inner.model.str(value.name());
                    let ty =
                        value.ty().map(|ty| format!(": {}", type_text(&inner.model, ty))).unwrap_or_default();
                    format!("<Value {name:?}{ty}>")
                }
                None => "<Value, erased>".to_owned(),
            })
        })
    }
}
