//! `Softmax`, `LogSoftmax`, `Hardmax`: before version 13, all axes from `axis` on count as one.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};

use crate::step::{Reason, Step};

/// If more axes follow than those of size 1, the operand is flattened and the result gets its shape back.
pub(crate) fn one_axis(step: &mut Step<'_>) -> Result<(), Reason> {
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
            // Without elements, every axis gives the same; `Reshape` would copy sizes where its operand has a 0.
            return step.set(attr::AXIS, -1_i64);
        }
    }
    let output =
        step.model.node(step.node).outputs().first().copied().flatten().ok_or("the output is omitted")?;
    let flat = step.before(op::FLATTEN, &[x], &[(attr::AXIS, AttrValue::Int(axis))])?;
    let shape = step.before(op::SHAPE, &[x], &[])?;
    step.set_input(0, Some(flat));
    step.set(attr::AXIS, -1_i64)?;
    step.wrap_output(output, None, op::RESHAPE, &[shape], &[])
}
