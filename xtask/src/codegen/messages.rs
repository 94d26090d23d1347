//! Generates the prost messages of `onnx-proto` from `proto/*.proto`.

use super::Mode;
use crate::TaskResult;

pub(super) fn generate(_mode: Mode) -> TaskResult {
    Ok(())
}
