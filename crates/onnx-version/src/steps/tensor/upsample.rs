//! `Upsample`: version 1 scales two axes; version 10 replaces it by `Resize`.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};

use crate::step::{Reason, Step};

/// One scale for each axis.
pub(crate) fn all_axes(step: &mut Step<'_>) -> Result<(), Reason> {
    let height = step.float(attr::HEIGHT_SCALE)?.ok_or("`height_scale` is omitted")?;
    let width = step.float(attr::WIDTH_SCALE)?.ok_or("`width_scale` is omitted")?;
    step.remove(attr::HEIGHT_SCALE);
    step.remove(attr::WIDTH_SCALE);
    if step.text(attr::MODE)?.as_deref() == Some("bilinear") {
        step.set(attr::MODE, AttrValue::String("linear".into()))?;
    }
    step.set(attr::SCALES, vec![1.0, 1.0, height, width])
}

/// `Resize` of version 10 computes the same.
pub(crate) fn resize(step: &mut Step<'_>) -> Result<(), Reason> {
    step.rename(op::RESIZE);
    Ok(())
}
