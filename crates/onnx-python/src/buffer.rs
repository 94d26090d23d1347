//! Memory that Python and the library share: the buffer protocol in both directions.
//!
//! This is the only file with `unsafe`. What makes it sound: memory that the library reads while Python owns it is that of objects
//! that never change (other memory is copied: a view can be read-only while another one writes), and memory that Python reads while the library owns it is never written and is
//! kept by a reference to the object that holds it.
#![allow(unsafe_code, reason = "the buffer protocol is an interface of C")]

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use bytes::Bytes;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyMemoryError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::fault::Fault;
use crate::tensor::Tensor;

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
        // does when it is dropped. Nothing writes to it meanwhile: `bytes_of` copies what something could write.
        unsafe { std::slice::from_raw_parts(self.buffer.buf_ptr().cast::<u8>(), length) }
    }
}

/// The bytes of an object: shared if nothing can write them, as those of `bytes`, tensors and read-only maps of files, and copied
/// otherwise.
pub(crate) fn bytes_of(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    let buffer = PyUntypedBuffer::get(object)?;
    if !buffer.is_c_contiguous() {
        return Err(Fault::argument("the buffer is not contiguous; copy it first").into());
    }
    let is_shared = buffer.readonly() && is_constant(&owner_of(object)?);
    let owned = Owned { buffer };
    if is_shared { Ok(Bytes::from_owner(owned)) } else { copied(object.py(), &owned) }
}

/// A copy, during which signals are looked for. The lock is held: another thread could write meanwhile.
fn copied(py: Python<'_>, owned: &Owned) -> PyResult<Bytes> {
    let (mut copy, length) = (Vec::new(), owned.as_ref().len());
    let refused = |_| PyMemoryError::new_err(format!("the system refuses the memory for {length} bytes"));
    copy.try_reserve_exact(length).map_err(refused)?;
    while let Some(rest) = owned.as_ref().get(copy.len()..).filter(|rest| !rest.is_empty()) {
        copy.extend_from_slice(rest.get(..WATCHED_BYTES).unwrap_or(rest));
        // A handler can write, so that no borrow outlives this.
        py.check_signals()?;
    }
    Ok(copy.into())
}

/// The object whose memory a view or an array of NumPy shows.
fn owner_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    /// Views of views are rare.
    const MOST: usize = 16;
    let mut owner = object.clone();
    for _ in 0..MOST {
        let next = if owner.is_instance_of::<PyMemoryView>() {
            owner.getattr("obj")?
        } else if owner.get_type().module().is_ok_and(|module| module == "numpy") {
            owner.getattr("base")?
        } else {
            break;
        };
        if next.is_none() {
            break;
        }
        owner = next;
    }
    Ok(owner)
}

/// Whether nothing can write the memory of an object while it exists.
fn is_constant(owner: &Bound<'_, PyAny>) -> bool {
    let is_map = || owner.get_type().fully_qualified_name().is_ok_and(|name| name == "mmap.mmap");
    let is_read_only = || PyUntypedBuffer::get(owner).is_ok_and(|buffer| buffer.readonly());
    owner.is_exact_instance_of::<PyBytes>() || owner.cast::<Tensor>().is_ok() || (is_map() && is_read_only())
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
            if has(ffi::PyBUF_FORMAT) { layout.format.as_ptr().cast_mut() } else { ptr::null_mut() };
        (*view).ndim = if has(ffi::PyBUF_ND) { c_int::try_from(layout.shape.len()).unwrap_or(1) } else { 1 };
        (*view).shape = if has(ffi::PyBUF_ND) { layout.shape.as_ptr().cast_mut() } else { ptr::null_mut() };
        (*view).strides =
            if has(ffi::PyBUF_STRIDES) { layout.strides.as_ptr().cast_mut() } else { ptr::null_mut() };
        (*view).suboffsets = ptr::null_mut();
        (*view).internal = ptr::null_mut();
    }
    Ok(())
}

/// Bytes between two looks for signals.
const WATCHED_BYTES: usize = 1 << 24;

/// The bytes of some pieces, which are copied without the lock; `length` is that of all.
pub(crate) fn joined<'py, 'a>(
    py: Python<'py>,
    pieces: impl Iterator<Item = &'a [u8]>,
    length: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let size = ffi::Py_ssize_t::try_from(length).map_err(Fault::argument)?;
    // SAFETY: without a pointer, the memory of the object is not set: zeros would be written without a look for signals. Until all of it
    // is written, nothing but this function has the object, and an error drops it.
    let (made, mut out) = unsafe {
        let made = Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(ptr::null(), size))?;
        let start = ffi::PyBytes_AsString(made.as_ptr()).cast::<MaybeUninit<u8>>();
        (made, std::slice::from_raw_parts_mut(start, length))
    };
    for piece in pieces.flat_map(|piece| piece.chunks(WATCHED_BYTES)) {
        let Some((here, rest)) = out.split_at_mut_checked(piece.len()) else {
            return Err(Fault::new("BugError", "the pieces are longer than the whole").into());
        };
        // SAFETY: both have the same length, and the new object overlaps nothing.
        let mut copy =
            || unsafe { ptr::copy_nonoverlapping(piece.as_ptr(), here.as_mut_ptr().cast(), piece.len()) };
        if piece.len() == WATCHED_BYTES {
            py.detach(copy);
            py.check_signals()?;
        } else {
            copy();
        }
        out = rest;
    }
    if !out.is_empty() {
        return Err(Fault::new("BugError", "the pieces are shorter than the whole").into());
    }
    Ok(made.cast_into::<PyBytes>()?)
}
