//! Handles of graphs.

use std::collections::HashMap;

use onnxkit::ir::{self, GraphId, NewNode, NodeId, OpsetScope, Position, ValueId};
use onnxkit::schema::Registry;
use onnxkit::types::tensor::Tensor as Elements;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMappingProxy, PyString, PyTuple};

use crate::attr::{self, attribute_kind};
use crate::fault::{Fault, Outcome};
use crate::lists::list_of;
use crate::model::Model;
use crate::node::{Node, node_of};
use crate::nodes::NodeIter;
use crate::number::number;
use crate::tensor::Tensor;
use crate::types::type_of_text;
use crate::value::Value;

/// A graph of a model: the main graph, the body of a function, or a graph in an attribute.
#[pyclass(frozen, weakref, module = "onnxkit")]
pub(crate) struct Graph {
    pub(crate) model: Py<Model>,
    pub(crate) id: GraphId,
}

const NAMELESS: &str = "inputs and outputs of the model are identified by their names: write one";

/// Refuses values without names as inputs or outputs of the main graph: the file would have names that the caller did not choose.
fn require_names(model: &ir::Model, graph: GraphId, values: &[ValueId]) -> Outcome<()> {
    for &value in values {
        let value = model.get_value(value).ok_or_else(|| Fault::stale("value"))?;
        if graph == model.main_graph() && model.str(value.name()).is_empty() {
            return Err(Fault::edit(NAMELESS));
        }
    }
    Ok(())
}

/// Refuses a name that another input or output of the model has: one of the two would get another name when the model is written.
pub(crate) fn refuse_interface_name(model: &ir::Model, name: &str, own: Option<ValueId>) -> Outcome<()> {
    let graph = model.graph(model.main_graph());
    let mut interface =
        graph.inputs().iter().copied().chain(graph.outputs().iter().map(ir::GraphOutput::value));
    let is_taken = |value: ValueId| Some(value) != own && model.str(model.value(value).name()) == name;
    if name.is_empty() {
        return Err(Fault::edit(NAMELESS));
    }
    if interface.any(is_taken) {
        return Err(Fault::edit(format!(
            "`{name}` is the name of another input or output of the model; rename that one first"
        )));
    }
    Ok(())
}

/// The graph, if it is still in the model.
pub(crate) fn alive(model: &ir::Model, graph: GraphId) -> Outcome<&ir::Graph> {
    model.get_graph(graph).ok_or_else(|| Fault::stale("graph"))
}

/// Makes several edits, or none if one of them is refused.
pub(crate) fn all_or_nothing<T>(
    model: &mut ir::Model,
    edit: impl FnOnce(&mut ir::Model) -> Outcome<T>,
) -> Outcome<T> {
    let before = model.clone();
    edit(model).inspect_err(|_| *model = before)
}

/// Whether nodes, the last one first, can be erased one by one: only nodes before them in the list use their results.
fn can_erase(model: &ir::Model, nodes: &[NodeId]) -> bool {
    if nodes.len() <= 1 {
        return true;
    }
    let places: HashMap<NodeId, usize> =
        nodes.iter().enumerate().map(|(place, &node)| (node, place)).collect();
    nodes.iter().enumerate().all(|(place, &node)| {
        model.node(node).outputs().iter().flatten().all(|&output| {
            let mut users = model.value(output).uses().iter().map(|at| at.user.node());
            users.all(|user| user.is_some_and(|user| places.get(&user).is_some_and(|&before| before < place)))
        })
    })
}

/// Where a new node is placed.
fn position(
    graph: &Graph,
    before: Option<&Bound<'_, Node>>,
    after: Option<&Bound<'_, Node>>,
) -> PyResult<Position> {
    match (before, after) {
        (Some(_), Some(_)) => Err(Fault::argument("`before` and `after` exclude each other").into()),
        (Some(node), None) => Ok(Position::Before(node_of(&graph.model, node)?)),
        (None, Some(node)) => Ok(Position::After(node_of(&graph.model, node)?)),
        (None, None) => Ok(Position::End(graph.id)),
    }
}

