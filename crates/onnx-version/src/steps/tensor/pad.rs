//! `Pad`: version 2 renames an attribute.

use onnx_schema::attr;

use crate::step::{Reason, Step};

/// `paddings` becomes `pads`.
pub(crate) fn renamed(step: &mut Step<'_>) -> Result<(), Reason> {
    let pads = step.given(attr::PADDINGS)?.ok_or("`paddings` is omitted")?;
    step.remove(attr::PADDINGS);
    step.set(attr::PADS, pads)
}
