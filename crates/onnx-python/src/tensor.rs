//! Tensors and their elements.
#![allow(unsafe_code, reason = "the methods of the buffer protocol are unsafe; what they do is in `buffer`")]

use std::ffi::CStr;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use onnxkit::types::ElemType;
use onnxkit::types::tensor::{self, DataSource, NoData};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::buffer::{Layout, bytes_of, export, joined};
use crate::data::{EndedData, of_one_call};
use crate::dtype::DType;
use crate::fault::Fault;
use crate::json::to_py;
use crate::lists::list_of;
use crate::work::Work;

/// A tensor. Its elements are read when they are asked for, and shared with arrays that are made of it.
#[pyclass(frozen, weakref, module = "onnxkit")]
pub(crate) struct Tensor {
    pub(crate) tensor: tensor::Tensor,
    data: Arc<dyn DataSource>,
    exported: OnceLock<(Bytes, Layout)>,
}

/// The format of the buffer protocol, for types that it has.
fn format(elem: ElemType) -> Option<&'static CStr> {
    Some(match elem {
        ElemType::Float => c"f",
        ElemType::Double => c"d",
        ElemType::Float16 => c"e",
        ElemType::Int8 => c"b",
        ElemType::Uint8 => c"B",
        ElemType::Int16 => c"h",
        ElemType::Uint16 => c"H",
        ElemType::Int32 => c"i",
        ElemType::Uint32 => c"I",
        ElemType::Int64 => c"q",
        ElemType::Uint64 => c"Q",
        ElemType::Bool => c"?",
        ElemType::Complex64 => c"Zf",
        ElemType::Complex128 => c"Zd",
        _ => return None,
    })
}

impl Tensor {
    pub(crate) fn new(tensor: tensor::Tensor, data: Arc<dyn DataSource>) -> Self {
        Self { tensor, data, exported: OnceLock::new() }
    }

    /// The tensor that an object describes: a tensor, an array, numbers, or a buffer.
    pub(crate) fn of_py(
        array: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<tensor::Tensor> {
        if dtype.is_none()
            && let Ok(tensor) = array.cast::<Self>()
        {
            return tensor.get().embedded(array.py());
        }
        packed(array, dtype, None)
    }

    /// The tensor with its elements, which another model can hold.
    fn embedded(&self, py: Python<'_>) -> PyResult<tensor::Tensor> {
        if !self.tensor.is_external() {
            return Ok(self.tensor.clone());
        }
        let bytes = self.bytes(py)?;
        let made = tensor::Tensor::from_raw(self.tensor.elem(), self.tensor.dims().iter().copied(), bytes);
        Ok(made.map_err(Fault::argument)?)
    }

    /// The element type, if it is one: a file can have other numbers.
    fn element_type(&self, py: Python<'_>) -> PyResult<ElemType> {
        let elem = self.tensor.elem();
        if elem != ElemType::String && elem.bits().is_none() {
            self.bytes(py)?;
        }
        Ok(elem)
    }

    /// Reads elements without the lock; signals are looked for while those of a file are copied.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&EndedData) -> Result<T, tensor::TensorError> + Send,
    ) -> PyResult<T> {
        Work::default().run(py, |execution| {
            let data = EndedData::new(of_one_call(&self.data), execution);
            read(&data).map_err(|error| Fault::limited("LoadError", error.limit(), error))
        })
    }

    fn bytes(&self, py: Python<'_>) -> PyResult<Bytes> {
        self.read(py, |data| self.tensor.bytes(data))
    }