/// The values that a call names, of one model.
pub(crate) fn operands(model: &Py<Model>, inputs: &Bound<'_, PyAny>) -> PyResult<Vec<Option<ValueId>>> {
    let mut operands = Vec::new();
    for input in inputs.try_iter()? {
        let input = input?;
        if input.is_none() {
            operands.push(None);
            continue;
        }
        operands.push(Some(operand(model, &input)?));
    }
    Ok(operands)
}

/// An operand of a new node.
enum Given {
    None,
    Value(ValueId),
    Tensor(Elements),
}

/// The operands of a new node.
fn given(model: &Py<Model>, inputs: &Bound<'_, PyAny>) -> PyResult<Vec<Given>> {
    let one = |input: Bound<'_, PyAny>| {
        Ok(match input.cast::<Tensor>() {
            _ if input.is_none() => Given::None,
            Ok(_) => Given::Tensor(Tensor::of_py(&input, None)?),
            Err(_) => Given::Value(operand(model, &input)?),
        })
    };
    inputs.try_iter()?.map(|input| one(input?)).collect()
}

/// The function that a graph is the body of.
fn function_of(model: &ir::Model, graph: GraphId) -> Option<ir::FunctionId> {
    let OpsetScope::Function(function) = model.scope(graph) else { return None };
    (model.function(function).body() == graph).then_some(function)
}

/// The name of a graph, or of the function that it is the body of.
fn name_of(model: &ir::Model, graph: GraphId) -> &str {
    let of_function = function_of(model, graph).map(|function| model.function(function).name());
    model.str(of_function.unwrap_or_else(|| model.graph(graph).name()))
}

/// A value of this model.
pub(crate) fn operand(model: &Py<Model>, input: &Bound<'_, PyAny>) -> PyResult<ValueId> {
    let value = input.cast::<Value>().map_err(|_| {
        Fault::argument(format!("`{input}` is not a value; `graph.constant(...)` makes one of numbers"))
    })?;
    let value = value.get();
    if !value.model.is(model) {
        return Err(Fault::edit("the value is of another model").into());
    }
    Ok(value.id)
}

