//! `GridSample`: version 20 renames two modes.

use onnx_ir::AttrValue;
use onnx_schema::attr;

use crate::reason::VersionReason;
use crate::step::Step;

/// The new names.
pub(crate) fn renamed_modes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let new = match step.text(attr::MODE)?.as_deref() {
        Some("bilinear") => "linear",
        Some("bicubic") => "cubic",
        _ => return Ok(()),
    };
    step.set(attr::MODE, AttrValue::String(new.into()))
}

/// Downwards: the former names, for images of two dimensions.
pub(crate) fn former_modes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if step.rank(step.operand(0)?)? != 4 {
        return Err("the older version samples images of two dimensions only".into());
    }
    match step.text(attr::MODE)?.as_deref() {
        Some("linear") | None => step.set_text(attr::MODE, "bilinear"),
        Some("cubic") => step.set_text(attr::MODE, "bicubic"),
        _ => Ok(()),
    }
}
