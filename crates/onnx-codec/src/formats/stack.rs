//! Room for parsers that recurse.

use super::FormatError;

/// Enough for the deepest nesting that is allowed, measured without optimisation, four times over.
const STACK_BYTES: usize = 16 << 20;

/// Runs `work` on a stack that is large enough for [`MAX_NESTING`](super::MAX_NESTING) messages, whatever is left of the
/// caller's. The memory is only touched as far as it is used.
pub(super) fn with_room<T: Send>(
    work: impl FnOnce() -> Result<T, FormatError> + Send,
) -> Result<T, FormatError> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("onnx-formats".to_owned()).stack_size(STACK_BYTES);
        let thread =
            builder.spawn_scoped(scope, work).map_err(|error| FormatError::Thread(error.to_string()))?;
        // A panic goes on in the caller, as if it had happened there.
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
