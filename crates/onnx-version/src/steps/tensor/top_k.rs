//! `TopK`: from version 11 on, it can take the smallest elements, and in any order.

use onnx_schema::{attr, op};

use crate::reason::{Cause, VersionReason};
use crate::step::Step;
use crate::steps::moved;

/// Downwards: the number of elements is a constant, and at least 1.
pub(crate) fn positive_number(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let number = step.ints(step.operand(1)?, "`k`")?;
    if number.iter().any(|&number| number < 1) {
        return Err(format!("version {} requires that `k` is positive", step.version).into());
    }
    moved::operands(step)
}

/// Downwards: the smallest elements are the largest of the negated ones; results whose order is not specified may be
/// sorted.
pub(crate) fn largest(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let x = step.operand(0)?;
    let axis = step.int(attr::AXIS)?.unwrap_or(-1);
    // The older version counts from the end in its default only.
    if axis < -1 {
        let axis = step.positive(axis, x)?;
        step.set(attr::AXIS, axis)?;
    }
    step.remove(attr::SORTED);
    let is_largest = step.int(attr::LARGEST)?.unwrap_or(1) != 0;
    step.remove(attr::LARGEST);
    if is_largest {
        return Ok(());
    }
    if !step.elem(x)?.is_float() {
        let version = step.version;
        let text = format!("`largest` is 0 on integers, and version {version} has no `largest`");
        return Err(VersionReason::new(Cause::TypeNotAllowed, text));
    }
    let negated = step.like(x, op::NEG, &[x], &[])?;
    step.set_input(0, Some(negated));
    match step.model.node(step.node).output(0) {
        Some(values) => step.wrap_output(values, None, op::NEG, &[], &[]),
        None => Ok(()),
    }
}
