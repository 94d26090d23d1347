//! `Upsample`: version 1 scales two axes; version 10 replaces it by `Resize`.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};

use crate::reason::VersionReason;
use crate::step::Step;

/// One scale for each axis.
pub(crate) fn all_axes(step: &mut Step<'_>) -> Result<(), VersionReason> {
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
pub(crate) fn resize(step: &mut Step<'_>) -> Result<(), VersionReason> {
    step.rename(op::RESIZE);
    Ok(())
}

/// Downwards: two scales, of height and width.
pub(crate) fn height_and_width(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let Some(AttrValue::Floats(scales)) = step.given(attr::SCALES)? else {
        return Err("`scales` is omitted".into());
    };
    let &[batch, depth, height, width] = scales.as_slice() else {
        return Err("there are not four scales".into());
    };
    if batch != 1.0 || depth != 1.0 {
        return Err("the batch or the depth is scaled".into());
    }
    step.remove(attr::SCALES);
    step.set(attr::HEIGHT_SCALE, height)?;
    step.set(attr::WIDTH_SCALE, width)?;
    match step.text(attr::MODE)?.as_deref() {
        Some("linear" | "bilinear") => step.set_text(attr::MODE, "bilinear"),
        _ => Ok(()),
    }
}

/// Downwards: `Upsample` replaces `Resize`, if no axis shrinks.
pub(crate) fn former_name(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let scales = step.operand(1)?;
    if step.floats(scales, "the scales")?.iter().any(|&scale| scale < 1.0) {
        return Err("an axis shrinks, which `Upsample` does not do".into());
    }
    step.rename(op::UPSAMPLE);
    Ok(())
}
