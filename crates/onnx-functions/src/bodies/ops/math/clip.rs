//! `Clip`: elements below the lower bound become the lower bound, then elements above the upper bound become the upper
//! bound. NaN is unchanged.
//!
//! Without bounds nothing changes. `Where` before version 16 does not have `bfloat16`, in which the body computes through
//! `float`; the reference uses it nevertheless.

use onnx_schema::op;
use onnx_types::ElemType;

use crate::bodies::draft::{Draft, Made, V};

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (x, elem) = (draft.input(0)?, draft.elem(0)?);
    let (low, high) = (draft.optional(1), draft.optional(2));
    let wide = if draft.allows(op::WHERE, 1, elem) { elem } else { ElemType::Float };
    let mut y = draft.cast(x, elem, wide)?;
    if let Some(low) = low {
        let low = draft.cast(low, elem, wide)?;
        let is_low = draft.less(y, low)?;
        y = draft.select(is_low, low, y)?;
    }
    if let Some(high) = high {
        let high = draft.cast(high, elem, wide)?;
        let is_high = draft.less(high, y)?;
        y = draft.select(is_high, high, y)?;
    }
    Ok(vec![draft.cast(y, wide, elem)?])
}
