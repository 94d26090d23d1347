//! Handles of nodes.

use onnxkit::ir::{self, NodeId, Position};
use onnxkit::schema::Registry;
use onnxkit::text::{PrintOptions, print_node};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use smallvec::SmallVec;

use crate::attr::Attributes;
use crate::fault::{Fault, Outcome};
use crate::graph::{Graph, all_or_nothing, operand, operands};
use crate::lists::pairs_of_texts;
use crate::model::{Inner, Model};
use crate::number::Int;
use crate::value::Value;

/// A node of a graph. The handle stays valid when the model is edited, until the node is erased.
#[pyclass(frozen, weakref, module = "onnxkit")]
pub(crate) struct Node {
    pub(crate) model: Py<Model>,
    pub(crate) id: NodeId,
    /// The operator at a moment of the model, which most loops over nodes ask for first.
    op: Option<(u64, Py<PyString>)>,
}

/// The node, if it is still in the model.
pub(crate) fn alive(model: &ir::Model, node: NodeId) -> Outcome<&ir::Node> {
    model.get_node(node).ok_or_else(|| Fault::stale("node"))
}

/// A node of this model.
pub(crate) fn node_of(model: &Py<Model>, node: &Bound<'_, Node>) -> PyResult<NodeId> {
    let node = node.get();
    if node.model.is(model) { Ok(node.id) } else { Err(Fault::edit("the node is of another model").into()) }
}

impl Node {
    pub(crate) const fn new(model: Py<Model>, id: NodeId) -> Self {
        Self { model, id, op: None }
    }

    /// A node with its operator at a moment.
    pub(crate) const fn at(model: Py<Model>, id: NodeId, op: (u64, Py<PyString>)) -> Self {
        Self { model, id, op: Some(op) }
    }

    fn read<T>(&self, py: Python<'_>, question: impl FnOnce(&Inner, &ir::Node) -> Outcome<T>) -> PyResult<T> {
        self.model.get().read(py, |inner| question(inner, alive(&inner.model, self.id)?))
    }

    fn write<T>(&self, py: Python<'_>, edit: impl FnOnce(&mut ir::Model) -> Outcome<T>) -> PyResult<T> {
        self.model.get().write(py, |model| {
            alive(model, self.id)?;
            edit(model)
        })
    }

    fn name_of<'py>(
        &self,
        py: Python<'py>,
        name: impl FnOnce(&ir::Node) -> onnxkit::types::Symbol,
    ) -> PyResult<Bound<'py, PyString>> {
        let shared = self.model.get();
        shared.read(py, |inner| Ok(shared.string(py, &inner.model, name(alive(&inner.model, self.id)?))))
    }

    fn nodes_of(&self, py: Python<'_>, nodes: Vec<NodeId>) -> Vec<Self> {
        nodes.into_iter().map(|id| Self::new(self.model.clone_ref(py), id)).collect()
    }

    fn values_of<'py>(
        &self,
        py: Python<'py>,
        values: &[Option<ir::ValueId>],
    ) -> PyResult<Bound<'py, PyTuple>> {
        // Made without the lock: new objects can let Python collect garbage, and so run any code.
        let value = |id: Option<ir::ValueId>| id.map(|id| Value::new(self.model.clone_ref(py), id));
        PyTuple::new(py, values.iter().copied().map(value))
    }
}

