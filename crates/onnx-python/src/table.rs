//! Questions about all nodes or all weights, whose answers are columns.

use std::collections::{BTreeMap, HashMap};

use onnxkit::ir::{self, GraphId};
use onnxkit::types::Interrupt;
use onnxkit::types::tensor::Tensor as Elements;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::arrow::{Column, Columns, stream_of};
use crate::fault::{Fault, Outcome};
use crate::lists::list_of;
use crate::model::interop;
use crate::number::number;

/// Rows of named columns. Packages for tables read it through the C stream interface of Arrow.
#[pyclass(frozen, module = "onnxkit")]
pub(crate) struct Table {
    columns: Columns,
    rows: usize,
}

/// The elements of a column of Python, of the type that is named, or that all of them have which are not `None`.
fn column_of(list: &Bound<'_, PyAny>, ty: Option<&str>) -> PyResult<Column> {
    if list.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("a column is a list, not a text"));
    }
    let items: Vec<Bound<'_, PyAny>> = list.try_iter()?.collect::<PyResult<_>>()?;
    let numbers = || items.iter().filter(|item| !item.is_none()).try_for_each(|item| number(item).map(drop));
    Ok(match ty.unwrap_or_else(|| type_of(&items)) {
        "bool" => Column::Flags(list.extract()?),
        "int64" => {
            numbers()?;
            Column::Integers(list.extract()?)
        }
        "float64" => {
            numbers()?;
            Column::Numbers(list.extract()?)
        }
        "string" => {
            let text = |item: &Bound<'_, PyAny>| {
                if item.is_none() {
                    return Ok(None);
                }
                Ok::<_, PyErr>(Some(item.cast::<PyString>()?.to_str()?.to_owned()))
            };
            Column::Texts(items.iter().map(text).collect::<PyResult<_>>()?)
        }
        "list<int64>" => Column::IntegerLists(list.extract()?),
        "list<string>" => Column::TextLists(list.extract()?),
        other => {
            let known = "bool, int64, float64, string, list<int64> or list<string>";
            let message = format!("`types`: a column has no elements of `{other}`; write {known}");
            return Err(Fault::argument(message).into());
        }
    })
}

/// The type of elements of one kind.
fn type_of(items: &[Bound<'_, PyAny>]) -> &'static str {
    let Some(first) = items.iter().find(|item| !item.is_none()) else { return "string" };
    match () {
        () if first.is_instance_of::<PyBool>() => "bool",
        () if items.iter().any(|item| item.is_instance_of::<PyFloat>()) => "float64",
        () if first.is_instance_of::<PyInt>() => "int64",
        () if first.is_instance_of::<PyString>() => "string",
        () => {
            let is_integers =
                |item: &Bound<'_, PyAny>| item.get_item(0).is_ok_and(|first| first.is_instance_of::<PyInt>());
            if items.iter().any(is_integers) { "list<int64>" } else { "list<string>" }
        }
    }
}

#[pymethods]
impl Table {
    /// Makes a table of lists by name, all of the same length. `types` are those of columns, by name, as `types` of a table has them; by
    /// default, the elements say it.
    #[new]
    #[pyo3(signature = (columns, types=None))]
    fn new(columns: &Bound<'_, PyDict>, types: Option<HashMap<String, String>>) -> PyResult<Self> {
        let mut types = types.unwrap_or_default();
        let mut found = Columns::new();
        let mut rows = None;
        for (name, list) in columns {
            let length = list.len()?;
            if *rows.get_or_insert(length) != length {
                return Err(Fault::argument(format!(
                    "the column `{name}` has another length than the first one"
                ))
                .into());
            }
            let name: String = name.extract()?;
            let column = column_of(&list, types.remove(&name).as_deref())?;
            found.push((name, column));
        }
        if let Some(name) = types.keys().next() {
            return Err(Fault::argument(format!("`types`: the table has no column `{name}`")).into());
        }
        Ok(Self { columns: found, rows: rows.unwrap_or_default() })
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.columns.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The types of the columns, by name, as Arrow names them: `bool`, `int64`, `float64`, `string`, `list<int64>` or `list<string>`.
    #[getter]
    fn types(&self) -> BTreeMap<&str, &'static str> {
        self.columns.iter().map(|(name, column)| (name.as_str(), column.type_name())).collect()
    }

    /// The columns as lists, by name.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, column) in &self.columns {
            let column = match column {
                Column::Flags(flags) => list_of(py, flags)?,
                Column::Integers(numbers) => list_of(py, numbers)?,
                Column::Numbers(numbers) => list_of(py, numbers)?,
                Column::Texts(texts) => list_of(py, texts)?,
                Column::TextLists(lists) => list_of(py, lists)?,
                Column::IntegerLists(lists) => list_of(py, lists)?,
            };
            dict.set_item(name, column)?;
        }
        Ok(dict)
    }

    /// The table as a stream of Arrow: `pyarrow.table(t)`, `polars.DataFrame(t)`, `pandas.DataFrame.from_arrow(t)`.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // A producer may ignore the schema that a consumer would prefer.
        let _ = requested_schema;
        stream_of(py, self.columns.clone(), self.rows)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.columns == other.get().columns)
    }

    fn _repr_html_(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        interop(slf.py(), "table_to_html", &slf)
    }

    fn __len__(&self) -> usize {
        self.rows
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        format!("<Table of {} rows: {}>", self.rows, self.column_names().join(", "))
    }
}

