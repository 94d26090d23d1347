//! Attributes between Python and the library.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use onnxkit::ir::{self, AttrValue, GraphId};
use onnxkit::schema::{AttrKind, Registry, SchemaRef};
use onnxkit::types::Symbol;
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::{PyException, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyList, PyRange, PyString, PyTuple};

use crate::dtype::DType;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::model::Model;
use crate::node::{Node, alive};
use crate::number::{is_truth, number};
use crate::tensor::Tensor;
use crate::types::{type_of_text, type_text};

/// The attributes of a node, as a mapping.
#[pyclass(frozen, mapping, module = "onnxkit")]
pub(crate) struct Attributes {
    pub(crate) node: Py<Node>,
}

/// A reference to an attribute of the function around a node.
#[pyclass(frozen, module = "onnxkit")]
pub(crate) struct AttrRef {
    /// The attribute of the function.
    #[pyo3(get)]
    name: String,
}

#[pymethods]
impl AttrRef {
    #[new]
    fn new(name: String) -> Self {
        Self { name }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().name == self.name)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.name.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("AttrRef({:?})", self.name)
    }
}

/// An attribute on its way to Python, without the lock of the model.
enum Taken {
    Value(AttrValue),
    Text(String),
    Ref(String),
}

/// The kind that the schema of an operator gives to an attribute.
pub(crate) fn attribute_kind(domain: &str, op: &str, version: i64, name: &str) -> Option<AttrKind> {
    match Registry::STANDARD.lookup(domain, op, version)? {
        SchemaRef::Standard(schema) => {
            schema.attributes().iter().find(|known| known.text() == name).map(|known| known.kind)
        }
        SchemaRef::Declared(schema) => schema.attribute(name).and_then(|known| known.kind),
    }
}

/// The value of an attribute, of the kind that the schema wants, or that the object has.
pub(crate) fn of_py(
    model: &Py<Model>,
    value: &Bound<'_, PyAny>,
    kind: Option<AttrKind>,
) -> PyResult<AttrValue> {
    let kind = match kind {
        Some(kind) if kind != AttrKind::Undefined => kind,
        _ => kind_of(value)?,
    };
    let py = value.py();
    let wrong = |error: PyErr| -> PyErr {
        if !error.is_instance_of::<PyException>(py) {
            // Ctrl-C, and what ends the interpreter.
            return error;
        }
        Fault::argument(format!("`{value}` is not a value of the kind {}: {error}", kind.name())).into()
    };
    Ok(match kind {
        AttrKind::Float => AttrValue::Float(float(value).map_err(wrong)?),
        // ONNX has no truth values: those that operators have are integers.
        AttrKind::Int if is_truth(value) => AttrValue::Int(value.is_truthy()?.into()),
        AttrKind::Int => AttrValue::Int(int(value).map_err(wrong)?),
        AttrKind::String => AttrValue::String(text_of(value).map_err(wrong)?),
        AttrKind::Floats => {
            let items = value.try_iter().map_err(wrong)?.map(|item| float(&item?));
            AttrValue::Floats(items.collect::<PyResult<_>>().map_err(wrong)?)
        }
        AttrKind::Ints => {
            let items = value.try_iter().map_err(wrong)?.map(|item| int(&item?));
            AttrValue::Ints(items.collect::<PyResult<_>>().map_err(wrong)?)
        }
        AttrKind::Strings => {
            let texts = value.try_iter().map_err(wrong)?.map(|item| text_of(&item?));
            AttrValue::Strings(texts.collect::<PyResult<_>>().map_err(wrong)?)
        }
        AttrKind::Tensor => AttrValue::Tensor(Arc::new(Tensor::of_py(value, None)?)),
        AttrKind::Tensors => {
            let tensors =
                value.try_iter().map_err(wrong)?.map(|item| Tensor::of_py(&item?, None).map(Arc::new));
            AttrValue::Tensors(tensors.collect::<PyResult<_>>()?)
        }
        AttrKind::TypeProto => {
            let text: String = value.extract().map_err(wrong)?;
            let ty = model.get().write(py, |model| type_of_text(model, &text))?;
            AttrValue::Type(Arc::new(ty))
        }
        AttrKind::Graph => AttrValue::Graph(own_graph(model, value).map_err(wrong)?),
        AttrKind::Graphs => {
            let graphs = value.try_iter().map_err(wrong)?.map(|item| own_graph(model, &item?));
            AttrValue::Graphs(graphs.collect::<PyResult<_>>().map_err(wrong)?)
        }
        _ => {
            let message = format!("attributes of the kind {} cannot be set from Python", kind.name());
            return Err(Fault::argument(message).into());
        }
    })
}

