//! `Clip`: version 1 does not bound on a side whose bound is omitted.

use onnx_schema::attr;

use crate::step::{Reason, Step};

/// From version 6, an omitted bound is the largest finite number of `float`.
pub(crate) fn infinite_bounds(step: &mut Step<'_>) -> Result<(), Reason> {
    for (name, bound) in [(attr::MIN, f32::NEG_INFINITY), (attr::MAX, f32::INFINITY)] {
        if !step.has(name) {
            step.set(name, bound)?;
        }
    }
    Ok(())
}
