//! `Gather`: before version 11, indices count from the front.

use onnx_ir::{AttrValue, ValueId};
use onnx_schema::{attr, op};
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::down;
use crate::reason::VersionReason;
use crate::step::Step;

/// Downwards: `axis` and constant indices count from the front. Indices that are not known are unchanged, because each
/// implementation counts negative ones from the end.
pub(crate) fn indices_from_front(step: &mut Step<'_>) -> Result<(), VersionReason> {
    down::axes(step)?;
    let (data, indices) = (step.operand(0)?, step.operand(1)?);
    let Some(known) = known_indices(step, indices)? else { return Ok(()) };
    let axis = step.int(attr::AXIS)?.unwrap_or(0);
    let index = usize::try_from(axis).map_err(|_| "the axis does not exist")?;
    let size = step.sizes(data).and_then(|sizes| sizes.get(index).copied().flatten());
    let made = match size {
        Some(size) => {
            let front = known.iter().map(|&index| if index < 0 { index.saturating_add(size) } else { index });
            let front: Vec<i64> = front.collect();
            list(step, indices, &front)?
        }
        None => from_end(step, axis, &known)?,
    };
    step.set_input(1, Some(made));
    Ok(())
}

/// The indices, if all of them are known and some are negative.
fn known_indices(step: &Step<'_>, value: ValueId) -> Result<Option<Vec<i64>>, VersionReason> {
    let what = "an operand with negative indices";
    let Ok(dims) = step.int_dims(value, what) else { return Ok(None) };
    match dims.iter().any(|dim| dim.known().is_some_and(|index| index < 0)) {
        true => Ok(step.ints(value, what).ok()),
        false => Ok(None),
    }
}

/// Adds the size of the axis, which is computed, to negative indices.
fn from_end(step: &mut Step<'_>, axis: i64, known: &[i64]) -> Result<ValueId, VersionReason> {
    let (data, indices) = (step.operand(0)?, step.operand(1)?);
    let elem = step.elem(indices)?;
    let shape = step.before(op::SHAPE, &[data], &[])?;
    step.types.set_elem(shape, ElemType::Int64);
    let axis = step.constant(Tensor::scalar(axis))?;
    let size = step.like(shape, op::GATHER, &[shape, axis], &[(attr::AXIS, AttrValue::Int(0))])?;
    let size = step.cast(size, elem)?;
    let is_negative: Vec<i64> = known.iter().map(|&index| i64::from(index < 0)).collect();
    let is_negative = list(step, indices, &is_negative)?;
    let moved = step.like(indices, op::MUL, &[is_negative, size], &[])?;
    step.like(indices, op::ADD, &[indices, moved], &[])
}

/// A constant with the shape and the element type of the indices.
fn list(step: &mut Step<'_>, indices: ValueId, numbers: &[i64]) -> Result<ValueId, VersionReason> {
    let sizes = match step.constant_of(indices) {
        Some(tensor) => tensor.dims().to_vec(),
        None => step.known_sizes(indices)?,
    };
    let tensor = match step.elem(indices)? {
        ElemType::Int32 => {
            let numbers: Vec<i32> = numbers.iter().map(|&number| number as i32).collect();
            Tensor::from_slice(sizes, &numbers)
        }
        _ => Tensor::from_slice(sizes, numbers),
    };
    step.constant(tensor.map_err(|fault| fault.to_string())?)
}