/// An integer, or the number of an element type.
fn int(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    match value.cast::<DType>() {
        Ok(dtype) => Ok(i64::from(dtype.get().0.code())),
        Err(_) => number(value)?.extract(),
    }
}

/// A number of 32 bits; one that is not infinite must not become so.
fn float(value: &Bound<'_, PyAny>) -> PyResult<f32> {
    let number: f64 = number(value)?.extract()?;
    let narrow = number as f32;
    if narrow.is_infinite() && number.is_finite() {
        return Err(Fault::argument(format!("{number} is beyond the range of a float attribute")).into());
    }
    Ok(narrow)
}

fn text_of(value: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    match value.cast::<PyBytes>() {
        Ok(bytes) => Ok(Bytes::copy_from_slice(bytes.as_bytes())),
        Err(_) => Ok(Bytes::from(value.extract::<String>()?)),
    }
}

fn own_graph(model: &Py<Model>, value: &Bound<'_, PyAny>) -> PyResult<GraphId> {
    let graph = value.cast::<Graph>()?.get();
    if !graph.model.is(model) {
        return Err(Fault::edit("the graph is of another model").into());
    }
    Ok(graph.id)
}

/// The kind of a number or a text; scalars of NumPy are numbers. `None` for other objects.
fn scalar_kind(value: &Bound<'_, PyAny>) -> Option<AttrKind> {
    if is_truth(value) || value.is_instance_of::<PyInt>() || value.cast::<DType>().is_ok() {
        return Some(AttrKind::Int);
    }
    if value.is_instance_of::<PyFloat>() {
        return Some(AttrKind::Float);
    }
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return Some(AttrKind::String);
    }
    // A scalar of NumPy has no axes and no length, as an array without axes has, which is a tensor.
    let is_scalar = value.hasattr("dtype").unwrap_or(false) && !value.hasattr("__setitem__").unwrap_or(true);
    if !is_scalar {
        return None;
    }
    let is = |method: &str| value.hasattr(method).unwrap_or(false);
    match () {
        () if is("__index__") => Some(AttrKind::Int),
        () if is("__float__") => Some(AttrKind::Float),
        () => None,
    }
}

/// The kind of an object, for an attribute that no schema describes.
fn kind_of(value: &Bound<'_, PyAny>) -> PyResult<AttrKind> {
    if let Some(kind) = scalar_kind(value) {
        return Ok(kind);
    }
    if value.cast::<Graph>().is_ok() {
        return Ok(AttrKind::Graph);
    }
    let is_list = value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PyRange>();
    if !is_list {
        return Ok(AttrKind::Tensor);
    }
    let items: Vec<Bound<'_, PyAny>> = value.try_iter()?.collect::<PyResult<_>>()?;
    if items.is_empty() {
        return Err(Fault::argument("the kind of an empty list is not known for this attribute").into());
    }
    if items.iter().all(|item| item.cast::<Graph>().is_ok()) {
        return Ok(AttrKind::Graphs);
    }
    let kinds: Vec<Option<AttrKind>> = items.iter().map(scalar_kind).collect();
    let all = |known: &[AttrKind]| kinds.iter().all(|kind| kind.is_some_and(|kind| known.contains(&kind)));
    match () {
        () if all(&[AttrKind::Int]) => Ok(AttrKind::Ints),
        () if all(&[AttrKind::Int, AttrKind::Float]) => Ok(AttrKind::Floats),
        () if all(&[AttrKind::String]) => Ok(AttrKind::Strings),
        () if kinds.iter().all(Option::is_none) => Ok(AttrKind::Tensors),
        () => Err(Fault::argument(format!(
            "`{value}` has elements of different kinds; an attribute is a list of integers, floats, strings, tensors or graphs"
        ))
        .into()),
    }
}

impl Attributes {
    fn taken(&self, py: Python<'_>, name: Option<&str>) -> PyResult<Vec<(Symbol, String, Taken)>> {
        let node = self.node.get();
        node.model.get().read(py, |inner| {
            let model = &inner.model;
            let found = alive(model, node.id)?.attributes().iter();
            let found = found.filter(|attribute| name.is_none_or(|name| model.str(attribute.name()) == name));
            let take = |attribute: &ir::Attribute| match attribute.value() {
                AttrValue::Ref(target) => Taken::Ref(model.str(*target).to_owned()),
                AttrValue::Type(ty) => Taken::Text(type_text(model, ty)),
                other => Taken::Value(other.clone()),
            };
            Ok(found.map(|found| (found.name(), model.str(found.name()).to_owned(), take(found))).collect())
        })
    }

