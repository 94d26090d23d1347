//! Sizes as numbers.

use onnx_types::Dim;

/// The sizes as numbers, where all are.
pub(crate) fn numbers(dims: &[Dim]) -> Option<Vec<i64>> {
    dims.iter().map(|dim| dim.known()).collect()
}
