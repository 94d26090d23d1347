//! `NonZero`: the coordinates of all elements that are not 0, as a matrix with one row for each axis.
//!
//! How many there are follows where each element is a number or computed from sizes; otherwise it is a new symbol, at most the
//! number of elements. Their coordinates follow where it is known of each element whether it is 0.
//!
//! A scalar has no axis, so its result has no row; onnxruntime gives one, and the number is unknown if results must hold
//! there.

use onnx_schema::op;
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::family::comparison::not_zero;
use crate::family::layout::{Sizes, Small, each, fill};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::NON_ZERO, &[since(9, non_zero)]).values(&[since(9, values)]);

fn non_zero(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_shape(0, [Dim::Unknown, Dim::Unknown]);
    let dims = cx.shape(0)?;
    let count = match found(cx) {
        Ok(found) => Dim::Known(i64::try_from(found.len()).map_err(|_| Stop::Unknown)?),
        Err(_) => match count(cx) {
            Dim::Unknown => {
                let most = cx.product(&dims);
                cx.size_at_most(0, 1, most)
            }
            count => count,
        },
    };
    let rank = i64::try_from(dims.len()).map_err(|_| Stop::Unknown)?;
    let rows = if rank == 0 && cx.for_onnxruntime() { Dim::Unknown } else { Dim::Known(rank) };
    cx.set_shape(0, [rows, count]);
    Ok(())
}

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let found = found(cx)?;
    fill(cx, 0, |at| match at {
        &[axis, nth] => found
            .get(nth)
            .and_then(|place| place.get(axis))
            .and_then(|&at| i64::try_from(at).ok())
            .map_or(Elem::Unknown, |at| Elem::Int(Dim::Known(at))),
        _ => Elem::Unknown,
    })
}

/// The coordinates of the elements that are not 0, when that is known of all.
fn found(cx: &mut Cx<'_, '_>) -> Outcome<Vec<Sizes>> {
    let data = Small::of(cx, 0)?;
    let mut found = Vec::new();
    let mut all_known = true;
    let limit = cx.content_limit();
    each(limit, &data.sizes, |at| match is_zero(cx, data.at(at)) {
        Some(true) => {}
        Some(false) => found.push(Sizes::from_slice(at)),
        None => all_known = false,
    })?;
    if all_known { Ok(found) } else { Err(Stop::Unknown) }
}

/// The number of elements that are not 0, if it depends only on sizes.
fn count(cx: &mut Cx<'_, '_>) -> Dim {
    let Some(content) = cx.content(0).filter(|content| content.len() <= MAX_COUNTED) else {
        return Dim::Unknown;
    };
    let ones: Vec<Dim> = content.iter().map(|&elem| one_if_not_zero(cx, elem)).collect();
    cx.dims().sum(&ones)
}

/// Longer lists of elements that depend on sizes are not counted by an expression.
const MAX_COUNTED: usize = 16;

/// 1 for an element that is not 0, and 0 for one that is.
pub(super) fn one_if_not_zero(cx: &mut Cx<'_, '_>, elem: Elem) -> Dim {
    match (is_zero(cx, elem), elem) {
        (Some(is_zero), _) => Dim::Known(i64::from(!is_zero)),
        (None, Elem::Int(dim) | Elem::Dyadic(dim, _)) => not_zero(cx, dim),
        (None, _) => Dim::Unknown,
    }
}

/// Whether an element is 0, if that is known.
pub(super) fn is_zero(cx: &Cx<'_, '_>, elem: Elem) -> Option<bool> {
    match elem {
        Elem::Int(dim) => cx.dims_eq(dim, Dim::Known(0)),
        Elem::Float(number) => Some(number == 0.0),
        _ => None,
    }
}
