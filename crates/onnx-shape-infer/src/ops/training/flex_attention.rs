//! `FlexAttention`: attention with graphs that change scores and weights.
//!
//! Queries are of shape (B, Hq, L, D), keys (B, H, S, D), values (B, H, S, Dv), and the output is (B, Hq, L, Dv). The graphs
//! change no shapes and are not entered.

use onnx_schema::{domain, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::fault::SIZES_DIFFER;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::FLEX_ATTENTION, &[since(1, rule)]).of(domain::PREVIEW);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut shapes = Vec::with_capacity(3);
    for index in 0..3 {
        shapes.push(if cx.rank(index).is_ok() { Some(cx.shape_of_rank(index, 4)?) } else { None });
    }
    let at = |input: usize, axis: usize| -> Dim {
        shapes
            .get(input)
            .and_then(Option::as_ref)
            .and_then(|dims| dims.get(axis))
            .copied()
            .unwrap_or_default()
    };
    let (query, key, value) = (0, 1, 2);
    let batch = cx.same(at(query, 0), at(key, 0), "the sizes of the batch")?;
    let batch = cx.same(batch, at(value, 0), "the sizes of the batch")?;
    cx.same(at(query, 3), at(key, 3), "the sizes of queries and keys")?;
    cx.same(at(key, 2), at(value, 2), "the numbers of keys and values")?;
    let heads = cx.same(at(key, 1), at(value, 1), "the numbers of heads of keys and values")?;
    if let (Dim::Known(all), Dim::Known(shared)) = (at(query, 1), heads)
        // Without key heads, only zero query heads fit.
        && all.checked_rem(shared).unwrap_or(all) != 0
    {
        return Err(cx.fail(
            &SIZES_DIFFER,
            format_args!("{all} heads of queries cannot share {shared} heads of keys"),
        ));
    }
    if shapes.iter().all(Option::is_none) {
        return Err(Stop::Unknown);
    }
    cx.set_shape(0, [batch, at(query, 1), at(query, 2), at(value, 3)]);
    Ok(())
}