#[pymethods]
impl Graph {
    /// The name of the graph, or of the function that it is the body of.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.model.get().read(py, |inner| {
            alive(&inner.model, self.id)?;
            Ok(name_of(&inner.model, self.id).to_owned())
        })
    }

    #[setter]
    fn set_name(&self, py: Python<'_>, name: String) -> PyResult<()> {
        self.model.get().write(py, |model| {
            alive(model, self.id)?;
            if function_of(model, self.id).is_some() {
                return Err(Fault::edit(
                    "the calls of a function refer to it by its name, which is not changed here",
                ));
            }
            let name = model.intern(&name);
            model.set_graph_name(self.id, name);
            Ok(())
        })
    }

    /// The model that the graph is of.
    #[getter]
    fn model(&self, py: Python<'_>) -> Py<Model> {
        self.model.clone_ref(py)
    }

    /// The nodes of this graph, without those of nested graphs, as a tuple.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let nodes = self.model.get().read(py, |inner| {
            alive(&inner.model, self.id)?;
            Ok(inner.model.nodes(self.id).collect::<Vec<_>>())
        })?;
        let nodes = nodes.into_iter().map(|id| Node::new(self.model.clone_ref(py), id));
        Ok(list_of(py, nodes)?.to_tuple())
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<NodeIter> {
        NodeIter::new(py, self.model.clone_ref(py), |model| {
            alive(model, self.id)?;
            Ok(model.nodes(self.id).collect())
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.model.get().read(py, |inner| Ok(alive(&inner.model, self.id)?.node_count()))
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// The inputs of the graph.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let values =
            self.model.get().read(py, |inner| Ok(alive(&inner.model, self.id)?.inputs().to_vec()))?;
        self.values_of(py, values)
    }

    #[setter]
    fn set_inputs(&self, py: Python<'_>, inputs: &Bound<'_, PyAny>) -> PyResult<()> {
        let inputs: Vec<ValueId> = operands(&self.model, inputs)?.into_iter().flatten().collect();
        self.model.get().write(py, |model| {
            alive(model, self.id)?;
            require_names(model, self.id, &inputs)?;
            model.set_graph_inputs(self.id, &inputs).map_err(|error| Fault::edit(error.show(model)))
        })
    }

    /// The outputs of the graph.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let values = self.model.get().read(py, |inner| {
            Ok(alive(&inner.model, self.id)?.outputs().iter().map(ir::GraphOutput::value).collect())
        })?;
        self.values_of(py, values)
    }

    #[setter]
    fn set_outputs(&self, py: Python<'_>, outputs: &Bound<'_, PyAny>) -> PyResult<()> {
        let outputs: Vec<ValueId> = operands(&self.model, outputs)?.into_iter().flatten().collect();
        self.model.get().write(py, |model| {
            let count = alive(model, self.id)?.outputs().len();
            require_names(model, self.id, &outputs)?;
            for index in (0..count).rev() {
                model.remove_graph_output(self.id, index);
            }
            for &output in &outputs {
                model.push_graph_output(self.id, output);
            }
            Ok(())
        })
    }

    /// The initializers of the graph, by name.
    #[getter]
    fn initializers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMappingProxy>> {
        let found = self.model.get().read(py, |inner| {
            alive(&inner.model, self.id)?;
            let model = &inner.model;
            let name = |id: ValueId| (model.str(model.value(id).name()).to_owned(), id);
            Ok(model.initializers(self.id).map(name).collect::<Vec<_>>())
        })?;
        let dict = PyDict::new(py);
        for (name, id) in found {
            dict.set_item(name, Value::new(self.model.clone_ref(py), id))?;
        }
        Ok(PyMappingProxy::new(py, dict.as_mapping()))
    }

    /// All values that the graph defines: inputs, initializers and outputs of its nodes.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let values = self.model.get().read(py, |inner| {
            alive(&inner.model, self.id)?;
            Ok(inner.model.definitions(self.id).collect())
        })?;
        self.values_of(py, values)
    }

    /// The value of a name, also one of the graphs around this one.
    fn __getitem__(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<Value> {
        let text = name.to_string();
        let found = self.model.get().read(py, |inner| {
            alive(&inner.model, self.id)?;
            Ok(inner.model.find_value(self.id, &text))
        })?;
        let id = found.ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(text))?;
        Ok(Value::new(self.model.clone_ref(py), id))
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.model.get().read(py, |inner| {
            alive(&inner.model, self.id)?;
            Ok(inner.model.find_value(self.id, name).is_some())
        })
    }

    /// The node whose attribute is this graph.
    #[getter]
    fn parent_node(&self, py: Python<'_>) -> PyResult<Option<Node>> {
        let node = self.model.get().read(py, |inner| {
            alive(&inner.model, self.id)?;
            Ok(inner.model.owner_node(self.id))
        })?;
        Ok(node.map(|id| Node::new(self.model.clone_ref(py), id)))
    }

    /// The graphs in attributes of the nodes of this graph, at any depth.
    fn subgraphs(&self, py: Python<'_>) -> PyResult<Vec<Self>> {
        let graphs = self.model.get().read(py, |inner| {
            alive(&inner.model, self.id)?;
            Ok(inner.model.graphs_in(self.id).filter(|&id| id != self.id).collect::<Vec<_>>())
        })?;
        Ok(graphs.into_iter().map(|id| Self { model: self.model.clone_ref(py), id }).collect())
    }

    /// Adds a node, at the end of the graph or next to another node. Tensors among `inputs` become initializers. `outputs` is their number
    /// or their names.
    #[pyo3(signature = (
        op, inputs=None, attrs=None, *, domain="", overload="", outputs=None, name=None, before=None, after=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn add(
        &self,
        py: Python<'_>,
        op: &str,
        inputs: Option<&Bound<'_, PyAny>>,
        attrs: Option<&Bound<'_, PyDict>>,
        domain: &str,
        overload: &str,
        outputs: Option<&Bound<'_, PyAny>>,
        name: Option<&str>,
        before: Option<&Bound<'_, Node>>,
        after: Option<&Bound<'_, Node>>,
    ) -> PyResult<Node> {
        let inputs = inputs.map(|inputs| given(&self.model, inputs)).transpose()?.unwrap_or_default();
        let at = position(self, before, after)?;
        let outputs = Outputs::of(outputs)?;
        let version = self.model.get().read(py, |inner| {
            alive(&inner.model, self.id)?;
            let versions = inner.model.versions_in(self.id);
            Ok(inner.model.names().get(domain).and_then(|domain| versions.get(domain)))
        })?;
        let mut values = Vec::new();
        for (key, value) in attrs.into_iter().flatten() {
            let key = key.extract::<String>()?;
            let kind = version.and_then(|version| attribute_kind(domain, op, version, &key));
            if !value.is_none() {
                values.push((key, attr::of_py(&self.model, &value, kind)?));
            }
        }
        let schema = version.and_then(|version| Registry::STANDARD.lookup(domain, op, version));
        let least = match schema {
            Some(onnxkit::schema::SchemaRef::Standard(schema)) => schema.min_outputs(),
            _ => 1,
        };
        let id = self.model.get().write(py, |model| {
            let is_stale =
                |input: &Given| matches!(input, Given::Value(id) if model.get_value(*id).is_none());
            if inputs.iter().any(is_stale) {
                return Err(Fault::stale("value"));
            }
            if let Position::Before(node) | Position::After(node) = at {
                model.get_node(node).ok_or_else(|| Fault::stale("node"))?;
            }
            let mut new = NewNode::new(model.intern(op));
            new.domain = model.intern(domain);
            new.overload = model.intern(overload);
            let mut constants = Vec::new();
            for input in inputs {
                new.inputs.push(match input {
                    Given::None => None,
                    Given::Value(id) => Some(id),
                    Given::Tensor(tensor) => {
                        let name = model.fresh_name("const");
                        constants.push(model.add_initializer(self.id, name, tensor));
                        constants.last().copied()
                    }
                });
            }
            if let Some(name) = name {
                new.name = model.intern(name);
            }
            for (key, value) in values {
                let key = model.intern(&key);
                new.attributes.push(ir::Attribute::new(key, value));
            }
            new.outputs = outputs.make(model, self.id, least);
            model.add_node(at, new).map_err(|error| {
                // A refused edit leaves nothing.
                constants.into_iter().for_each(|constant| _ = model.erase_value(constant));
                Fault::edit(error.show(model))
            })
        })?;
        Ok(Node::new(self.model.clone_ref(py), id))
    }

    /// Adds an input. The type is written as in ONNX text: `float[batch, 3]`.
    #[pyo3(signature = (name, r#type=None))]
    fn add_input(&self, py: Python<'_>, name: &str, r#type: Option<&str>) -> PyResult<Value> {
        let id = self.model.get().write(py, |model| {
            alive(model, self.id)?;
            let ty = r#type.map(|text| type_of_text(model, text)).transpose()?;
            if self.id == model.main_graph() {
                refuse_interface_name(model, name, None)?;
            }
            Ok(model.add_graph_input(self.id, name, ty))
        })?;
        Ok(Value::new(self.model.clone_ref(py), id))
    }

    /// Makes a value an output of the graph.
    fn add_output(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = operand(&self.model, value)?;
        self.model.get().write(py, |model| {
            alive(model, self.id)?;
            let name = model.get_value(value).ok_or_else(|| Fault::stale("value"))?.name();
            if self.id == model.main_graph() {
                let name = model.str(name).to_owned();
                refuse_interface_name(model, &name, Some(value))?;
            }
            model.push_graph_output(self.id, value);
            Ok(())
        })
    }

    /// Adds an initializer from a tensor, an array or numbers.
    #[pyo3(signature = (array, name=None, dtype=None))]
    fn constant(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        name: Option<&str>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Value> {
        let tensor = Tensor::of_py(array, dtype)?;
        let id = self.model.get().write(py, |model| {
            alive(model, self.id)?;
            let name = match name {
                Some(name) if model.find_value(self.id, name).is_some() => {
                    return Err(Fault::edit(format!("the graph has a value of the name `{name}`")));
                }
                Some(name) => model.intern(name),
                None => model.fresh_name("const"),
            };
            Ok(model.add_initializer(self.id, name, tensor))
        })?;
        Ok(Value::new(self.model.clone_ref(py), id))
    }

    /// Erases nodes with their outputs. A node whose outputs are used is refused.
    #[pyo3(signature = (nodes, safe=true))]
    fn remove(&self, py: Python<'_>, nodes: &Bound<'_, PyAny>, safe: bool) -> PyResult<()> {
        let _ = safe;
        let mut ids = Vec::new();
        if let Ok(node) = nodes.cast::<Node>() {
            ids.push(node_of(&self.model, node)?);
        } else {
            for node in nodes.try_iter()? {
                ids.push(node_of(&self.model, node?.cast::<Node>()?)?);
            }
        }
        self.model.get().write(py, |model| {
            // Users before producers.
            if ids.iter().any(|&id| model.get_node(id).is_none()) {
                return Err(Fault::stale("node"));
            }
            ids.sort_by_key(|&id| std::cmp::Reverse(model.order_key(id)));
            ids.dedup();
            let erase = |model: &mut ir::Model| {
                ids.iter()
                    .try_for_each(|&id| model.erase_node(id).map_err(|error| Fault::edit(error.show(model))))
            };
            if can_erase(model, &ids) { erase(model) } else { all_or_nothing(model, erase) }
        })
    }

    /// Sorts the nodes of this graph, so that each follows those that it depends on.
    fn sort(&self, py: Python<'_>) -> PyResult<()> {
        self.model.get().write(py, |model| {
            alive(model, self.id)?;
            model.sort(self.id).map_err(Fault::edit)
        })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().id == self.id && other.get().model.is(&self.model))
    }

    fn __hash__(&self) -> u64 {
        slotmap::Key::data(&self.id).as_ffi()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.model.get().read(py, |inner| {
            let Ok(graph) = alive(&inner.model, self.id) else { return Ok("<Graph, erased>".to_owned()) };
            let (inputs, outputs) = (graph.inputs().len(), graph.outputs().len());
            let name = name_of(&inner.model, self.id);
            Ok(format!("<Graph {name:?}: {inputs} inputs, {} nodes, {outputs} outputs>", graph.node_count()))
        })
    }
}

