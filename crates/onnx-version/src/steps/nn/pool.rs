//! `LpPool`, `GlobalLpPool`: the exponent is a float in version 1.

use onnx_schema::attr;

use crate::step::{Reason, Step};

/// The exponent as an integer.
pub(crate) fn integral_exponent(step: &mut Step<'_>) -> Result<(), Reason> {
    // The default is 2 in both versions, written in two kinds.
    let exponent = step.float(attr::P)?.unwrap_or(2.0);
    if exponent.fract() != 0.0 || exponent.abs() > 1e6 {
        return Err(Reason::new(format!("the exponent {exponent} is not an integer")));
    }
    step.set(attr::P, exponent as i64)
}