fn graph_name(model: &ir::Model, graph: GraphId) -> String {
    model.str(model.graph(graph).name()).to_owned()
}

/// All nodes, those of functions and nested graphs included.
pub(crate) fn nodes(model: &ir::Model, interrupt: &Interrupt) -> Outcome<Table> {
    let (mut names, mut ops, mut domains, mut graphs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut inputs, mut outputs, mut attributes) = (Vec::new(), Vec::new(), Vec::new());
    let name = |value: Option<ir::ValueId>| {
        value.map(|value| model.str(model.value(value).name()).to_owned()).unwrap_or_default()
    };
    for graph in model.all_graphs() {
        let graph_name = graph_name(model, graph);
        for id in model.nodes(graph) {
            interrupt.check()?;
            let node = model.node(id);
            names.push(Some(model.str(node.name()).to_owned()));
            ops.push(Some(model.str(node.op()).to_owned()));
            domains.push(Some(model.str(node.domain()).to_owned()));
            graphs.push(Some(graph_name.clone()));
            inputs.push(node.inputs().map(name).collect());
            outputs.push(node.outputs().iter().map(|&output| name(output)).collect());
            attributes.push(
                node.attributes().iter().map(|attribute| model.str(attribute.name()).to_owned()).collect(),
            );
        }
    }
    let rows = names.len();
    let columns = vec![
        ("name".to_owned(), Column::Texts(names)),
        ("op_type".to_owned(), Column::Texts(ops)),
        ("domain".to_owned(), Column::Texts(domains)),
        ("graph".to_owned(), Column::Texts(graphs)),
        ("inputs".to_owned(), Column::TextLists(inputs)),
        ("outputs".to_owned(), Column::TextLists(outputs)),
        ("attributes".to_owned(), Column::TextLists(attributes)),
    ];
    Ok(Table { columns, rows })
}

/// The initializers of all graphs.
pub(crate) fn weights(model: &ir::Model, interrupt: &Interrupt) -> Outcome<Table> {
    let (mut names, mut graphs, mut dtypes, mut shapes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut elements, mut bytes, mut external, mut uses) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    for graph in model.all_graphs() {
        let graph_name = graph_name(model, graph);
        for id in model.initializers(graph) {
            interrupt.check()?;
            let value = model.value(id);
            let Some(tensor) = value.initializer().and_then(|found| found.dense()) else { continue };
            let tensor: &Elements = tensor;
            names.push(Some(model.str(value.name()).to_owned()));
            graphs.push(Some(graph_name.clone()));
            dtypes.push(Some(tensor.elem().name().to_owned()));
            shapes.push(tensor.dims().to_vec());
            elements.push(Some(signed(tensor.element_count().unwrap_or_default())));
            bytes.push(Some(signed(tensor.byte_len().unwrap_or_default())));
            external.push(Some(tensor.is_external()));
            uses.push(Some(i64::try_from(value.uses().len()).unwrap_or(i64::MAX)));
        }
    }
    let rows = names.len();
    let columns = vec![
        ("name".to_owned(), Column::Texts(names)),
        ("graph".to_owned(), Column::Texts(graphs)),
        ("dtype".to_owned(), Column::Texts(dtypes)),
        ("shape".to_owned(), Column::IntegerLists(shapes)),
        ("elements".to_owned(), Column::Integers(elements)),
        ("bytes".to_owned(), Column::Integers(bytes)),
        ("is_external".to_owned(), Column::Flags(external)),
        ("uses".to_owned(), Column::Integers(uses)),
    ];
    Ok(Table { columns, rows })
}
