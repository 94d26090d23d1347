//! Rows of facts about files, which are those of `onnx scan`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_cli::rows::{ReadError, ReadRanges, Row, RowOptions, of_file, of_source};
use pyo3::exceptions::{PyGeneratorExit, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::buffer::bytes_of;
use crate::json::to_py;
use crate::work::Work;

/// Refuses keyword arguments that no work has.
#[pyfunction]
#[pyo3(signature = (**options))]
pub(crate) fn require_options(options: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    Work::of(options).map(drop)
}

/// The row of a file, under this name. `is_alone` tells that this process does nothing else.
#[pyfunction]
#[pyo3(signature = (path, name, checks, is_alone, **options))]
pub(crate) fn scan_file<'py>(
    py: Python<'py>,
    path: PathBuf,
    name: String,
    checks: bool,
    is_alone: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let row = Work::of(options)?.run_to_end(py, |execution| {
        let options = RowOptions::default().with_checks(checks).with_alone(is_alone);
        of_file(&path, name, &options.with_execution(execution.clone()))
    })?;
    dict(py, &row)
}

/// The row of an object with `read(start, end)`, under this name.
#[pyfunction]
#[pyo3(signature = (source, size, name, checks, is_alone, **options))]
pub(crate) fn scan_source<'py>(
    py: Python<'py>,
    source: Py<PyAny>,
    size: u64,
    name: String,
    checks: bool,
    is_alone: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let raised = Mutex::new(None);
    let row = Work::of(options)?.run_to_end(py, |execution| {
        let options = RowOptions::default().with_checks(checks).with_alone(is_alone);
        let mut ranges = Source { object: &source, size, raised: &raised };
        of_source(&mut ranges, name, &options.with_execution(execution.clone()))
    })?;
    match raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(raised) => Err(raised),
        None => dict(py, &row),
    }
}

fn dict<'py>(py: Python<'py>, row: &Row) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in row.columns() {
        dict.set_item(name, to_py(py, &value)?)?;
    }
    Ok(dict)
}

/// An object with `read(start, end)`.
struct Source<'a> {
    object: &'a Py<PyAny>,
    size: u64,
    /// What `read` raised that is not an error, such as `KeyboardInterrupt`.
    raised: &'a Mutex<Option<PyErr>>,
}

impl ReadRanges for Source<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&mut self, start: u64, end: u64) -> Result<Bytes, ReadError> {
        Python::attach(|py| {
            let read = || {
                let block_of = py.import("onnxkit._ranges")?.getattr("block_of")?;
                bytes_of(&block_of.call1((self.object, start, end, self.size))?)
            };
            read().map_err(|error| self.described(py, error))
        })
    }
}

impl Source<'_> {
    /// The columns of an exception.
    fn described(&self, py: Python<'_>, error: PyErr) -> ReadError {
        let describe = || -> PyResult<(String, String)> {
            py.import("onnxkit._scan")?.getattr("described")?.call1((error.value(py),))?.extract()
        };
        // What ends the work of the caller is not an error of the source. `sys.exit` in a source is one.
        if !error.is_instance_of::<PyKeyboardInterrupt>(py) && !error.is_instance_of::<PyGeneratorExit>(py) {
            let (code, message) = describe().unwrap_or_else(|_| ("Exception".to_owned(), String::new()));
            return ReadError { code, message };
        }
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        ReadError::new("Stopped", "the work was interrupted")
    }
}
