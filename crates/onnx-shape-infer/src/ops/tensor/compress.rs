//! `Compress`: the slices along an axis for which a condition holds, or the elements of the flattened input without an
//! axis.
//!
//! How many there are is a new symbol, at most the length of the axis and that of the condition, unless the condition is
//! known. The condition must be a vector, which the reference does not check, and may be shorter than the axis. Without an
//! axis a scalar counts as one element: the specification asks for a rank of at least 1, but the reference and runtimes
//! flatten it like any other input. The reference infers nothing at version 9.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::family::layout::{Sizes, Small, fill};
use crate::fault::WRONG_RANK;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::COMPRESS, &[since(9, compress)]).values(&[since(9, values)]);

fn compress(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Ok(rank) = cx.rank(1)
        && rank != 1
    {
        return Err(cx.fail(&WRONG_RANK, format_args!("the condition has rank {rank} where 1 is needed")));
    }
    let axis = cx.int(attr::AXIS)?;
    if axis.is_none() {
        cx.set_shape(0, [Dim::Unknown]);
    }
    let mut dims = cx.shape(0)?;
    match axis {
        Some(_) if dims.is_empty() => {
            return Err(cx.fail(&WRONG_RANK, "a scalar has no axis to take slices along"));
        }
        Some(axis) => {
            let axis = cx.axis(axis, dims.len())?;
            if let Some(slot) = dims.get(axis).copied() {
                let count = count(cx, slot, axis);
                if let Some(slot) = dims.get_mut(axis) {
                    *slot = count;
                }
            }
            cx.set_dims(0, dims);
        }
        None => {
            let all = cx.product(&dims);
            let count = count(cx, all, 0);
            cx.set_shape(0, [count]);
        }
    }
    Ok(())
}

/// How many of `dim` are left; the output has them at `axis`.
fn count(cx: &mut Cx<'_, '_>, dim: Dim, axis: usize) -> Dim {
    if let (Ok(taken), Dim::Known(size)) = (taken(cx), dim) {
        let within = |&&at: &&usize| i64::try_from(at).is_ok_and(|at| at < size);
        return i64::try_from(taken.iter().filter(within).count()).map_or(Dim::Unknown, Dim::Known);
    }
    let most = match cx.shape(1).as_deref() {
        Ok(&[len]) => cx.min(dim, len),
        _ => dim,
    };
    cx.size_at_most(0, axis, most)
}

/// The places at which the condition holds, when that is known of all.
fn taken(cx: &mut Cx<'_, '_>) -> Outcome<Vec<usize>> {
    let condition = cx.numbers(1)?;
    Ok(condition.iter().enumerate().filter(|&(_, &holds)| holds != 0).map(|(at, _)| at).collect())
}

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let (data, taken) = (Small::of(cx, 0)?, taken(cx)?);
    let Some(axis) = cx.int(attr::AXIS)? else {
        return fill(cx, 0, |at| {
            let from = at.first().and_then(|&at| taken.get(at));
            from.map_or(Elem::Unknown, |&from| data.nth(from))
        });
    };
    let axis = cx.axis(axis, data.sizes.len())?;
    fill(cx, 0, |at| {
        let mut from = Sizes::from_slice(at);
        let index = at.get(axis).and_then(|&at| taken.get(at));
        match (index, from.get_mut(axis)) {
            (Some(&index), Some(slot)) => *slot = index,
            _ => return Elem::Unknown,
        }
        data.at(&from)
    })
}