impl Graph {
    /// A tuple: an edit of a list that is a copy would be lost without a word.
    fn values_of<'py>(&self, py: Python<'py>, values: Vec<ValueId>) -> PyResult<Bound<'py, PyTuple>> {
        let values = values.into_iter().map(|id| Value::new(self.model.clone_ref(py), id));
        Ok(list_of(py, values)?.to_tuple())
    }
}

/// The outputs of a new node.
enum Outputs {
    Default,
    Count(usize),
    Names(Vec<Option<String>>),
}

impl Outputs {
    fn of(given: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Self::Default) };
        if let Ok(count) = number(given)?.extract::<u16>() {
            return Ok(Self::Count(usize::from(count)));
        }
        if let Ok(name) = given.cast::<PyString>() {
            return Ok(Self::Names(vec![Some(name.to_str()?.to_owned())]));
        }
        Ok(Self::Names(given.cast::<PyList>().map(|list| list.extract())?.or_else(|_| given.extract())?))
    }

    fn make<A: FromIterator<Option<ValueId>>>(
        self,
        model: &mut ir::Model,
        graph: GraphId,
        least: usize,
    ) -> A {
        let names = match self {
            Self::Default => vec![None; least.max(1)],
            Self::Count(count) => vec![None; count],
            Self::Names(names) => names,
        };
        let make = |name: Option<String>| match name {
            Some(name) if name.is_empty() => None,
            Some(name) => {
                let name = model.intern(&name);
                Some(model.new_value_in(graph, name))
            }
            None => {
                let name = model.fresh_name("val");
                Some(model.new_value_in(graph, name))
            }
        };
        names.into_iter().map(make).collect()
    }
}
