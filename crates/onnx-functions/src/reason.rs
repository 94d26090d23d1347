//! The reason why a call is not inlined or nodes are not outlined.

use onnx_ir::EditError;

/// The reason why a call is not inlined, or nodes are not outlined: a clause for the reader of a report.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct FunctionReason(String);

impl FunctionReason {
    /// A reason, as a clause.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl From<&str> for FunctionReason {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

impl From<EditError> for FunctionReason {
    fn from(error: EditError) -> Self {
        Self(error.to_string())
    }
}
