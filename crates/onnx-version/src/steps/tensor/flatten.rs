//! `Flatten`: version 9 adds other types than floats.

use onnx_schema::attr;

use crate::reason::{Cause, VersionReason};
use crate::step::Step;

/// Downwards: other types are reshaped.
pub(crate) fn reshaped(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let x = step.operand(0)?;
    if step.elem(x)?.is_float() {
        return Ok(());
    }
    let sizes = step.sizes(x).ok_or_else(|| unknown("the rank"))?;
    let axis = usize::try_from(step.int(attr::AXIS)?.unwrap_or(1)).unwrap_or(usize::MAX);
    let (outer, inner) = sizes.split_at_checked(axis).ok_or("the axis does not exist")?;
    let product = |sizes: &[Option<i64>]| -> Option<i64> {
        sizes.iter().try_fold(1_i64, |product, &size| product.checked_mul(size?))
    };
    // A 0 copies the size of the operand at the same index.
    let is_zero = |place: usize| sizes.get(place).copied().flatten() == Some(0);
    let shape = match (product(outer), product(inner)) {
        (Some(outer), Some(inner)) if (outer != 0 || is_zero(0)) && (inner != 0 || is_zero(1)) => {
            [outer, inner]
        }
        (Some(outer), None) if outer > 0 => [outer, -1],
        (None, Some(inner)) if inner > 0 => [-1, inner],
        _ => return Err(unknown("a size")),
    };
    let made = step.reshape(x, &shape)?;
    step.replace(made)
}

fn unknown(what: &str) -> VersionReason {
    VersionReason::new(Cause::ShapeUnknown, format!("the operand has no floats, and {what} is unknown or 0"))
}
