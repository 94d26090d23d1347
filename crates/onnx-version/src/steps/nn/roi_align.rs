//! `RoiAlign`: version 16 moves regions by half a pixel by default.

use onnx_ir::AttrValue;
use onnx_schema::attr;

use crate::reason::VersionReason;
use crate::step::Step;

/// Regions are not moved.
pub(crate) fn without_offset(step: &mut Step<'_>) -> Result<(), VersionReason> {
    step.set(attr::COORDINATE_TRANSFORMATION_MODE, AttrValue::String("output_half_pixel".into()))
}

/// Downwards: refuses regions that are moved by half a pixel.
pub(crate) fn only_without_offset(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if step.text(attr::COORDINATE_TRANSFORMATION_MODE)?.as_deref() != Some("output_half_pixel") {
        return Err("it moves regions by half a pixel, which the older version does not do".into());
    }
    step.remove(attr::COORDINATE_TRANSFORMATION_MODE);
    Ok(())
}
