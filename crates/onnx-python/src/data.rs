//! Sources of weights around those of a model.

use std::sync::Arc;

use bytes::Bytes;
use onnxkit::types::Interrupt;
use onnxkit::types::tensor::{DataError, DataErrorReason, DataSource};

/// The same weights for one call, to which the limits apply: what other calls read does not count.
pub(crate) fn of_one_call(data: &Arc<dyn DataSource>) -> Arc<dyn DataSource> {
    data.restarted().unwrap_or_else(|| Arc::clone(data))
}

/// Weights that several users share.
pub(crate) struct SharedData(pub(crate) Arc<dyn DataSource>);

impl DataSource for SharedData {
    fn admit(&self, location: &str, length: u64) -> Result<(), DataError> {
        self.0.admit(location, length)
    }

    fn len(&self, location: &str) -> Result<u64, DataError> {
        self.0.len(location)
    }

    fn read(&self, location: &str, offset: u64, length: Option<u64>) -> Result<Bytes, DataError> {
        self.0.read(location, offset, length)
    }

    fn restarted(&self) -> Option<Arc<dyn DataSource>> {
        self.0.restarted()
    }

    fn hold(&self, bytes: Bytes) -> Bytes {
        self.0.hold(bytes)
    }

    fn release(&self, bytes: &[u8]) {
        self.0.release(bytes);
    }
}

/// Weights whose reading an interrupt ends, for work that has none.
pub(crate) struct EndedData {
    pub(crate) data: Arc<dyn DataSource>,
    pub(crate) interrupt: Interrupt,
}

impl DataSource for EndedData {
    fn read(&self, location: &str, offset: u64, length: Option<u64>) -> Result<Bytes, DataError> {
        self.interrupt.check().map_err(|stopped| DataError {
            location: location.to_owned(),
            offset,
            length,
            reason: DataErrorReason::Io(stopped.to_string()),
        })?;
        self.data.read(location, offset, length)
    }

    fn len(&self, location: &str) -> Result<u64, DataError> {
        self.data.len(location)
    }

    fn admit(&self, location: &str, length: u64) -> Result<(), DataError> {
        self.data.admit(location, length)
    }

    fn hold(&self, bytes: Bytes) -> Bytes {
        self.data.hold(bytes)
    }

    fn release(&self, bytes: &[u8]) {
        self.data.release(bytes);
    }
}
