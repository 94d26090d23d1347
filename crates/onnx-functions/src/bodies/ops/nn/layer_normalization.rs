//! `LayerNormalization` and `RMSNormalization`: the elements along the last axes divided by their deviation, or by the root of
//! the mean of their squares. The first stage is computed in the `stash_type`.
//!
//! The variance is the mean of the squared distances from the mean, as in the specification. The reference computes the
//! mean of the squares minus the square of the mean, which loses precision by cancellation, and flattens the input,
//! which fails without elements.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::bodies::draft::{Draft, Made, V};

/// The axes that are normalized. If the attribute `axis` is negative, they are known without the rank.
fn axes(draft: &Draft<'_>) -> Made<Vec<i64>> {
    let axis = draft.int(attr::AXIS)?;
    if axis < 0 {
        return Ok((axis..0).collect());
    }
    let rank = draft.rank(0)?;
    let axes: Vec<i64> = (0..rank as i64).filter(|&other| other >= axis).collect();
    if axes.is_empty() { Err(draft.wrong(attr::AXIS, "is not an axis of the input")) } else { Ok(axes) }
}

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (x, scale, bias) = (draft.input(0)?, draft.input(1)?, draft.optional(2));
    let elem = draft.elem(0)?;
    let stash = draft.elem_attribute(attr::STASH_TYPE)?.unwrap_or(ElemType::Float);
    let axes = axes(draft)?;
    let epsilon = draft.float(attr::EPSILON)?;
    let x = draft.cast(x, elem, stash)?;
    let mean = draft.reduce(op::REDUCE_MEAN, x, &axes)?;
    let distance = draft.sub(x, mean)?;
    let (normal, deviation) = over_root(draft, distance, &axes, (stash, epsilon))?;
    let normal = draft.cast(normal, stash, elem)?;
    let mut y = draft.mul(normal, scale)?;
    if let Some(bias) = bias {
        y = draft.add(y, bias)?;
    }
    let mut results = vec![y, mean];
    if draft.output_count() > 2 {
        results.push(draft.reciprocal(deviation)?);
    }
    Ok(results)
}

pub(in crate::bodies) fn root_mean_square(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (x, scale, elem) = (draft.input(0)?, draft.input(1)?, draft.elem(0)?);
    // Scale and result can have another type than the input.
    let to = draft.elem(1)?;
    let stash = draft.elem_attribute(attr::STASH_TYPE)?.unwrap_or(ElemType::Float);
    let axes = axes(draft)?;
    let epsilon = draft.float(attr::EPSILON)?;
    let x = draft.cast(x, elem, stash)?;
    let (normal, _) = over_root(draft, x, &axes, (stash, epsilon))?;
    let normal = draft.cast(normal, stash, to)?;
    Ok(vec![draft.mul(normal, scale)?])
}

/// Elements divided by the root of the mean of their squares, and this root.
pub(super) fn over_root(
    draft: &mut Draft<'_>,
    x: V,
    axes: &[i64],
    (elem, epsilon): (ElemType, f32),
) -> Made<(V, V)> {
    let epsilon = draft.number(elem, f64::from(epsilon))?;
    let squares = draft.mul(x, x)?;
    let mean = draft.reduce(op::REDUCE_MEAN, squares, axes)?;
    let sum = draft.add(mean, epsilon)?;
    let root = draft.sqrt(sum)?;
    Ok((draft.div(x, root)?, root))
}
