//! Reductions: the axes are an attribute before version 18, or 13 for `ReduceSum`; without axes, a flag lets nothing be
//! reduced.

use onnx_schema::{attr, op};

use crate::reason::Reason;
use crate::step::Step;

/// Downwards: constant axes are an attribute. If nothing is reduced, what the operator does to single elements remains.
pub(crate) fn attributes(step: &mut Step<'_>) -> Result<(), Reason> {
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
        op::REDUCE_LOG_SUM => step.like(x, op::LOG, &[x], &[])?,
        _ => step.like(x, op::IDENTITY, &[x], &[])?,
    };
    step.replace(made)
}
