//! `ArgMax`, `ArgMin`: version 12 can take the last of equal elements.

use onnx_schema::{attr, op};
use onnx_types::tensor::Tensor;

use crate::reason::{Cause, VersionReason};
use crate::step::Step;

/// Downwards: the last one is the first one of the reversed axis.
pub(crate) fn reversed(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if !step.flag(attr::SELECT_LAST_INDEX)? {
        return Ok(());
    }
    let x = step.operand(0)?;
    let axis = step.int(attr::AXIS)?.unwrap_or(0);
    let axis = step.positive(axis, x)?;
    let sizes = step.sizes(x).ok_or("the rank of the operand is unknown")?;
    let size = usize::try_from(axis).ok().and_then(|axis| sizes.get(axis).copied().flatten());
    let size = size.ok_or_else(|| {
        VersionReason::new(Cause::ShapeUnknown, "the size of the axis, which is reversed, is unknown")
    })?;
    let [from, to, axes, by] = [-1, i64::MIN, axis, -1].map(|number| step.list(&[number]));
    let turned = step.like(x, op::SLICE, &[x, from?, to?, axes?, by?], &[])?;
    let kept = step.attributes_except(&[attr::SELECT_LAST_INDEX]);
    let index = step.before(step.old.op(), &[turned], &kept)?;
    let last = step.constant(Tensor::scalar(size.saturating_sub(1)))?;
    let made = step.like(last, op::SUB, &[last, index], &[])?;
    step.replace(made)
}
