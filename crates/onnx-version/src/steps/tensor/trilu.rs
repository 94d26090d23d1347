//! `Trilu`, which version 14 introduces.

use onnx_ir::{AttrValue, ValueId};
use onnx_schema::{attr, op};
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::reason::{Cause, VersionReason};
use crate::step::Step;

/// Downwards: `Where` with a mask that compares the differences of the numbers of columns and rows.
pub(crate) fn masked(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let x = step.operand(0)?;
    let elem = step.elem(x)?;
    let zero = match elem {
        ElemType::Int64 => Tensor::scalar(0_i64),
        ElemType::Int32 => Tensor::scalar(0_i32),
        ElemType::Bool => Tensor::scalar(false),
        ElemType::Uint8 => Tensor::scalar(0_u8),
        ElemType::Int8 => Tensor::scalar(0_i8),
        _ => crate::step::float_scalar(0.0, elem)?,
    };
    let is_upper = step.int(attr::UPPER)?.unwrap_or(1) != 0;
    let shift = match step.input(1) {
        Some(shift) => step.reshape(shift, &[])?,
        None => step.constant(Tensor::scalar(0_i64))?,
    };
    let shape = step.before(op::SHAPE, &[x], &[])?;
    step.types.set_elem(shape, ElemType::Int64);
    let column = numbers(step, shape, -1, 0)?;
    let row = numbers(step, shape, -2, 1)?;
    // The sum of a row and the shift could overflow.
    let distance = step.like(column, op::SUB, &[column, row], &[])?;
    // Whether the column is before the diagonal, or after it.
    let compare = if is_upper { op::LESS } else { op::GREATER };
    let is_zero = step.before(compare, &[distance, shift], &[])?;
    step.types.set_elem(is_zero, ElemType::Bool);
    let zero = step.constant(zero)?;
    let made = step.like(x, op::WHERE, &[is_zero, zero, x], &[])?;
    step.replace(made)
}

/// The numbers along an axis, counted from the end, with another axis after it.
fn numbers(step: &mut Step<'_>, shape: ValueId, axis: i64, after: i64) -> Result<ValueId, VersionReason> {
    if step.version < 11 {
        return Err(VersionReason::new(Cause::NoForm, "version 11 introduced `Range`, which the mask needs"));
    }
    let axis = step.constant(Tensor::scalar(axis))?;
    let size = step.like(shape, op::GATHER, &[shape, axis], &[(attr::AXIS, AttrValue::Int(0))])?;
    let (from, by) = (step.constant(Tensor::scalar(0_i64))?, step.constant(Tensor::scalar(1_i64))?);
    let numbers = step.like(shape, op::RANGE, &[from, size, by], &[])?;
    match after {
        0 => Ok(numbers),
        _ => step.with_axes(op::UNSQUEEZE, numbers, &[1]),
    }
}
