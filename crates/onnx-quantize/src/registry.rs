//! The operators of models for onnxruntime.

use onnx_schema::{DeclareError, Registry, onnxruntime};
use onnx_shape_infer::contrib;

/// The operators of a registry with those of onnxruntime in domains that it does not declare, and the inference rules and kernels of
/// all of them. Builds of onnxruntime differ in which operators they have, so others are accepted.
///
/// # Errors
///
/// Returns an error if the registry declares an operator of ONNX in another way.
pub fn with_onnxruntime(registry: &Registry) -> Result<Registry, DeclareError> {
    let mut pack = contrib::pack();
    for set in onnxruntime::operator_sets()? {
        if !set.domain().is_empty() && registry.declared_versions(set.domain()).is_none() {
            pack = pack.with_open_set(set);
        }
    }
    registry.with(pack)?.with(onnx_eval::contrib::pack())
}
