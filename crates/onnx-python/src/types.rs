//! Types, shapes and sizes between Python and the library.

use onnxkit::ir::{self, Importer};
use onnxkit::text::{ParseOptions, parse_model, print_type};
use onnxkit::types::{Dim, Type};
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::fault::{Fault, Outcome};
use crate::number::number;

/// A size: a number, an expression, or unknown.
pub(crate) enum DimText {
    Known(i64),
    Text(String),
    Unknown,
}

impl DimText {
    pub(crate) fn intern(&self, model: &mut ir::Model) -> Dim {
        match self {
            Self::Known(size) => Dim::Known(*size),
            Self::Unknown => Dim::Unknown,
            Self::Text(text) => {
                let (exprs, names) = model.exprs_mut();
                exprs.parse(names, text)
            }
        }
    }
}

/// The type that ONNX text states, such as `float[batch,3]`.
pub(crate) fn type_of_text(model: &mut ir::Model, text: &str) -> Outcome<Type> {
    let source = format!("<ir_version: 10, opset_import: [\"\": 21]> g ({text} x) => () {{}}");
    let malformed = || {
        Fault::argument(format!(
            "`{text}` is not a type; write it as in ONNX text: `float[batch,3]`, `float[\"2*N\",4]`, `seq(int64)`"
        ))
    };
    let other = parse_model(source, &ParseOptions::default()).map_err(|_| malformed())?;
    let [input] = other.graph(other.main_graph()).inputs() else { return Err(malformed()) };
    let ty = other.ty(*input).ok_or_else(malformed)?;
    Ok(Importer::new(&other).ty(model, ty))
}

/// A type as ONNX text has it, which [`type_of_text`] reads.
pub(crate) fn type_text(model: &ir::Model, ty: &Type) -> String {
    // Types that are nested too deeply are not read either.
    print_type(model, ty).unwrap_or_else(|_| model.show_type(ty).to_string())
}

/// The sizes as Python has them.
pub(crate) fn texts_of_dims(model: &ir::Model, dims: &[Dim]) -> Vec<DimText> {
    let text = |&dim: &Dim| match dim {
        Dim::Known(size) => DimText::Known(size),
        Dim::Unknown => DimText::Unknown,
        dim => DimText::Text(model.exprs().display(dim, model.names()).to_string()),
    };
    dims.iter().map(text).collect()
}

/// A tuple of `int`, `str` and `None`.
pub(crate) fn dims_to_py(py: Python<'_>, dims: Vec<DimText>) -> PyResult<Bound<'_, PyTuple>> {
    let mut items = Vec::new();
    for dim in dims {
        items.push(match dim {
            DimText::Known(size) => size.into_bound_py_any(py)?,
            DimText::Text(text) => text.into_bound_py_any(py)?,
            DimText::Unknown => py.None().into_bound(py),
        });
    }
    PyTuple::new(py, items)
}

/// The sizes of a sequence of `int`, `str` and `None`.
pub(crate) fn dims_of_py(shape: &Bound<'_, PyAny>) -> PyResult<Vec<DimText>> {
    if shape.is_instance_of::<PyString>() || shape.is_instance_of::<PyBytes>() {
        let expected =
            "a shape is a list of sizes, such as `[\"N\", 4]`; `type` takes a text, such as `float[N,4]`";
        return Err(PyTypeError::new_err(expected));
    }
    let mut dims = Vec::new();
    for dim in shape.try_iter()? {
        let dim = dim?;
        dims.push(if dim.is_none() {
            DimText::Unknown
        } else if let Ok(size) = number(&dim)?.extract::<i64>() {
            if size < 0 {
                return Err(Fault::argument(format!("the size {size} is negative")).into());
            }
            DimText::Known(size)
        } else {
            DimText::Text(dim.extract()?)
        });
    }
    Ok(dims)
}
