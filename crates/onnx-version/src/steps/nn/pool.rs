//! Pooling: the exponent of `LpPool` is a float in version 1; from version 22 on, windows that begin in the padding at the end
//! do not count.

use onnx_schema::attr;

use crate::reason::{Cause, Reason};
use crate::step::Step;

/// The exponent as an integer.
pub(crate) fn integral_exponent(step: &mut Step<'_>) -> Result<(), Reason> {
    // The default is 2 in both versions, written in two kinds.
    let exponent = step.float(attr::P)?.unwrap_or(2.0);
    if exponent.fract() != 0.0 || exponent.abs() > 1e6 {
        return Err(format!("the exponent {exponent} is not an integer").into());
    }
    step.remove(attr::P);
    step.set(attr::P, exponent as i64)
}

/// Downwards: the exponent as a float.
pub(crate) fn float_exponent(step: &mut Step<'_>) -> Result<(), Reason> {
    let exponent = step.int(attr::P)?.unwrap_or(2);
    if exponent.unsigned_abs() > 1 << 24 {
        return Err(format!("the exponent {exponent} is not a float").into());
    }
    step.remove(attr::P);
    step.set(attr::P, exponent as f32)
}

/// Upwards: refuses a window that is known to begin in the padding at the end.
pub(crate) fn no_window_in_padding(step: &mut Step<'_>) -> Result<(), Reason> {
    match begins_in_padding(step)? {
        Some(true) => Err(BEGINS.into()),
        _ => Ok(()),
    }
}

/// Downwards: refuses a window that may begin in the padding at the end.
pub(crate) fn windows_in_data(step: &mut Step<'_>) -> Result<(), Reason> {
    match begins_in_padding(step)? {
        Some(true) => Err(BEGINS.into()),
        Some(false) => Ok(()),
        None => Err(Reason::new(
            Cause::ShapeUnknown,
            "the size of the operand, on which the number of windows depends with `ceil_mode`, is unknown",
        )),
    }
}

const BEGINS: &str = "a window begins in the padding at the end, which counts before version 22 only";

/// Whether a window begins in the padding at the end, which only rounding up can cause; `None` if it depends on a size.
fn begins_in_padding(step: &Step<'_>) -> Result<Option<bool>, Reason> {
    if !step.flag(attr::CEIL_MODE)? || step.text(attr::AUTO_PAD)?.is_some_and(|pad| pad != "NOTSET") {
        return Ok(Some(false));
    }
    let kernel = step.given_ints(attr::KERNEL_SHAPE)?.ok_or("`kernel_shape` is omitted")?;
    let Some(sizes) = step.sizes(step.operand(0)?) else { return Ok(None) };
    let count = kernel.len();
    let pads = step.given_ints(attr::PADS)?.unwrap_or_else(|| vec![0; count.saturating_mul(2)]);
    let strides = step.given_ints(attr::STRIDES)?.unwrap_or_else(|| vec![1; count]);
    let dilations = step.given_ints(attr::DILATIONS)?.unwrap_or_else(|| vec![1; count]);
    let mut is_known = true;
    for axis in 0..count {
        let at = |list: &[i64], index: usize| list.get(index).copied().unwrap_or(0);
        let (begin, end) = (at(&pads, axis), at(&pads, axis.saturating_add(count)));
        let (stride, dilation) = (at(&strides, axis).max(1), at(&dilations, axis).max(1));
        let extent = at(&kernel, axis).saturating_sub(1).saturating_mul(dilation).saturating_add(1);
        let Some(size) = sizes.get(axis.saturating_add(2)).copied().flatten() else {
            // The last window exceeds the padded data by less than a stride.
            is_known &= end.saturating_add(stride) <= extent;
            continue;
        };
        let room = size.saturating_add(begin).saturating_add(end).saturating_sub(extent);
        let last = room.saturating_add(stride.saturating_sub(1)).div_euclid(stride).saturating_mul(stride);
        if room >= 0 && last >= size.saturating_add(begin) {
            return Ok(Some(true));
        }
    }
    Ok(is_known.then_some(false))
}
