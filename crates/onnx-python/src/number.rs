//! Numbers of Python as arguments. `True` and `False` are integers there, and are most often in the place of another argument here.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;

/// An integer that is not a truth value.
#[derive(Clone, Copy)]
pub(crate) struct Int<T>(pub(crate) T);

/// A number that is not a truth value.
#[derive(Clone, Copy)]
pub(crate) struct Float(pub(crate) f64);

/// Whether an object is a truth value of Python or NumPy.
pub(crate) fn is_truth(value: &Bound<'_, PyAny>) -> bool {
    // NumPy has `numpy.bool`, which was `numpy.bool_`.
    let is_of_numpy = || {
        value
            .get_type()
            .fully_qualified_name()
            .is_ok_and(|name| name == "numpy.bool" || name == "numpy.bool_")
    };
    value.is_instance_of::<PyBool>() || is_of_numpy()
}

/// Refuses truth values.
pub(crate) fn number<'a, 'py>(value: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyAny>> {
    if is_truth(value) {
        return Err(PyTypeError::new_err(format!("`{value}` is a truth value: write a number")));
    }
    Ok(value)
}

/// An integer, for arguments with a default, whose value the signature then has.
pub(crate) fn int<'py, T>(value: &Bound<'py, PyAny>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    number(value)?.extract()
}

impl<'a, 'py, T> FromPyObject<'a, 'py> for Int<T>
where
    T: for<'b> FromPyObject<'b, 'py, Error = PyErr>,
{
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        number(&value)?.extract().map(Self)
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Float {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        number(&value)?.extract().map(Self)
    }
}
