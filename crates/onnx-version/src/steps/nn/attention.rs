//! `Attention`: from version 24 on, a mask may be shorter than the keys.

use onnx_types::Dim;

use crate::reason::{Cause, Reason};
use crate::step::Step;

/// Downwards: the mask must be as long as the keys, past ones included.
pub(crate) fn whole_mask(step: &mut Step<'_>) -> Result<(), Reason> {
    let Some(mask) = step.input(3) else { return Ok(()) };
    if step.input(4).is_some() {
        return Err(Reason::new(
            Cause::ShapeUnknown,
            "it is unknown whether `attn_mask` is as long as `past_key` and `K` together",
        ));
    }
    let (mask, key) = (step.dims(mask)?, step.dims(step.operand(1)?)?);
    let length = key.len().checked_sub(2).and_then(|axis| key.get(axis));
    match (mask.last(), length) {
        (Some(a), Some(b)) if a == b && *a != Dim::Unknown => Ok(()),
        _ => {
            Err(format!("`attn_mask` may be shorter than `K`, which version {} does not allow", step.version)
                .into())
        }
    }
}