    /// The elements in memory, and their layout.
    fn exported(&self, py: Python<'_>) -> PyResult<&(Bytes, Layout)> {
        if let Some(known) = self.exported.get() {
            return Ok(known);
        }
        let bytes = self.bytes(py)?;
        let elem = self.tensor.elem();
        let (format, item, shape) = match (format(elem), elem.bits()) {
            (Some(format), Some(bits)) => {
                let dims = self.tensor.dims().iter().map(|&dim| isize::try_from(dim).unwrap_or(0)).collect();
                (format, isize::try_from(bits / 8).unwrap_or(1), dims)
            }
            _ => (c"B", 1, vec![bytes.len().cast_signed()]),
        };
        let mut strides: Vec<isize> = Vec::with_capacity(shape.len());
        let mut stride = item;
        for &dim in shape.iter().rev() {
            strides.push(stride);
            stride = stride.saturating_mul(dim.max(1));
        }
        strides.reverse();
        Ok(self.exported.get_or_init(|| (bytes, Layout { format, item, shape, strides })))
    }
}

/// What the Python layer makes of an array: the code of the type, the shape, and a buffer or a list of strings.
fn packed(
    array: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    shape: Option<&Bound<'_, PyAny>>,
) -> PyResult<tensor::Tensor> {
    let py = array.py();
    let dtype = dtype.map(DType::of_py).transpose()?;
    let packed = py.import("onnxkit._arrays")?.call_method1("pack", (array, dtype, shape))?;
    let (dtype, dims, contents): (Bound<'_, PyAny>, Vec<i64>, Bound<'_, PyAny>) = packed.extract()?;
    let elem = DType::of_py(&dtype)?.0;
    let made = if elem == ElemType::String {
        let strings: Vec<String> = contents.cast::<PyList>()?.extract()?;
        tensor::Tensor::from_strings(dims, strings)
    } else {
        tensor::Tensor::from_raw(elem, dims, bytes_of(&contents)?)
    };
    Ok(made.map_err(|error| Fault::argument(format!("`values`, `dtype` and `shape` do not fit: {error}")))?)
}

#[pymethods]
impl Tensor {
    /// Makes a tensor of an array, numbers or a buffer. What nothing can write is shared, as `bytes` are; arrays are copied.
    #[new]
    #[pyo3(signature = (values, dtype=None, shape=None, name=None))]
    fn create(
        values: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        shape: Option<&Bound<'_, PyAny>>,
        name: Option<String>,
    ) -> PyResult<Self> {
        let mut tensor = match values.cast::<Self>() {
            Ok(tensor) if dtype.is_none() && shape.is_none() => tensor.get().embedded(values.py())?,
            _ => packed(values, dtype, shape)?,
        };
        if let Some(name) = name {
            tensor.set_name(name);
        }
        Ok(Self::new(tensor, Arc::new(NoData)))
    }

    /// The element type.
    #[getter]
    fn dtype(&self) -> DType {
        DType(self.tensor.elem())
    }

    /// The sizes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, self.tensor.dims())
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> Option<u64> {
        self.tensor.element_count()
    }

    /// The bytes of the elements; `None` for strings.
    #[getter]
    fn nbytes(&self) -> Option<u64> {
        self.tensor.byte_len()
    }

    /// The name that the file gives to the tensor itself.
    #[getter]
    fn name(&self) -> String {
        self.tensor.name().to_owned()
    }

    /// Whether the elements are in another file.
    #[getter]
    fn is_external(&self) -> bool {
        self.tensor.is_external()
    }

