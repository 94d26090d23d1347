//! `Concat`: the axis has a default in version 1.

use onnx_schema::attr;

use crate::reason::VersionReason;
use crate::step::Step;

/// The default is 1.
pub(crate) fn explicit_axis(step: &mut Step<'_>) -> Result<(), VersionReason> {
    match step.has(attr::AXIS) {
        true => Ok(()),
        false => step.set(attr::AXIS, 1_i64),
    }
}
