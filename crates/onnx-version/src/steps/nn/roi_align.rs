//! `RoiAlign`: version 16 moves regions by half a pixel by default.

use onnx_ir::AttrValue;
use onnx_schema::attr;

use crate::step::{Reason, Step};

/// Regions stay where they are.
pub(crate) fn without_offset(step: &mut Step<'_>) -> Result<(), Reason> {
    step.set(attr::COORDINATE_TRANSFORMATION_MODE, AttrValue::String("output_half_pixel".into()))
}
