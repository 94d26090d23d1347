//! Values of reports as Python objects.

use std::borrow::Borrow;

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;

use crate::lists::{list_of_made, text};

/// Signals are looked for after this many items of a list. A report can have an entry for each node, which is the longest part of some
/// work.
const CHECKED_ITEMS: usize = 512;

/// A Python object for a value: `None`, `bool`, `int`, `float`, `str`, `list` or `dict`.
pub(crate) fn to_py<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(flag) => flag.into_bound_py_any(py),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => integer.into_bound_py_any(py),
            (None, Some(integer)) => integer.into_bound_py_any(py),
            (None, None) => number.as_f64().into_bound_py_any(py),
        },
        Value::String(value) => Ok(text(py, value)?.into_any()),
        Value::Array(items) => Ok(listed(py, items)?.into_any()),
        Value::Object(entries) => {
            let dict = PyDict::new(py);
            for (key, item) in entries {
                dict.set_item(key, to_py(py, item)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// A list of the objects for values. One for each node of a model is made at a time: all of them would take seconds to free.
pub(crate) fn listed<'py>(
    py: Python<'py>,
    items: impl IntoIterator<Item: Borrow<Value>>,
) -> PyResult<Bound<'py, PyList>> {
    list_of_made(py, CHECKED_ITEMS, items.into_iter().map(|item| to_py(py, item.borrow())))
}
