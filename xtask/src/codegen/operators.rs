//! Extracts the operator facts and generates the tables of `onnx-schema`.

use super::Mode;
use crate::TaskResult;

pub(super) fn extract() -> TaskResult {
    Ok(())
}

pub(super) fn generate(_mode: Mode) -> TaskResult {
    Ok(())
}
