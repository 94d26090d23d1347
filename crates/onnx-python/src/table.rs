//! Questions about all nodes or all weights, whose answers are columns.

use onnxkit::ir::{self, GraphId};
use onnxkit::types::Interrupt;
use onnxkit::types::tensor::Tensor as Elements;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::arrow::{Column, Columns, stream_of};
use crate::fault::{Fault, Outcome};
use crate::lists::list_of;

/// Rows of named columns. Packages for tables read it through the C stream interface of Arrow.
#[pyclass(frozen, module = "onnxkit")]
pub(crate) struct Table {
    columns: Columns,
    rows: usize,
}

/// The elements of a column of Python, which are of one kind or `None`.
fn column_of(list: &Bound<'_, PyAny>) -> PyResult<Column> {
    if list.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("a column is a list, not a text"));
    }
    let mut items: Vec<Bound<'_, PyAny>> = list.try_iter()?.collect::<PyResult<_>>()?;
    let first = items.iter().find(|item| !item.is_none());
    let Some(first) = first else { return Ok(Column::Texts(vec![None; items.len()])) };
    if first.is_instance_of::<PyBool>() {
        return Ok(Column::Flags(list.extract()?));
    }
    if items.iter().any(|item| item.is_instance_of::<PyFloat>()) {
        return Ok(Column::Numbers(list.extract()?));
    }
    if first.is_instance_of::<PyInt>() {
        return Ok(Column::Integers(list.extract()?));
    }
    if first.is_instance_of::<PyString>() {
        let text = |item: Bound<'_, PyAny>| {
            if item.is_none() {
                return Ok(None);
            }
            Ok::<_, PyErr>(Some(item.cast::<PyString>()?.to_str()?.to_owned()))
        };
        return Ok(Column::Texts(items.drain(..).map(text).collect::<PyResult<_>>()?));
    }
    Ok(Column::TextLists(list.extract()?))
}

#[pymethods]
impl Table {
    /// Makes a table of lists by name, all of the same length.
    #[new]
    fn new(columns: &Bound<'_, PyDict>) -> PyResult<Self> {
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
            found.push((name.extract()?, column_of(&list)?));
        }
        Ok(Self { columns: found, rows: rows.unwrap_or_default() })
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.columns.iter().map(|(name, _)| name.as_str()).collect()
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
