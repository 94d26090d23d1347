//! `DFT`: the axis is an attribute before version 20.

use onnx_schema::attr;

use crate::reason::VersionReason;
use crate::step::Step;

/// Downwards: a constant axis is an attribute. The one before the last, which is the default, is counted from the front.
pub(crate) fn axis(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let x = step.operand(0)?;
    let axis = match step.input(2) {
        Some(axis) => match step.ints(axis, "the axis")?.as_slice() {
            &[axis] => axis,
            _ => return Err("the axis has not one element".into()),
        },
        None => -2,
    };
    let axis = step.positive(axis, x)?;
    step.cut_inputs(2);
    step.set(attr::AXIS, axis)
}
