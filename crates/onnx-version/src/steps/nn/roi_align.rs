//! `RoiAlign`: version 16 moves regions by half a pixel by default.

use onnx_ir::AttrValue;
use onnx_schema::attr;

use crate::reason::Reason;
use crate::step::Step;

/// Regions stay where they are.
pub(crate) fn without_offset(step: &mut Step<'_>) -> Result<(), Reason> {
    step.set(attr::COORDINATE_TRANSFORMATION_MODE, AttrValue::String("output_half_pixel".into()))
}

/// Downwards: regions can only stay where they are.
pub(crate) fn only_without_offset(step: &mut Step<'_>) -> Result<(), Reason> {
    if step.text(attr::COORDINATE_TRANSFORMATION_MODE)?.as_deref() != Some("output_half_pixel") {
        return Err("it moves regions by half a pixel, which the older version does not do".into());
    }
    step.remove(attr::COORDINATE_TRANSFORMATION_MODE);
    Ok(())
}
