//! `GridSample`: version 20 names two modes in another way.

use onnx_ir::AttrValue;
use onnx_schema::attr;

use crate::step::{Reason, Step};

/// The new names.
pub(crate) fn renamed_modes(step: &mut Step<'_>) -> Result<(), Reason> {
    let new = match step.text(attr::MODE)?.as_deref() {
        Some("bilinear") => "linear",
        Some("bicubic") => "cubic",
        _ => return Ok(()),
    };
    step.set(attr::MODE, AttrValue::String(new.into()))
}
