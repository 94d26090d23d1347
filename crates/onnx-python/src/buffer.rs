//! Memory that Python and the library share: the buffer protocol in both directions.
//!
//! This is the only file with `unsafe`. What makes it sound: memory that the library reads while Python owns it is read-only
//! for Python as well (other memory is copied), and memory that Python reads while the library owns it is never written and is
//! kept by a reference to the object that holds it.
#![allow(unsafe_code, reason = "the buffer protocol is an interface of C")]

use std::ffi::{CStr, c_int, c_void};

use bytes::Bytes;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::fault::Fault;

/// A read-only buffer of Python as the owner of bytes.
struct Owned {
    buffer: PyUntypedBuffer,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        let length = self.buffer.len_bytes();
        if length == 0 {
            return &[];
        }
        // SAFETY: The buffer is contiguous, has this length, and stays in place until it is released, which this value
        // does when it is dropped. It is read-only, so that nothing writes to it meanwhile.
        unsafe { std::slice::from_raw_parts(self.buffer.buf_ptr().cast::<u8>(), length) }
    }
}

/// The bytes of an object: shared if it is read-only, as `bytes` are, and copied otherwise.
pub(crate) fn bytes_of(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    let buffer = PyUntypedBuffer::get(object)?;
    if !buffer.is_c_contiguous() {
        return Err(Fault::argument("the buffer is not contiguous; copy it first").into());
    }
    let is_readonly = buffer.readonly();
    let owned = Owned { buffer };
    if is_readonly { Ok(Bytes::from_owner(owned)) } else { Ok(Bytes::copy_from_slice(owned.as_ref())) }
}

/// How an exporter lays out its memory.
pub(crate) struct Layout {
    pub(crate) format: &'static CStr,
    pub(crate) item: isize,
    pub(crate) shape: Vec<isize>,
    pub(crate) strides: Vec<isize>,
}

/// Fills in a view of memory that `owner` holds and never writes.
///
/// # Safety
///
/// `view` points to a view of Python. `bytes` and `layout` are in `owner`, which does not change them while it lives.
pub(crate) unsafe fn export(
    owner: Bound<'_, PyAny>,
    view: *mut ffi::Py_buffer,
    flags: c_int,
    bytes: &[u8],
    layout: &Layout,
) -> PyResult<()> {
    if view.is_null() {
        return Err(PyBufferError::new_err("the view is null"));
    }
    if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
        return Err(PyBufferError::new_err("tensors are read-only; copy the array to change it"));
    }
    let has = |flag: c_int| flags & flag == flag;
    // SAFETY: `view` is valid as the caller guarantees, and the pointers stay valid as long as `obj`, which the view owns.
    unsafe {
        (*view).obj = owner.into_ptr();
        (*view).buf = bytes.as_ptr().cast_mut().cast::<c_void>();
        (*view).len = bytes.len().cast_signed();
        (*view).readonly = 1;
        (*view).itemsize = layout.item;
        (*view).format =
            if has(ffi::PyBUF_FORMAT) { layout.format.as_ptr().cast_mut() } else { std::ptr::null_mut() };
        (*view).ndim = if has(ffi::PyBUF_ND) { c_int::try_from(layout.shape.len()).unwrap_or(1) } else { 1 };
        (*view).shape =
            if has(ffi::PyBUF_ND) { layout.shape.as_ptr().cast_mut() } else { std::ptr::null_mut() };
        (*view).strides =
            if has(ffi::PyBUF_STRIDES) { layout.strides.as_ptr().cast_mut() } else { std::ptr::null_mut() };
        (*view).suboffsets = std::ptr::null_mut();
        (*view).internal = std::ptr::null_mut();
    }
    Ok(())
}
