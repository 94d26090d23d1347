//! Functions that the attention operators share: heads as a separate axis, and heads of keys and values that several
//! heads of queries share.

use onnx_schema::attr;
use onnx_types::Symbol;

use crate::bodies::draft::{Draft, Made, V};

/// An operand with heads as its second axis: `[batch, heads, steps, width]`. An operand of rank 3 has the heads one after the
/// other in its last axis, and an attribute with their number.
pub(in crate::bodies) fn split(draft: &mut Draft<'_>, index: usize, count: Symbol) -> Made {
    let x = draft.input(index)?;
    match draft.rank(index)? {
        4 => Ok(x),
        3 => split_last(draft, x, count),
        rank => Err(crate::FunctionReason::new(format!("input {index} has {rank} axes instead of 3 or 4"))),
    }
}

/// `[batch, steps, heads * width]` as `[batch, heads, steps, width]`.
pub(in crate::bodies) fn split_last(draft: &mut Draft<'_>, x: V, count: Symbol) -> Made {
    let heads = draft.int(count)?;
    if heads <= 0 {
        return Err(draft.wrong(count, "is not a number of heads"));
    }
    let heads = draft.ints(&[heads])?;
    let (outer, all) = (draft.sizes(x, 0, Some(2))?, draft.dim(x, 2)?);
    let width = draft.div(all, heads)?;
    let sizes = draft.concat(&[outer, heads, width], 0)?;
    let x = draft.reshape(x, sizes)?;
    draft.transpose(x, &[0, 2, 1, 3])
}

/// `[batch, heads, steps, width]` as `[batch, steps, heads * width]`.
pub(in crate::bodies) fn join(draft: &mut Draft<'_>, x: V) -> Made {
    let x = draft.transpose(x, &[0, 2, 1, 3])?;
    let outer = draft.sizes(x, 0, Some(2))?;
    let (heads, width) = (draft.dim(x, 2)?, draft.dim(x, 3)?);
    let all = draft.mul(heads, width)?;
    let sizes = draft.concat(&[outer, all], 0)?;
    draft.reshape(x, sizes)
}

/// Repeats the heads of keys or values so that there are as many as heads of queries: consecutive heads of queries
/// share one.
pub(in crate::bodies) fn repeat(draft: &mut Draft<'_>, x: V, queries: V) -> Made {
    let (batch, heads) = (draft.dim(x, 0)?, draft.dim(x, 1)?);
    let inner = draft.sizes(x, 2, None)?;
    let all = draft.dim(queries, 1)?;
    // With 0 heads, there is nothing to divide by.
    let one = draft.ints(&[1])?;
    let divisor = draft.maximum(heads, one)?;
    let group = draft.div(all, divisor)?;
    let sizes = draft.concat(&[batch, heads, group, inner], 0)?;
    let x = draft.unsqueeze(x, &[2])?;
    let x = draft.expand(x, sizes)?;
    let sizes = draft.concat(&[batch, all, inner], 0)?;
    draft.reshape(x, sizes)
}

/// Whether an operand has the heads in its last axis.
pub(in crate::bodies) fn are_joined(draft: &Draft<'_>) -> Made<bool> {
    Ok(draft.rank(0)? == 3)
}

/// The scale of the scores, which is 1 divided by the root of the width unless it is given, as a `float` of rank 0.
pub(in crate::bodies) fn scale(draft: &mut Draft<'_>, queries: V, elem: onnx_types::ElemType) -> Made {
    if let Some(scale) = draft.optional_float(attr::SCALE)? {
        return draft.number(elem, f64::from(scale));
    }
    let width = draft.dim(queries, 3)?;
    let width = draft.squeeze(width, &[0])?;
    let width = draft.cast_to(width, elem)?;
    let root = draft.sqrt(width)?;
    draft.reciprocal(root)
}
