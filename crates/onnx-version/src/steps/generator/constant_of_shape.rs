//! `ConstantOfShape`, which version 9 introduces.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};
use onnx_types::tensor::Tensor;

use crate::reason::{Cause, VersionReason};
use crate::step::Step;

/// Downwards: `Expand` of the value.
pub(crate) fn expanded(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let shape = step.operand(0)?;
    let value = match step.given(attr::VALUE)? {
        Some(AttrValue::Tensor(tensor)) => {
            if tensor.dims() != [1] {
                return Err(VersionReason::new(Cause::Invalid, "`value` is not a vector of one element"));
            }
            let mut tensor = Tensor::clone(&tensor);
            tensor.set_dims([]);
            tensor
        }
        None => Tensor::scalar(0.0_f32),
        Some(_) => return Err("`value` is not a tensor".into()),
    };
    let value = step.constant(value)?;
    let made = step.like(value, op::EXPAND, &[value, shape], &[])?;
    step.replace(made)
}