#[pymethods]
impl Node {
    /// The operator, or the name of the function that the node calls.
    #[getter]
    fn op_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        match &self.op {
            Some((moment, op)) if *moment == self.model.get().moment() => Ok(op.bind(py).clone()),
            _ => self.name_of(py, ir::Node::op),
        }
    }

    #[setter]
    fn set_op_type(&self, py: Python<'_>, op: &str) -> PyResult<()> {
        self.write(py, |model| {
            let op = model.intern(op);
            let node = model.node(self.id);
            let (domain, overload) = (node.domain(), node.overload());
            model.set_op(self.id, domain, op, overload);
            Ok(())
        })
    }

    /// The operator set; empty for the default one.
    #[getter]
    fn domain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.name_of(py, ir::Node::domain)
    }

    #[setter]
    fn set_domain(&self, py: Python<'_>, domain: &str) -> PyResult<()> {
        self.write(py, |model| {
            let domain = model.intern(domain);
            let node = model.node(self.id);
            let (op, overload) = (node.op(), node.overload());
            model.set_op(self.id, domain, op, overload);
            Ok(())
        })
    }

    /// The overload of the function that the node calls.
    #[getter]
    fn overload<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.name_of(py, ir::Node::overload)
    }

    /// The name of the node.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.name_of(py, ir::Node::name)
    }

    #[setter]
    fn set_name(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.write(py, |model| {
            let name = model.intern(name);
            model.set_node_name(self.id, name);
            Ok(())
        })
    }

    /// The description of the node.
    #[getter]
    fn doc_string<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.name_of(py, ir::Node::doc)
    }

    /// The metadata of the node, as pairs.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let entries: Vec<(String, String)> = self.read(py, |inner, node| {
            let entry = |entry: &ir::MetadataEntry| {
                (inner.model.str(entry.key()).to_owned(), entry.value().as_str().to_owned())
            };
            Ok(node.metadata().iter().map(entry).collect())
        })?;
        pairs_of_texts(py, &entries)
    }

    /// The operands; `None` for one that is left out.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        type Made = (ir::ValueId, Option<NodeId>);
        let shared = self.model.get();
        // Filled in place: its size makes moves expensive.
        let mut values: SmallVec<[Option<Made>; 8]> = SmallVec::new();
        let moment = self.read(py, |inner, node| {
            let made = |id: ir::ValueId| (id, inner.model.value(id).producer());
            values.extend(node.inputs().map(|id| id.map(made)));
            Ok(shared.moment())
        })?;
        // Made without the lock: new objects can let Python collect garbage, and so run any code.
        let value = |made: Option<Made>| {
            made.map(|(id, producer)| Value::at(self.model.clone_ref(py), id, (moment, producer)))
        };
        PyTuple::new(py, values.iter().copied().map(value))
    }

    /// The results; `None` for one that is left out.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let mut values: SmallVec<[Option<ir::ValueId>; 8]> = SmallVec::new();
        self.read(py, |_, node| {
            values.extend_from_slice(node.outputs());
            Ok(())
        })?;
        self.values_of(py, &values)
    }

    /// The attributes, as a mapping from names to values.
    #[getter]
    fn attrs(slf: Bound<'_, Self>) -> Attributes {
        Attributes { node: slf.unbind() }
    }

    /// The attributes, by the name that ir-py has for them.
    #[getter]
    fn attributes(slf: Bound<'_, Self>) -> Attributes {
        Attributes { node: slf.unbind() }
    }

    /// The graph of the node.
    #[getter]
    fn graph(&self, py: Python<'_>) -> PyResult<Graph> {
        let id = self.read(py, |_, node| Ok(node.graph()))?;
        Ok(Graph { model: self.model.clone_ref(py), id })
    }

    /// The model of the node.
    #[getter]
    fn model(&self, py: Python<'_>) -> Py<Model> {
        self.model.clone_ref(py)
    }

    /// The body of the function that the node calls.
    #[getter]
    fn callee(&self, py: Python<'_>) -> PyResult<Option<Graph>> {
        let body = self.read(py, |inner, node| {
            let function = inner.model.function_called(node);
            Ok(function.map(|function| inner.model.function(function).body()))
        })?;
        Ok(body.map(|id| Graph { model: self.model.clone_ref(py), id }))
    }

    /// The version of the operator that the node means, as `Conv-22`; `None` for functions and custom operators.
    #[getter]
    fn schema(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.read(py, |inner, _| {
            let callee = inner.model.callee(self.id, Registry::STANDARD);
            Ok(callee.schema().map(|schema| schema.to_string()))
        })
    }

    /// Whether the node is still in its model.
    #[getter]
    fn is_alive(&self, py: Python<'_>) -> PyResult<bool> {
        self.model.get().read(py, |inner| Ok(inner.model.get_node(self.id).is_some()))
    }

    /// The nodes that make the operands.
    fn predecessors(&self, py: Python<'_>) -> PyResult<Vec<Self>> {
        let found = self.read(py, |inner, _| {
            let mut nodes = Vec::new();
            inner.model.for_each_predecessor(self.id, |node| {
                if !nodes.contains(&node) {
                    nodes.push(node);
                }
            });
            Ok(nodes)
        })?;
        Ok(self.nodes_of(py, found))
    }

    /// The nodes that use the results.
    fn successors(&self, py: Python<'_>) -> PyResult<Vec<Self>> {
        let found = self.read(py, |inner, _| {
            let mut nodes = Vec::new();
            inner.model.for_each_successor(self.id, |node| {
                if !nodes.contains(&node) {
                    nodes.push(node);
                }
            });
            Ok(nodes)
        })?;
        Ok(self.nodes_of(py, found))
    }

    /// Lets an operand be another value, or `None`.
    fn replace_input_with(
        &self,
        py: Python<'_>,
        index: Int<usize>,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (index, value) = (index.0, value.map(|value| operand(&self.model, value)).transpose()?);
        self.write(py, |model| {
            if value.is_some_and(|value| model.get_value(value).is_none()) {
                return Err(Fault::stale("value"));
            }
            let count = model.node(self.id).input_count();
            if index >= count {
                return Err(Fault::argument(format!(
                    "the node has {count} inputs; input {index} does not exist"
                )));
            }
            model.set_input(self.id, index, value);
            Ok(())
        })
    }

    /// Adds an operand.
    fn push_input(&self, py: Python<'_>, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let value = value.map(|value| operand(&self.model, value)).transpose()?;
        self.write(py, |model| {
            if value.is_some_and(|value| model.get_value(value).is_none()) {
                return Err(Fault::stale("value"));
            }
            model.push_input(self.id, value);
            Ok(())
        })
    }

    /// Replaces the results by other values, one for each, and erases the node.
    fn replace_with(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let values = if values.cast::<Value>().is_ok() {
            vec![Some(operand(&self.model, values)?)]
        } else {
            operands(&self.model, values)?
        };
        self.write(py, |model| {
            if values.iter().flatten().any(|&value| model.get_value(value).is_none()) {
                return Err(Fault::stale("value"));
            }
            let outputs = model.node(self.id).outputs().to_vec();
            let replace = |model: &mut ir::Model| {
                for (old, new) in outputs.iter().zip(&values) {
                    if let (Some(old), Some(new)) = (old, new) {
                        model.replace_or_alias(*old, *new).map_err(|error| Fault::edit(error.show(model)))?;
                    }
                }
                model.erase_node(self.id).map_err(|error| Fault::edit(error.show(model)))
            };
            // The replacement of one value is refused as a whole.
            if outputs.len() == 1 && values.len() == 1 {
                replace(model)
            } else {
                all_or_nothing(model, replace)
            }
        })
    }

    /// Moves the node.
    fn move_before(&self, py: Python<'_>, node: &Bound<'_, Self>) -> PyResult<()> {
        let before = node_of(&self.model, node)?;
        self.write(py, |model| {
            alive(model, before)?;
            let moved = model.move_node(self.id, Position::Before(before));
            moved.map_err(|error| Fault::edit(error.show(model)))
        })
    }

    /// Erases the node with its results, which nothing may use.
    fn erase(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, |model| model.erase_node(self.id).map_err(|error| Fault::edit(error.show(model))))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().id == self.id && other.get().model.is(&self.model))
    }

    fn __hash__(&self) -> u64 {
        slotmap::Key::data(&self.id).as_ffi()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.model.get().read(py, |inner| {
            Ok(match inner.model.get_node(self.id) {
                Some(_) => {
                    let options = PrintOptions::default().with_elide_above(64);
                    let text = print_node(&inner.model, self.id, &options).map(|printed| printed.text);
                    let text = text.unwrap_or_else(|_| inner.model.show(self.id).to_string());
                    let mut lines = text.trim().lines();
                    let first = lines.next().unwrap_or_default();
                    let rest = if lines.next().is_some() { " ..." } else { "" };
                    format!("<Node {first}{rest}>")
                }
                None => "<Node, erased>".to_owned(),
            })
        })
    }
}
