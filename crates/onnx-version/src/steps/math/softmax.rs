//! `Softmax`, `LogSoftmax`, `Hardmax`: before version 13, the axes from `axis` on are flattened into one.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};

use crate::reason::VersionReason;
use crate::step::Step;

/// If `axis` can be the rank of the operand, no axis counts, and each element is the only one: as along a further axis of size 1
/// at the end. From version 11 on, `axis` must be an axis of the operand.
pub(crate) fn existing_axis(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let x = step.operand(0)?;
    // A reference to an attribute of a function can have any value.
    let axis = step.int(attr::AXIS).ok().map(|axis| axis.unwrap_or(1));
    let rank = step.rank(x).ok();
    match (axis, rank) {
        (Some(axis), Some(rank)) if axis < rank => return Ok(()),
        (Some(axis), Some(rank)) if axis > rank => return Err("`axis` is not an axis of the operand".into()),
        (Some(..=0), None) => return Ok(()),
        _ => {}
    }
    let output = step.output()?;
    let apart = step.with_axes(op::UNSQUEEZE, x, &[-1])?;
    step.set_input(0, Some(apart));
    let axes = [(attr::AXES, AttrValue::Ints(vec![-1]))];
    step.wrap_output(output, None, op::SQUEEZE, &[], &axes)
}

/// If more axes follow than those of size 1, the operand is flattened and the result gets its shape back.
pub(crate) fn one_axis(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let x = step.operand(0)?;
    let axis = step.int(attr::AXIS)?.unwrap_or(1);
    let sizes = step.sizes(x);
    if let Some(sizes) = &sizes {
        let rank = i64::try_from(sizes.len()).unwrap_or(i64::MAX);
        let from = if axis < 0 { axis.saturating_add(rank) } else { axis };
        let last = from.saturating_add(1);
        let after = usize::try_from(last).ok().and_then(|last| sizes.get(last..));
        if from >= 0 && after.is_some_and(|after| after.iter().all(|size| *size == Some(1))) {
            return step.set(attr::AXIS, from);
        }
        if from < 0 || from > rank {
            return Err("`axis` is not an axis of the operand".into());
        }
        if sizes.contains(&Some(0)) {
            // Without elements, the result does not depend on the axis; `Reshape` would copy sizes for a target of 0.
            return step.set(attr::AXIS, -1_i64);
        }
    }
    let output =
        step.model.node(step.node).outputs().first().copied().flatten().ok_or("the output is omitted")?;
    let shape = step.before(op::SHAPE, &[x], &[])?;
    let flat = step.before(op::FLATTEN, &[x], &[(attr::AXIS, AttrValue::Int(axis))])?;
    step.set_input(0, Some(flat));
    step.set(attr::AXIS, -1_i64)?;
    step.wrap_output(output, None, op::RESHAPE, &[shape], &[])
}

/// Downwards: all axes from `axis` on count as one, so that the axis must be the last one that is not of size 1. It is always
/// written, as its default was another one.
pub(crate) fn last_axis(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let x = step.operand(0)?;
    let axis = step.int(attr::AXIS)?.unwrap_or(-1);
    if axis == -1 && step.rank(x).is_err() {
        return step.set(attr::AXIS, axis);
    }
    let rank = step.rank(x)?;
    let axis = step.positive(axis, x)?;
    let sizes = step.sizes(x).unwrap_or_default();
    let position = usize::try_from(axis).ok().filter(|&axis| axis < sizes.len());
    let position = position.ok_or("`axis` is not an axis of the operand")?;
    if sizes.iter().skip(position.saturating_add(1)).all(|&size| size == Some(1)) {
        return step.set(attr::AXIS, axis);
    }
    let mut order: Vec<i64> = (0..rank).collect();
    order.swap(position, sizes.len().saturating_sub(1));
    let output = step.output()?;
    let turned = step.transpose(x, &order)?;
    step.set_input(0, Some(turned));
    step.set(attr::AXIS, rank.saturating_sub(1))?;
    step.wrap_output(output, None, op::TRANSPOSE, &[], &[(attr::PERM, AttrValue::Ints(order))])
}
