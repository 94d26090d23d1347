//! What the page provides: external data, which are files that the user gave to it and that it reads when elements are needed; and
//! the progress of work that it receives.

use onnx_types::Execution;
use onnx_types::tensor::DataSource;

/// The execution of a session that tells the page how far its work is.
#[must_use]
pub fn watched(execution: Execution) -> Execution {
    #[cfg(target_arch = "wasm32")]
    return execution.with_progress(imported::report);
    #[cfg(not(target_arch = "wasm32"))]
    execution
}

/// The external data next to a model: 0 for the open one, 1 for the older one of a comparison.
#[must_use]
pub fn source(side: u32) -> Box<dyn DataSource> {
    #[cfg(target_arch = "wasm32")]
    return Box::new(imported::Host(side));
    #[cfg(not(target_arch = "wasm32"))]
    {
        let _ = side;
        Box::new(onnx_types::tensor::NoData)
    }
}

/// What the page provides.
#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code, reason = "the functions that are imported read and write the memory of the module")]
mod imported {
    use bytes::Bytes;
    use onnx_types::Step;
    use onnx_types::tensor::{DataError, DataErrorReason, DataSource};

    #[link(wasm_import_module = "host")]
    unsafe extern "C" {
        /// The size of a file; negative if there is none.
        fn size(side: u32, name: *const u8, name_bytes: usize) -> f64;
        /// Reads bytes of a file to an address; returns their number.
        fn read(
            side: u32,
            name: *const u8,
            name_bytes: usize,
            offset: f64,
            length: usize,
            to: *mut u8,
        ) -> usize;
        /// Takes a step of work: its name, the amount that is done, and the total, which is 0 if it is not known.
        fn progress(task: *const u8, task_bytes: usize, done: f64, total: f64);
    }

    pub(super) fn report(step: Step) {
        // SAFETY: the name exists during the call.
        unsafe { progress(step.task.as_ptr(), step.task.len(), step.done as f64, step.total as f64) };
    }

    pub(super) struct Host(pub(super) u32);

    impl DataSource for Host {
        fn read(&self, location: &str, offset: u64, length: Option<u64>) -> Result<Bytes, DataError> {
            let error = |reason| DataError { location: location.to_owned(), offset, length, reason };
            let file_len = self.len(location)?;
            let rest = file_len.checked_sub(offset);
            let wanted = length.or(rest).filter(|&length| rest.is_some_and(|rest| length <= rest));
            let Some(wanted) = wanted else { return Err(error(DataErrorReason::OutOfRange { file_len })) };
            let mut bytes = Vec::new();
            let count = usize::try_from(wanted).ok().filter(|&count| bytes.try_reserve_exact(count).is_ok());
            let Some(count) = count else { return Err(error(DataErrorReason::Memory)) };
            bytes.resize(count, 0);
            // SAFETY: the name and the room for `count` bytes exist during the call.
            let found = unsafe {
                read(self.0, location.as_ptr(), location.len(), offset as f64, count, bytes.as_mut_ptr())
            };
            match found == count {
                true => Ok(bytes.into()),
                false => Err(error(DataErrorReason::ShortRead { found: found as u64 })),
            }
        }

        fn len(&self, location: &str) -> Result<u64, DataError> {
            // SAFETY: the name exists during the call.
            let size = unsafe { size(self.0, location.as_ptr(), location.len()) };
            match size >= 0.0 {
                true => Ok(size as u64),
                false => Err(DataError::of_file(location, DataErrorReason::NotFound)),
            }
        }
    }
}
