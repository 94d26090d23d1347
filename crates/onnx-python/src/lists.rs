//! Long lists of Python: signals are looked for, and other threads run, while they are made.

use pyo3::prelude::*;
use pyo3::types::PyList;

/// Elements between two looks for signals.
const WATCHED_ELEMENTS: usize = 1 << 12;

/// A list of some elements.
pub(crate) fn list_of<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    items: impl IntoIterator<Item = T>,
) -> PyResult<Bound<'py, PyList>> {
    list_of_made(py, WATCHED_ELEMENTS, items.into_iter().map(Ok))
}

/// A list of elements that can fail to be made; signals are looked for after each `watched` of them.
pub(crate) fn list_of_made<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    watched: usize,
    items: impl IntoIterator<Item = PyResult<T>>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (index, item) in items.into_iter().enumerate() {
        if index % watched == watched - 1 {
            py.check_signals()?;
            py.detach(|| ());
        }
        list.append(item?)?;
    }
    Ok(list)
}
