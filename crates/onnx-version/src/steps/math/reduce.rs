//! Reductions: the axes are an attribute before version 18, or 13 for `ReduceSum`; without axes, a flag lets nothing be
//! reduced.

use onnx_ir::ValueId;
use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::reason::VersionReason;
use crate::step::Step;

/// Downwards: constant axes are an attribute. If no axis is reduced, the operator is replaced by its effect on single
/// elements.
pub(crate) fn attributes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let axes = match step.input(1) {
        Some(axes) => step.ints(axes, "`axes`")?,
        None => Vec::new(),
    };
    let does_nothing = step.flag(attr::NOOP_WITH_EMPTY_AXES)?;
    step.cut_inputs(1);
    step.remove(attr::NOOP_WITH_EMPTY_AXES);
    if !axes.is_empty() {
        return step.set(attr::AXES, axes);
    }
    if !does_nothing {
        return Ok(());
    }
    let x = step.operand(0)?;
    let made = match step.old.op() {
        op::REDUCE_L1 | op::REDUCE_L2 => step.like(x, op::ABS, &[x], &[])?,
        op::REDUCE_SUM_SQUARE => step.like(x, op::MUL, &[x, x], &[])?,
        op::REDUCE_LOG_SUM => logarithm(step, x)?,
        _ => step.like(x, op::IDENTITY, &[x], &[])?,
    };
    step.replace(made)
}

/// The logarithm of each element. `Log` does not allow integers, which are computed as `float`.
fn logarithm(step: &mut Step<'_>, x: ValueId) -> Result<ValueId, VersionReason> {
    let elem = step.elem(x)?;
    if elem.is_float() {
        return step.like(x, op::LOG, &[x], &[]);
    }
    let wide = step.cast(x, ElemType::Float)?;
    let log = step.like(wide, op::LOG, &[wide], &[])?;
    step.cast(log, elem)
}
