//! Long lists and texts of Python. Signals are looked for, and other threads run, while lists are made, and memory that is refused raises
//! `MemoryError`.

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

/// Elements between two looks for signals.
const WATCHED_ELEMENTS: usize = 1 << 12;

/// What is asked for before elements are made, in bytes: the constructors of small objects do not return errors.
const ROOM: usize = 1 << 20;

/// A text of any length.
pub(crate) fn text<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    PyString::from_bytes(py, text.as_bytes())
}

/// Pairs of texts of any length.
pub(crate) fn pairs_of_texts<'py>(
    py: Python<'py>,
    pairs: &[(String, String)],
) -> PyResult<Bound<'py, PyTuple>> {
    let pair = |(key, value): &(String, String)| Ok((text(py, key)?, text(py, value)?));
    PyTuple::new(py, pairs.iter().map(pair).collect::<PyResult<Vec<_>>>()?)
}

/// Asks for memory that is not kept.
fn require_room() -> PyResult<()> {
    let refused = |_| PyMemoryError::new_err("the system refuses the memory for a list");
    Vec::<u8>::new().try_reserve_exact(ROOM).map_err(refused)
}

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
            require_room()?;
        }
        list.append(item?)?;
    }
    Ok(list)
}
