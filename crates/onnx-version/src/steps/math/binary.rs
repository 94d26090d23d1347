//! Operators of two operands: before version 7, attributes define how they are broadcast.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};

use crate::step::{Reason, Step};

/// `axis` aligns the second operand with an axis of the first one: axes of size 1 follow it. Without it, the last axes are
/// aligned, as in version 7. Without `broadcast`, the shapes are equal.
pub(crate) fn broadcast(step: &mut Step<'_>) -> Result<(), Reason> {
    let is_broadcast = step.int(attr::BROADCAST)?.unwrap_or(0) != 0;
    let axis = step.int(attr::AXIS)?.filter(|_| is_broadcast);
    step.remove(attr::BROADCAST);
    step.remove(attr::AXIS);
    let Some(axis) = axis else { return Ok(()) };
    let (a, b) = (step.operand(0)?, step.operand(1)?);
    let (rank, inner) = (step.rank(a)?, step.rank(b)?);
    let axis = if axis < 0 { axis.saturating_add(rank) } else { axis };
    let after = rank.saturating_sub(axis).saturating_sub(inner);
    if axis < 0 || after < 0 {
        // A second operand of one element may have any rank.
        let is_one = step.sizes(b).is_some_and(|sizes| sizes.iter().all(|size| *size == Some(1)));
        return if is_one { Ok(()) } else { Err("the operands do not fit at the axis".into()) };
    }
    if after == 0 {
        return Ok(());
    }
    let axes: Vec<i64> = (inner..inner.saturating_add(after)).collect();
    let made = step.before(op::UNSQUEEZE, &[b], &[(attr::AXES, AttrValue::Ints(axes))])?;
    step.set_input(1, Some(made));
    Ok(())
}

/// `C` is always broadcast.
pub(crate) fn gemm(step: &mut Step<'_>) -> Result<(), Reason> {
    step.remove(attr::BROADCAST);
    Ok(())
}
