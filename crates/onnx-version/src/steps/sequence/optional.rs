//! `OptionalHasElement`, `OptionalGetElement`: from version 18 on, the operand need not be an optional.

use onnx_schema::op;
use onnx_types::TypeKind;
use onnx_types::tensor::Tensor;

use crate::reason::{Cause, VersionReason};
use crate::step::Step;

/// Downwards: an operand that is not an optional always has an element, and an omitted operand has none.
pub(crate) fn only_optional(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let asks = step.old.op() == op::OPTIONAL_HAS_ELEMENT;
    let Some(value) = step.input(0) else {
        if !asks {
            return Err("the operand is omitted".into());
        }
        let made = step.constant(Tensor::scalar(false))?;
        let made = step.like(made, op::IDENTITY, &[made], &[])?;
        return step.replace(made);
    };
    let ty = step.types.ty(value).to_type();
    let ty = ty.ok_or_else(|| {
        VersionReason::new(Cause::TypeUnknown, "it is unknown whether the operand is optional")
    })?;
    if matches!(ty.kind, TypeKind::Optional(_)) {
        return Ok(());
    }
    let made = match asks {
        true => {
            let made = step.constant(Tensor::scalar(true))?;
            step.like(made, op::IDENTITY, &[made], &[])?
        }
        false => step.like(value, op::IDENTITY, &[value], &[])?,
    };
    step.replace(made)
}
