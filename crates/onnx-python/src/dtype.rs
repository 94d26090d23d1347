//! Element types.

use onnxkit::types::ElemType;
use pyo3::prelude::*;

use crate::fault::Fault;
use crate::number::number;

/// An element type. It equals its ONNX code, its names, and the data type of NumPy.
#[pyclass(frozen, module = "onnxkit")]
#[derive(Clone, Copy)]
pub(crate) struct DType(pub(crate) ElemType);

impl DType {
    /// The element type that a name, a code or a data type of NumPy means.
    pub(crate) fn of_py(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let found = if let Ok(dtype) = given.cast::<Self>() {
            Some(dtype.get().0)
        } else if let Ok(code) = number(given).and_then(|given| given.extract::<i32>()) {
            ElemType::from_code(code).filter(|elem| elem.code() != 0)
        } else if let Ok(name) = given.extract::<String>() {
            elem_of_name(&name)
        } else if let Ok(name) = given.getattr("name").and_then(|name| name.extract::<String>()) {
            elem_of_name(&name)
        } else if let Ok(name) = given.getattr("__name__").and_then(|name| name.extract::<String>()) {
            elem_of_name(&name)
        } else {
            None
        };
        let unknown =
            || Fault::argument(format!("`{given}` is not an element type; `onnxkit.DType` has all"));
        Ok(found.map(Self).ok_or_else(unknown)?)
    }
}

/// The type of a name of ONNX text, of the enumeration, of NumPy or of `ml_dtypes`.
fn elem_of_name(name: &str) -> Option<ElemType> {
    let is_named = |elem: &ElemType| {
        elem.name() == name || elem.numpy_name() == name || elem.proto_name().eq_ignore_ascii_case(name)
    };
    let known = ElemType::all().filter(|elem| elem.code() != 0).find(is_named);
    known.or(match name {
        "str" | "str_" | "object" => Some(ElemType::String),
        "bool_" => Some(ElemType::Bool),
        _ => None,
    })
}

#[pymethods]
impl DType {
    #[classattr]
    const FLOAT: Self = Self(ElemType::Float);
    #[classattr]
    const UINT8: Self = Self(ElemType::Uint8);
    #[classattr]
    const INT8: Self = Self(ElemType::Int8);
    #[classattr]
    const UINT16: Self = Self(ElemType::Uint16);
    #[classattr]
    const INT16: Self = Self(ElemType::Int16);
    #[classattr]
    const INT32: Self = Self(ElemType::Int32);
    #[classattr]
    const INT64: Self = Self(ElemType::Int64);
    #[classattr]
    const STRING: Self = Self(ElemType::String);
    #[classattr]
    const BOOL: Self = Self(ElemType::Bool);
    #[classattr]
    const FLOAT16: Self = Self(ElemType::Float16);
    #[classattr]
    const DOUBLE: Self = Self(ElemType::Double);
    #[classattr]
    const UINT32: Self = Self(ElemType::Uint32);
    #[classattr]
    const UINT64: Self = Self(ElemType::Uint64);
    #[classattr]
    const COMPLEX64: Self = Self(ElemType::Complex64);
    #[classattr]
    const COMPLEX128: Self = Self(ElemType::Complex128);
    #[classattr]
    const BFLOAT16: Self = Self(ElemType::Bfloat16);
    #[classattr]
    const FLOAT8E4M3FN: Self = Self(ElemType::Float8E4M3Fn);
    #[classattr]
    const FLOAT8E4M3FNUZ: Self = Self(ElemType::Float8E4M3Fnuz);
    #[classattr]
    const FLOAT8E5M2: Self = Self(ElemType::Float8E5M2);
    #[classattr]
    const FLOAT8E5M2FNUZ: Self = Self(ElemType::Float8E5M2Fnuz);
    #[classattr]
    const UINT4: Self = Self(ElemType::Uint4);
    #[classattr]
    const INT4: Self = Self(ElemType::Int4);
    #[classattr]
    const FLOAT4E2M1: Self = Self(ElemType::Float4E2M1);
    #[classattr]
    const FLOAT8E8M0: Self = Self(ElemType::Float8E8M0);
    #[classattr]
    const UINT2: Self = Self(ElemType::Uint2);
    #[classattr]
    const INT2: Self = Self(ElemType::Int2);
    #[classattr]
    const FLOAT6E2M3: Self = Self(ElemType::Float6E2M3);
    #[classattr]
    const FLOAT6E3M2: Self = Self(ElemType::Float6E3M2);

    #[new]
    fn new(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of_py(value)
    }

    /// The element types, in the order of their codes.
    #[staticmethod]
    fn all() -> Vec<Self> {
        ElemType::all().filter(|elem| elem.code() != 0).map(Self).collect()
    }

    /// The name in ONNX text, such as `float`.
    #[getter]
    fn text(&self) -> &'static str {
        self.0.name()
    }

    /// The name of the enumeration of ONNX, such as `FLOAT`.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.proto_name()
    }

    /// The name in NumPy or `ml_dtypes`, such as `float32`.
    #[getter]
    fn numpy_name(&self) -> &'static str {
        self.0.numpy_name()
    }

    /// The code of ONNX.
    #[getter]
    fn value(&self) -> i32 {
        self.0.code()
    }

    /// The bits of an element; `None` for strings.
    #[getter]
    fn bits(&self) -> Option<u32> {
        self.0.bits()
    }

    fn is_floating_point(&self) -> bool {
        self.0.is_float()
    }

    fn is_integer(&self) -> bool {
        self.0.is_integer()
    }

    /// The data type of NumPy; `ml_dtypes` has those that NumPy has not.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("onnxkit._arrays")?.call_method1("numpy_dtype", (self.0.numpy_name(),))
    }

    fn __int__(&self) -> i32 {
        self.0.code()
    }

    fn __index__(&self) -> i32 {
        self.0.code()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        Self::of_py(other).is_ok_and(|other| other.0 == self.0)
    }

    fn __hash__(&self) -> i32 {
        self.0.code()
    }

    fn __str__(&self) -> &'static str {
        self.0.name()
    }

    fn __repr__(&self) -> String {
        format!("DType.{}", self.0.proto_name())
    }

    fn __reduce__(slf: Bound<'_, Self>) -> (Bound<'_, PyAny>, (i32,)) {
        let code = slf.get().0.code();
        (slf.get_type().into_any(), (code,))
    }
}
