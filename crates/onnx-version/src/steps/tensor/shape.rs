//! `Shape`: from version 15 on, of some of the axes.

use onnx_schema::{attr, op};

use crate::reason::VersionReason;
use crate::step::Step;

/// Downwards: a part of the whole shape.
pub(crate) fn sliced(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let start = step.int(attr::START)?.unwrap_or(0);
    let end = step.int(attr::END)?;
    if start == 0 && end.is_none() {
        step.remove(attr::START);
        return Ok(());
    }
    let x = step.operand(0)?;
    let shape = step.before(op::SHAPE, &[x], &[])?;
    step.types.set_elem(shape, onnx_types::ElemType::Int64);
    let (start, end) = (step.list(&[start])?, step.list(&[end.unwrap_or(i64::MAX)])?);
    let axes = step.list(&[0])?;
    let made = step.like(shape, op::SLICE, &[shape, start, end, axes], &[])?;
    step.replace(made)
}
