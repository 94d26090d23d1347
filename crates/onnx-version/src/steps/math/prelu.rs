//! `PRelu`: before version 7, a slope of rank 1 has an element for each channel.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};

use crate::step::{Reason, Step};

/// Axes of size 1 follow that of the channels.
pub(crate) fn channels(step: &mut Step<'_>) -> Result<(), Reason> {
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
