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
    let list = PyList::empty(py);
    for (index, item) in items.into_iter().enumerate() {
        if index % WATCHED_ELEMENTS == WATCHED_ELEMENTS - 1 {
            py.check_signals()?;
            py.detach(|| ());
        }
        list.append(item)?;
    }
    Ok(list)
}
