//! The functions that a page calls. A state is an address that only these functions interpret.
#![allow(unsafe_code, reason = "addresses come from the page, which got them from here")]

use crate::{State, host};

/// Makes a state, which lives as long as the instance of the module.
#[unsafe(no_mangle)]
pub extern "C" fn onnx_new() -> *mut State {
    Box::into_raw(Box::default())
}

/// Makes room for input and returns its address.
///
/// # Safety
///
/// `state` is from [`onnx_new`], and no other call uses it at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnx_input(state: *mut State, bytes: usize) -> *mut u8 {
    // SAFETY: the caller guarantees that the state exists and is not shared.
    unsafe { &mut *state }.room(bytes).as_mut_ptr()
}

/// Opens the file that the input contains before its name, and returns the length of the answer.
///
/// # Safety
///
/// See [`onnx_input`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnx_open(state: *mut State, name_bytes: usize) -> usize {
    // SAFETY: as above.
    let state = unsafe { &mut *state };
    state.open(name_bytes, host::source(0));
    state.answer().len()
}

/// Opens the file that the input contains before its name as the older model of a comparison, and returns the length of the answer.
///
/// # Safety
///
/// See [`onnx_input`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnx_compare(state: *mut State, name_bytes: usize) -> usize {
    // SAFETY: as above.
    let state = unsafe { &mut *state };
    state.compare(name_bytes, host::source(1));
    state.answer().len()
}

/// Answers the request that is the input, and returns the length of the answer.
///
/// # Safety
///
/// See [`onnx_input`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnx_call(state: *mut State) -> usize {
    // SAFETY: as above.
    let state = unsafe { &mut *state };
    state.call();
    state.answer().len()
}

/// Encodes the model, and returns 1 if that succeeded and 0 if the answer is an error.
///
/// # Safety
///
/// See [`onnx_input`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnx_save(state: *mut State) -> u32 {
    // SAFETY: as above.
    u32::from(unsafe { &mut *state }.save())
}

/// Writes the length of the answer to `length`, and returns its address.
///
/// # Safety
///
/// See [`onnx_input`]; `length` is an address of four bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnx_answer(state: *mut State, length: *mut u32) -> *const u8 {
    // SAFETY: as above.
    let answer = unsafe { &*state }.answer();
    if !length.is_null() {
        // SAFETY: the caller guarantees the address; it may not be aligned.
        unsafe { length.write_unaligned(u32::try_from(answer.len()).unwrap_or(u32::MAX)) };
    }
    answer.as_ptr()
}
