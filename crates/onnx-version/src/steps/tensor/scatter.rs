//! `Scatter`, which version 11 replaces by `ScatterElements`.

use onnx_schema::op;

use crate::step::{Reason, Step};

/// The same computation under another name.
pub(crate) fn elements(step: &mut Step<'_>) -> Result<(), Reason> {
    step.rename(op::SCATTER_ELEMENTS);
    Ok(())
}
