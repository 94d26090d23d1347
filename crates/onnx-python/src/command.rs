//! The command.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command as the main function of the process does, and returns its exit status.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| onnx_cli::main(&arguments))
}
