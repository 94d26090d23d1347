//! `PRelu`: before version 7, a slope of rank 1 has an element for each channel.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::reason::VersionReason;
use crate::step::Step;

/// Axes of size 1 follow that of the channels.
pub(crate) fn channels(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (x, slope) = (step.operand(0)?, step.operand(1)?);
    if step.sizes(slope).is_some_and(|sizes| sizes.iter().all(|size| *size == Some(1))) {
        return Ok(());
    }
    let (rank, inner) = (step.rank(x)?, step.rank(slope)?);
    if inner != 1 {
        return Err("the slope is not a list".into());
    }
    if rank <= 2 {
        return Ok(());
    }
    let axes: Vec<i64> = (1..rank.saturating_sub(1)).collect();
    let made = step.before(op::UNSQUEEZE, &[slope], &[(attr::AXES, AttrValue::Ints(axes))])?;
    step.set_input(1, Some(made));
    Ok(())
}

/// Downwards: the slope is one element, or a list with one for each channel.
pub(crate) fn list_of_channels(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (x, slope) = (step.operand(0)?, step.operand(1)?);
    let (of_x, of_slope) = (step.dims(x)?, step.dims(slope)?);
    let is_one = |index: usize| of_slope.get(index).is_none_or(|dim| dim.known() == Some(1));
    let wide: Vec<usize> = (0..of_slope.len()).filter(|&index| !is_one(index)).collect();
    let offset = of_x.len().checked_sub(of_slope.len()).ok_or("the slope has a greater rank")?;
    let keeps = match wide.as_slice() {
        [] => 0,
        &[only] if only.saturating_add(offset) == 1 => only,
        _ => return Err("the slope is neither one element nor one for each channel".into()),
    };
    if of_x.is_empty() {
        return Ok(());
    }
    if of_slope.is_empty() {
        let list = step.reshape(slope, &[1])?;
        step.set_input(1, Some(list));
        return Ok(());
    }
    let axes: Vec<i64> = (0..of_slope.len())
        .filter(|&index| index != keeps)
        .filter_map(|index| i64::try_from(index).ok())
        .collect();
    if !axes.is_empty() {
        let list = step.with_axes(op::SQUEEZE, slope, &axes)?;
        step.set_input(1, Some(list));
    }
    Ok(())
}

/// Downwards: integers are not allowed. Operators that allow them multiply the negative elements by the slope and keep
/// the others.
pub(crate) fn integers(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (x, slope) = (step.operand(0)?, step.operand(1)?);
    let elem = step.elem(x)?;
    if elem.is_float() {
        return Ok(());
    }
    if [ElemType::Uint32, ElemType::Uint64].contains(&elem) {
        return step.replace(x);
    }
    // Rounding keeps the sign.
    let wide = step.cast(x, ElemType::Double)?;
    let zero = step.number(0.0, ElemType::Double)?;
    let is_negative = step.before(op::LESS, &[wide, zero], &[])?;
    let is_negative = step.cast(is_negative, elem)?;
    let product = step.like(x, op::MUL, &[x, slope], &[])?;
    let change = step.like(x, op::SUB, &[product, x], &[])?;
    let change = step.like(x, op::MUL, &[change, is_negative], &[])?;
    let made = step.like(x, op::ADD, &[x, change], &[])?;
    step.replace(made)
}
