//! Sources of weights around those of a model.

use std::sync::Arc;

use bytes::Bytes;
use onnxkit::types::tensor::{DataError, DataSource};
use onnxkit::types::{Execution, Interrupt};

/// The same weights for one call, to which the limits apply: what other calls read does not count.
pub(crate) fn of_one_call(data: &Arc<dyn DataSource>) -> Arc<dyn DataSource> {
    data.restarted().unwrap_or_else(|| Arc::clone(data))
}

/// Weights for work that can be ended while they are read.
pub(crate) struct EndedData {
    data: Arc<dyn DataSource>,
    interrupt: Interrupt,
}

impl EndedData {
    pub(crate) fn new(data: Arc<dyn DataSource>, execution: &Execution) -> Self {
        Self { data, interrupt: execution.interrupt.clone() }
    }
}

impl DataSource for EndedData {
    fn read(&self, location: &str, offset: u64, length: Option<u64>) -> Result<Bytes, DataError> {
        self.data.read_until(location, offset, length, &self.interrupt)
    }

    fn len(&self, location: &str) -> Result<u64, DataError> {
        self.data.len(location)
    }

    fn admit(&self, location: &str, length: u64) -> Result<(), DataError> {
        self.data.admit(location, length)
    }

    fn restarted(&self) -> Option<Arc<dyn DataSource>> {
        let (data, interrupt) = (self.data.restarted()?, self.interrupt.clone());
        Some(Arc::new(Self { data, interrupt }))
    }

    fn hold(&self, bytes: Bytes) -> Bytes {
        self.data.hold(bytes)
    }

    fn release(&self, bytes: &[u8]) {
        self.data.release(bytes);
    }
}
