//! Memory for elements, which the system can refuse.

use super::fault::TensorError;

/// Requests of fewer bytes are not tried first.
const LEAST: usize = 1 << 20;

/// An empty vector with room for a number of elements.
///
/// ```
/// use onnx_types::tensor::reserved;
///
/// assert!(reserved::<f32>(16)?.capacity() >= 16);
/// let error = reserved::<f32>(usize::MAX).unwrap_err();
/// assert_eq!(error.limit(), Some(onnx_types::Limits::MEMORY));
/// # Ok::<(), onnx_types::tensor::TensorError>(())
/// ```
///
/// # Errors
///
/// Returns [`TensorError::Memory`] if the system refuses the memory.
pub fn reserved<T>(count: usize) -> Result<Vec<T>, TensorError> {
    let mut elements = Vec::new();
    match elements.try_reserve_exact(count) {
        Ok(()) => Ok(elements),
        Err(_) => Err(TensorError::Memory { bytes: (count as u64).saturating_mul(size_of::<T>() as u64) }),
    }
}

/// A vector of equal elements.
///
/// # Errors
///
/// Returns [`TensorError::Memory`] if the system refuses the memory.
pub fn filled<T: Clone>(element: T, count: usize) -> Result<Vec<T>, TensorError> {
    let mut elements = reserved(count)?;
    elements.resize(count, element);
    Ok(elements)
}

/// Decides whether the system has memory for elements that a function makes which ends the process if there is none.
///
/// # Errors
///
/// Returns [`TensorError::Memory`] if the system refuses the memory.
pub fn require_memory<T>(count: usize) -> Result<(), TensorError> {
    if count.saturating_mul(size_of::<T>()) < LEAST {
        return Ok(());
    }
    // The compiler may remove a request whose result is not used.
    std::hint::black_box(reserved::<T>(count)?);
    Ok(())
}