    /// The bytes of the elements, as a model file has them.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.bytes(py)?;
        joined(py, std::iter::once(&*bytes), bytes.len())
    }

    /// The elements as a list of numbers or strings, in the order of the memory.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let elem = self.element_type(py)?;
        if elem == ElemType::String {
            let strings = self.tensor.strings();
            let strings = strings.map_err(|error| Fault::limited("LoadError", error.limit(), error))?;
            let strings: Result<Vec<&str>, _> = strings.collect();
            return Ok(list_of(py, strings.map_err(Fault::argument)?)?.into_any());
        }
        // What is in another file is read without the lock; the elements follow one by one.
        if elem.is_float() {
            let numbers = self.read(py, |data| self.tensor.iter_f64(data))?;
            return Ok(list_of(py, numbers)?.into_any());
        }
        if elem == ElemType::Bool {
            let bytes = self.bytes(py)?;
            return Ok(list_of(py, bytes.iter().map(|&byte| byte != 0))?.into_any());
        }
        if elem == ElemType::Uint64 {
            let numbers = self.read(py, |data| self.tensor.view::<u64>(data).map(|view| view.iter()))?;
            return Ok(list_of(py, numbers)?.into_any());
        }
        if elem.is_integer() {
            let numbers = self.read(py, |data| self.tensor.iter_i64(data))?;
            return Ok(list_of(py, numbers)?.into_any());
        }
        self.numpy(py)?.call_method0("ravel")?.call_method0("tolist")
    }

    /// The elements as an array of NumPy, which shares their memory.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let shape = pyo3::types::PyTuple::new(py, self.tensor.dims())?;
        let elem = self.element_type(py)?;
        let arrays = py.import("onnxkit._arrays")?;
        if elem == ElemType::String {
            return arrays.call_method1("string_array", (self.tolist(py)?, shape));
        }
        let Self { tensor, data, .. } = self;
        let fresh = Self { tensor: tensor.clone(), data: Arc::clone(data), exported: OnceLock::new() };
        let name = elem.numpy_name();
        let bits = elem.bits();
        arrays.call_method1("array", (Py::new(py, fresh)?, name, bits, shape))
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = self.numpy(py)?;
        let array = match dtype {
            Some(dtype) => array.call_method("astype", (dtype,), None)?,
            None => array,
        };
        if copy == Some(true) { array.call_method0("copy") } else { Ok(array) }
    }

    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // Consumers may write, so that they get a copy.
        self.numpy(py)?.call_method0("copy")?.call_method("__dlpack__", (), options)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }

    /// A view of the elements. If the buffer protocol does not have their type, the view is one of bytes without a format.
    ///
    /// # Safety
    ///
    /// Python calls this with a view that it owns.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: std::ffi::c_int,
    ) -> PyResult<()> {
        let elem = slf.get().tensor.elem();
        if elem == ElemType::String {
            return Err(pyo3::exceptions::PyBufferError::new_err("strings have no buffer; use `tolist()`"));
        }
        // NumPy prefers a buffer to `__array__`, and would read the bytes of such elements as numbers.
        if flags & (ffi::PyBUF_FORMAT | ffi::PyBUF_ND) != 0 && format(elem).is_none() {
            let name = elem.name();
            let message =
                format!("the buffer protocol has no elements of {name}; use `numpy()` or `tobytes()`");
            return Err(pyo3::exceptions::PyBufferError::new_err(message));
        }
        let owner = slf.clone().into_any();
        let (bytes, layout) = slf.get().exported(slf.py())?;
        // SAFETY: The bytes and the layout are in the object, which is frozen and sets them once.
        unsafe { export(owner, view, flags, bytes, layout) }
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.tensor.dims().first();
        let first = first.ok_or_else(|| pyo3::exceptions::PyTypeError::new_err("a scalar has no length"))?;
        Ok(usize::try_from(*first).unwrap_or(0))
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        let dims: Vec<String> = self.tensor.dims().iter().map(i64::to_string).collect();
        let place = if self.tensor.is_external() { ", external" } else { "" };
        format!("<Tensor {}[{}]{place}>", self.tensor.elem().name(), dims.join(","))
    }

    /// The least, the greatest and the mean number, and counts of zeros, infinities and `nan`.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = Work::default().run(py, |execution| {
            let data = EndedData::new(of_one_call(&self.data), execution);
            onnxkit::eval::Statistics::read(&self.tensor, &data, &execution.interrupt)
                .map_err(|error| Fault::limited("RunError", error.limit(), error))
        })?;
        let number = |extremum: Option<onnxkit::eval::Extremum>| extremum.map(|number| number.to_f64());
        let value = serde_json::json!({
            "elements": found.elements, "min": number(found.min), "max": number(found.max),
            "mean": found.mean, "deviation": found.deviation, "zeros": found.zeros,
            "nans": found.nans, "infinities": found.infinities, "subnormal": found.subnormal,
        });
        to_py(py, &value)
    }
}
