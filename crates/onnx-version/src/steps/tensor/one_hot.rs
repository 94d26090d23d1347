//! `OneHot`: from version 11, negative indices count from the end.

use onnx_schema::{attr, op};
use onnx_types::ElemClass;
use onnx_types::tensor::{NoData, Tensor};

use crate::reason::Reason;
use crate::step::Step;

/// In version 9, an index out of range selects nothing: negative ones become the depth, which is out of range in both.
pub(crate) fn no_negative_indices(step: &mut Step<'_>) -> Result<(), Reason> {
    let (indices, depth) = (step.operand(0)?, step.operand(1)?);
    if let Some(tensor) = step.constant_of(indices)
        && tensor.iter_f64(&NoData).is_ok_and(|mut elements| elements.all(|index| index >= 0.0))
    {
        return Ok(());
    }
    let elem = step.elem(indices)?;
    let none = step.constant(Tensor::vector::<i64>(&[]))?;
    let depth = step.before(op::RESHAPE, &[depth, none], &[])?;
    let depth = step.cast(depth, elem)?;
    let zero = step.constant(Tensor::scalar(0_i64))?;
    let zero = step.cast(zero, elem)?;
    let is_negative = step.before(op::LESS, &[indices, zero], &[])?;
    let made = step.before(op::WHERE, &[is_negative, depth, indices], &[])?;
    step.types.set_elem(made, elem);
    step.set_input(0, Some(made));
    Ok(())
}

/// Downwards: an index that counts from the end is counted from the front; before version 11 it selects nothing.
pub(crate) fn indices_from_front(step: &mut Step<'_>) -> Result<(), Reason> {
    let (indices, depth) = (step.operand(0)?, step.operand(1)?);
    let axis = step.int(attr::AXIS)?.unwrap_or(-1);
    if axis < -1 {
        let axis = axis.saturating_add(step.rank(indices)?).saturating_add(1);
        step.set(attr::AXIS, axis)?;
    }
    let elem = step.elem(indices)?;
    let is_positive = step
        .constant_of(indices)
        .and_then(|tensor| tensor.iter_f64(&NoData).ok())
        .is_some_and(|mut elements| elements.all(|index| index >= 0.0));
    if is_positive || elem.class() == ElemClass::Uint {
        return Ok(());
    }
    let none = step.list(&[])?;
    let depth = step.like(depth, op::RESHAPE, &[depth, none], &[])?;
    let depth = step.cast(depth, elem)?;
    let zero = step.constant(Tensor::scalar(0_i64))?;
    let zero = step.cast(zero, elem)?;
    let is_negative = step.before(op::LESS, &[indices, zero], &[])?;
    let moved = step.like(indices, op::ADD, &[indices, depth], &[])?;
    let made = step.like(indices, op::WHERE, &[is_negative, moved, indices], &[])?;
    step.set_input(0, Some(made));
    Ok(())
}