    fn to_py<'py>(&self, py: Python<'py>, taken: Taken) -> PyResult<Bound<'py, PyAny>> {
        let model = &self.node.get().model;
        let value = match taken {
            Taken::Ref(name) => return AttrRef { name }.into_bound_py_any(py),
            Taken::Text(text) => return text.into_bound_py_any(py),
            Taken::Value(value) => value,
        };
        let text = |bytes: &Bytes| match std::str::from_utf8(bytes) {
            Ok(text) => text.into_bound_py_any(py),
            Err(_) => PyBytes::new(py, bytes).into_bound_py_any(py),
        };
        let graph = |id: GraphId| Graph { model: model.clone_ref(py), id }.into_bound_py_any(py);
        let tensor = |tensor: &Arc<onnxkit::types::tensor::Tensor>| {
            let data = model.get().snapshot(py)?.kept_data();
            Tensor::new((**tensor).clone(), data).into_bound_py_any(py)
        };
        let list = |items: Vec<Bound<'py, PyAny>>| Ok(PyList::new(py, items)?.into_any());
        match value {
            AttrValue::Float(number) => number.into_bound_py_any(py),
            AttrValue::Int(number) => number.into_bound_py_any(py),
            AttrValue::String(bytes) => text(&bytes),
            AttrValue::Floats(numbers) => numbers.into_bound_py_any(py),
            AttrValue::Ints(numbers) => numbers.into_bound_py_any(py),
            AttrValue::Strings(texts) => list(texts.iter().map(text).collect::<PyResult<_>>()?),
            AttrValue::Tensor(value) => tensor(&value),
            AttrValue::Tensors(values) => list(values.iter().map(tensor).collect::<PyResult<_>>()?),
            AttrValue::Graph(id) => graph(id),
            AttrValue::Graphs(ids) => list(ids.into_iter().map(graph).collect::<PyResult<_>>()?),
            AttrValue::None => Ok(py.None().into_bound(py)),
            other => {
                let kind = other.kind().map_or("unknown", AttrKind::name);
                Err(Fault::argument(format!("attributes of the kind {kind} cannot be read from Python"))
                    .into())
            }
        }
    }
}

#[pymethods]
impl Attributes {
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.taken(py, Some(name))?.pop() {
            Some((_, _, taken)) => self.to_py(py, taken),
            None => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// The value of an attribute, or `default` if the node does not have it.
    #[pyo3(signature = (name, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.taken(py, Some(name))?.pop() {
            Some((_, _, taken)) => self.to_py(py, taken),
            None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    fn __setitem__(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let node = self.node.get();
        let kind = node.model.get().read(py, |inner| {
            let model = &inner.model;
            let known = alive(model, node.id)?;
            let version = model.versions_in(known.graph()).get(known.domain());
            let (domain, op) = (model.str(known.domain()), model.str(known.op()));
            Ok(version.and_then(|version| attribute_kind(domain, op, version, name)))
        })?;
        let value = of_py(&node.model, value, kind)?;
        node.model.get().write(py, |model| {
            alive(model, node.id)?;
            let name = model.intern(name);
            model
                .set_attribute(node.id, ir::Attribute::new(name, value))
                .map_err(|error| Fault::edit(error.show(model)))
        })
    }

    fn __delitem__(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let node = self.node.get();
        let is_removed = node.model.get().write(py, |model| {
            alive(model, node.id)?;
            let symbol = model.names().get(name);
            Ok(symbol.is_some_and(|symbol| model.remove_attribute(node.id, symbol)))
        })?;
        if is_removed { Ok(()) } else { Err(PyKeyError::new_err(name.to_owned())) }
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(!self.taken(py, Some(name))?.is_empty())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let node = self.node.get();
        node.model.get().read(py, |inner| Ok(alive(&inner.model, node.id)?.attributes().len()))
    }

    /// The names of the attributes.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.taken(py, None)?.into_iter().map(|(_, name, _)| name).collect())
    }

    /// The values of the attributes.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.taken(py, None)?.into_iter().map(|(_, _, taken)| self.to_py(py, taken)).collect()
    }

    /// Pairs of names and values.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let pair = |(_, name, taken)| Ok((name, self.to_py(py, taken)?));
        self.taken(py, None)?.into_iter().map(pair).collect()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.keys(py)?)?.try_iter()?.into_any())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let node = self.node.get();
        node.model.get().read(py, |inner| {
            let attributes = alive(&inner.model, node.id)?.attributes().iter();
            let texts: Vec<String> =
                attributes.map(|attribute| inner.model.show_attribute(attribute).to_string()).collect();
            Ok(format!("<Attributes {}>", texts.join(", ")))
        })
    }
}
