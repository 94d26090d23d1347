//! `Softmax` and `LogSoftmax` along one axis, with the maximum subtracted first. Older versions, which flatten the input, have
//! no body.

use onnx_schema::{attr, op};

use crate::bodies::draft::{Draft, Made, V};

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (x, axis) = (draft.input(0)?, draft.int(attr::AXIS)?);
    Ok(vec![softmax(draft, x, axis)?])
}

pub(in crate::bodies) fn log_body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (x, axis) = (draft.input(0)?, draft.int(attr::AXIS)?);
    Ok(vec![log_softmax(draft, x, axis)?])
}

/// The softmax along an axis.
pub(in crate::bodies) fn softmax(draft: &mut Draft<'_>, x: V, axis: i64) -> Made {
    let (_, powers, sum) = powers(draft, x, axis)?;
    draft.div(powers, sum)
}

/// The logarithm of the softmax along an axis.
pub(in crate::bodies) fn log_softmax(draft: &mut Draft<'_>, x: V, axis: i64) -> Made {
    let (shifted, _, sum) = powers(draft, x, axis)?;
    let log = draft.log(sum)?;
    draft.sub(shifted, log)
}

/// The elements minus the maximum, their exponentials, and the sum of these.
fn powers(draft: &mut Draft<'_>, x: V, axis: i64) -> Made<(V, V, V)> {
    let max = draft.reduce(op::REDUCE_MAX, x, &[axis])?;
    let shifted = draft.sub(x, max)?;
    let powers = draft.exp(shifted)?;
    let sum = draft.reduce(op::REDUCE_SUM, powers, &[axis])?;
    Ok((shifted, powers, sum))
}
