//! `OneHot`: from version 11, negative indices count from the end.

use onnx_schema::op;
use onnx_types::tensor::{NoData, Tensor};

use crate::step::{Reason, Step};

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
    step.types.elems.insert(made, elem);
    step.set_input(0, Some(made));
    Ok(())
}
