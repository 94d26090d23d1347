//! Questions about all nodes or all weights, whose answers are columns.

use onnxkit::ir::{self, GraphId};
use onnxkit::types::tensor::Tensor as Elements;
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrow::{Column, Columns, stream_of};

/// Rows of named columns. Packages for tables read it through the C stream interface of Arrow.
#[pyclass(frozen, module = "onnxkit")]
pub(crate) struct Table {
    columns: Columns,
    rows: usize,
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<&'static str> {
        self.columns.iter().map(|&(name, _)| name).collect()
    }

    /// The columns as lists, by name.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, column) in &self.columns {
            let column = match column {
                Column::Integers(numbers) => numbers.into_bound_py_any(py)?,
                Column::Texts(texts) => texts.into_bound_py_any(py)?,
                Column::TextLists(lists) => lists.into_bound_py_any(py)?,
                Column::IntegerLists(lists) => lists.into_bound_py_any(py)?,
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
pub(crate) fn nodes(model: &ir::Model) -> Table {
    let (mut names, mut ops, mut domains, mut graphs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut inputs, mut outputs, mut attributes) = (Vec::new(), Vec::new(), Vec::new());
    let name = |value: Option<ir::ValueId>| {
        value.map(|value| model.str(model.value(value).name()).to_owned()).unwrap_or_default()
    };
    for graph in model.all_graphs() {
        let graph_name = graph_name(model, graph);
        for id in model.nodes(graph) {
            let node = model.node(id);
            names.push(model.str(node.name()).to_owned());
            ops.push(model.str(node.op()).to_owned());
            domains.push(model.str(node.domain()).to_owned());
            graphs.push(graph_name.clone());
            inputs.push(node.inputs().map(name).collect());
            outputs.push(node.outputs().iter().map(|&output| name(output)).collect());
            attributes.push(
                node.attributes().iter().map(|attribute| model.str(attribute.name()).to_owned()).collect(),
            );
        }
    }
    let rows = names.len();
    let columns = vec![
        ("name", Column::Texts(names)),
        ("op_type", Column::Texts(ops)),
        ("domain", Column::Texts(domains)),
        ("graph", Column::Texts(graphs)),
        ("inputs", Column::TextLists(inputs)),
        ("outputs", Column::TextLists(outputs)),
        ("attributes", Column::TextLists(attributes)),
    ];
    Table { columns, rows }
}

/// The initializers of all graphs.
pub(crate) fn weights(model: &ir::Model) -> Table {
    let (mut names, mut graphs, mut dtypes, mut shapes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut elements, mut bytes, mut external, mut uses) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    for graph in model.all_graphs() {
        let graph_name = graph_name(model, graph);
        for id in model.initializers(graph) {
            let value = model.value(id);
            let Some(tensor) = value.initializer().and_then(|found| found.dense()) else { continue };
            let tensor: &Elements = tensor;
            names.push(model.str(value.name()).to_owned());
            graphs.push(graph_name.clone());
            dtypes.push(tensor.elem().name().to_owned());
            shapes.push(tensor.dims().to_vec());
            elements.push(signed(tensor.element_count().unwrap_or_default()));
            bytes.push(signed(tensor.byte_len().unwrap_or_default()));
            external.push(i64::from(tensor.is_external()));
            uses.push(i64::try_from(value.uses().len()).unwrap_or(i64::MAX));
        }
    }
    let rows = names.len();
    let columns = vec![
        ("name", Column::Texts(names)),
        ("graph", Column::Texts(graphs)),
        ("dtype", Column::Texts(dtypes)),
        ("shape", Column::IntegerLists(shapes)),
        ("elements", Column::Integers(elements)),
        ("bytes", Column::Integers(bytes)),
        ("is_external", Column::Integers(external)),
        ("uses", Column::Integers(uses)),
    ];
    Table { columns, rows }
}
