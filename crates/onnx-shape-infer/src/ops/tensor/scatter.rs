//! `ScatterElements` and its older name `Scatter`: the data with single elements replaced; the output has the shape of the
//! data. The reference compares neither the axis nor the other shapes with it, and nor is that done here.

use onnx_schema::{attr, op};

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::family::elementwise::like_first;
use crate::family::layout::{Sizes, Small, each, offset, position};
use crate::registry::{OpRules, infer, since};

pub(super) const SCATTER: OpRules = infer(op::SCATTER, &[since(9, scatter)]).values(&[since(9, values)]);

pub(super) const ELEMENTS: OpRules =
    infer(op::SCATTER_ELEMENTS, &[since(11, scatter)]).values(&[since(11, values)]);

/// All inputs have one rank, and there is an update for each index.
fn scatter(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.same_rank(0, 1)?;
    cx.same_rank(0, 2)?;
    if let (Ok(indices), Ok(updates)) = (cx.shape(1), cx.shape(2)) {
        for (&size, &other) in indices.iter().zip(&updates) {
            cx.agree(size, other, "a size of the indices and of the updates")?;
        }
    }
    like_first(cx)
}

/// Without a reduction, and where all indices are known.
fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    if !replaces(cx)? {
        return Err(Stop::Unknown);
    }
    let (data, indices, updates) = (Small::any(cx, 0)?, Small::of(cx, 1)?, Small::any(cx, 2)?);
    let axis = cx.int_or(attr::AXIS, 0)?;
    let axis = cx.axis(axis, data.sizes.len())?;
    let mut elems = data.elems(cx)?;
    let size = data.sizes.get(axis).copied().unwrap_or(0);
    let mut all_known = true;
    each(cx.content_limit(), &indices.sizes, |at| {
        let mut to = Sizes::from_slice(at);
        let index = indices.at(at).known().and_then(|index| position(index, size));
        if let (Some(index), Some(slot)) = (index, to.get_mut(axis)) {
            *slot = index;
            all_known &= put(&mut elems, offset(&data.sizes, &to), updates.at(at));
        } else {
            all_known = false;
        }
    })?;
    if all_known {
        cx.set_content(0, elems);
    }
    Ok(())
}

/// Whether elements are replaced, not reduced.
pub(super) fn replaces(cx: &mut Cx<'_, '_>) -> Outcome<bool> {
    Ok(matches!(cx.text(attr::REDUCTION)?, None | Some("none")))
}

/// Replaces an element. Returns `false` if it does not exist.
pub(super) fn put(elems: &mut [Elem], at: Option<usize>, elem: Elem) -> bool {
    match at.and_then(|at| elems.get_mut(at)) {
        Some(slot) => {
            *slot = elem;
            true
        }
        None => false,
    }
}
