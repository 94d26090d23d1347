//! `GroupNormalization`: the elements of each group of channels minus their mean, divided by their deviation.
//!
//! Version 18 has a scale and a bias for each group, and computes in the element type; from version 21 on there is one
//! for each channel, and the first stage is computed in the `stash_type`. The reference reshapes with sizes of 0 and
//! -1, which fails for inputs without elements, and computes the variance as the mean of the squares minus the square
//! of the mean, which loses precision by cancellation.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use super::layer_normalization::over_root;
use crate::bodies::draft::{Draft, Made, V};

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (x, scale, bias) = (draft.input(0)?, draft.input(1)?, draft.input(2)?);
    let (elem, epsilon) = (draft.elem(0)?, draft.float(attr::EPSILON)?);
    let groups = draft.int(attr::NUM_GROUPS)?;
    if groups <= 0 {
        return Err(draft.wrong(attr::NUM_GROUPS, "is not a number of groups"));
    }
    let is_per_channel = draft.version() >= 21;
    let stash = match draft.elem_attribute(attr::STASH_TYPE)? {
        Some(stash) => stash,
        None if is_per_channel => ElemType::Float,
        None => elem,
    };
    let sizes = draft.sizes(x, 0, None)?;
    let (batch, channels) = (draft.dim(x, 0)?, draft.dim(x, 1)?);
    let groups = draft.ints(&[groups])?;
    let in_group = draft.div(channels, groups)?;
    let space = draft.sizes(x, 2, None)?;
    let places = draft.op(op::REDUCE_PROD, &[space], Vec::new())?;
    let elements = draft.mul(in_group, places)?;
    let by_group = draft.concat(&[batch, groups, elements], 0)?;

    let x = draft.cast(x, elem, stash)?;
    let x = draft.reshape(x, by_group)?;
    let mean = draft.reduce(op::REDUCE_MEAN, x, &[2])?;
    let distance = draft.sub(x, mean)?;
    let (normal, _) = over_root(draft, distance, &[2], (stash, epsilon))?;
    let mut normal = draft.cast(normal, stash, elem)?;
    if is_per_channel {
        let by_channel = draft.concat(&[batch, channels, places], 0)?;
        normal = draft.reshape(normal, by_channel)?;
    }
    // One column of factors for the rows of groups or channels.
    let (scale, bias) = (draft.unsqueeze(scale, &[1])?, draft.unsqueeze(bias, &[1])?);
    let scaled = draft.mul(normal, scale)?;
    let y = draft.add(scaled, bias)?;
    Ok(vec![draft.reshape(y, sizes)?])
}
