//! `Scatter`, which version 11 replaces by `ScatterElements`; later versions of that and of `ScatterND` combine elements.

use onnx_schema::{attr, op};
use onnx_types::tensor::{NoData, Tensor};

use crate::reason::{Cause, VersionReason};
use crate::step::Step;

/// The same computation under another name.
pub(crate) fn elements(step: &mut Step<'_>) -> Result<(), VersionReason> {
    step.rename(op::SCATTER_ELEMENTS);
    Ok(())
}

/// Downwards: elements are not combined by `max` or `min`.
pub(crate) fn without_extremes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    match step.text(attr::REDUCTION)?.as_deref() {
        Some(mode @ ("max" | "min")) => {
            Err(format!("`reduction` is `{mode}`, which version {} does not have", step.version).into())
        }
        _ => Ok(()),
    }
}

/// Downwards: `Scatter`, whose indices and axis count from the front.
pub(crate) fn former_name(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (x, indices) = (step.operand(0)?, step.operand(1)?);
    let axis = step.int(attr::AXIS)?.unwrap_or(0);
    let axis = step.positive(axis, x)?;
    let is_positive = step
        .constant_of(indices)
        .and_then(|tensor| tensor.iter_i64(&NoData).ok())
        .is_some_and(|mut elements| elements.all(|index| index >= 0));
    if !is_positive {
        let sizes = step.sizes(x).unwrap_or_default();
        let size = usize::try_from(axis).ok().and_then(|axis| sizes.get(axis).copied().flatten());
        let size = size.ok_or_else(|| {
            VersionReason::new(
                Cause::ShapeUnknown,
                "indices may count from the end of an axis whose size is unknown",
            )
        })?;
        let elem = step.elem(indices)?;
        let size = step.constant(Tensor::scalar(size))?;
        let size = step.cast(size, elem)?;
        let zero = step.constant(Tensor::scalar(0_i64))?;
        let zero = step.cast(zero, elem)?;
        let is_negative = step.before(op::LESS, &[indices, zero], &[])?;
        let moved = step.like(indices, op::ADD, &[indices, size], &[])?;
        let made = step.like(indices, op::WHERE, &[is_negative, moved, indices], &[])?;
        step.set_input(1, Some(made));
    }
    step.set(attr::AXIS, axis)?;
    step.rename(op::SCATTER);
    Ok(())
}
