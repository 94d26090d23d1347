//! The external data of a model that is served, while other programs may change its files.

use std::sync::Arc;

use bytes::Bytes;
use onnx_codec::FileSource;
use onnx_types::tensor::{DataError, DataErrorReason, DataSource};

/// Files that are read where they are needed, and never mapped: if one becomes shorter, reading it is an error.
pub(super) struct ServedFiles(pub(super) FileSource);

impl DataSource for ServedFiles {
    fn read(&self, location: &str, offset: u64, length: Option<u64>) -> Result<Bytes, DataError> {
        self.0.read(location, offset, length).map_err(|mut error| {
            if let DataErrorReason::ShortRead { found } = error.reason {
                error.reason = DataErrorReason::Io(format!(
                    "the file became shorter since it was opened, {found} bytes are left of them: restore it, and start `onnx view` again"
                ));
            }
            error
        })
    }

    fn len(&self, location: &str) -> Result<u64, DataError> {
        self.0.len(location)
    }

    fn admit(&self, location: &str, length: u64) -> Result<(), DataError> {
        self.0.admit(location, length)
    }

    fn restarted(&self) -> Option<Arc<dyn DataSource>> {
        Some(Arc::new(Self(self.0.anew())))
    }

    fn hold(&self, bytes: Bytes) -> Bytes {
        self.0.hold(bytes)
    }

    fn release(&self, bytes: &[u8]) {
        self.0.release(bytes);
    }
}
