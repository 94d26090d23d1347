//! Why reading or writing could not be done.

use onnx_proto::wire::WireError;
use thiserror::Error;

/// Why a model could not be read: the bytes are not protobuf, or a limit is exceeded.
#[derive(Debug, Error)]
#[error("the model cannot be read: {0}")]
pub struct DecodeError(#[from] WireError);

impl DecodeError {
    /// What is wrong with the bytes, and where.
    #[must_use]
    pub const fn wire(&self) -> &WireError {
        &self.0
    }
}
