//! `ScatterND`: the data with slices replaced that the last axis of the indices gives coordinates of; the output has the
//! shape of the data.

use onnx_schema::op;

use crate::cx::{Cx, Outcome, Stop};
use crate::family::elementwise::like_first;
use crate::family::layout::{Sizes, Small, each, offset, position};
use crate::fault::WRONG_RANK;
use crate::registry::{OpRules, infer, since};

use super::scatter::{put, replaces};

pub(super) const RULES: OpRules = infer(op::SCATTER_ND, &[since(11, scatter)]).values(&[since(11, values)]);

/// The updates have the outer axes of the indices, and the axes of the data that no index names.
fn scatter(cx: &mut Cx<'_, '_>) -> Outcome {
    like_first(cx)?;
    let (data, indices) = (cx.shape(0)?, cx.shape(1)?);
    let Some((depth, outer)) = indices.split_last() else {
        return Err(cx.fail(&WRONG_RANK, "the indices may not be a scalar"));
    };
    let depth = depth.known().and_then(|depth| usize::try_from(depth).ok()).ok_or(Stop::Unknown)?;
    let Some(inner) = data.get(depth..) else {
        let rank = data.len();
        let message = format_args!("{depth} coordinates are more than the rank {rank}");
        return Err(cx.fail(&WRONG_RANK, message));
    };
    let updates = cx.shape(2)?;
    let (found, rank) = (updates.len(), outer.len().saturating_add(inner.len()));
    if found != rank {
        return Err(
            cx.fail(&WRONG_RANK, format_args!("the updates have rank {found} where {rank} is needed"))
        );
    }
    for (&size, &wanted) in updates.iter().zip(outer.iter().chain(inner)) {
        cx.agree(size, wanted, "a size of the updates and that of the indices or the data")?;
    }
    Ok(())
}

/// Without a reduction, and where all indices are known.
fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    if !replaces(cx)? {
        return Err(Stop::Unknown);
    }
    let (data, indices, updates) = (Small::any(cx, 0)?, Small::of(cx, 1)?, Small::any(cx, 2)?);
    let (&depth, outer) = indices.sizes.split_last().ok_or(Stop::Unknown)?;
    let inner = data.sizes.get(depth..).ok_or(Stop::Unknown)?;
    let mut elems = data.elems(cx)?;
    let walked: Sizes = outer.iter().chain(inner).copied().collect();
    let mut all_known = true;
    each(cx.content_limit(), &walked, |at| {
        let (slice, rest) = at.split_at(outer.len().min(at.len()));
        let mut to = Sizes::new();
        for nth in 0..depth {
            let mut place = Sizes::from_slice(slice);
            place.push(nth);
            let size = data.sizes.get(nth).copied().unwrap_or(0);
            match indices.at(&place).known().and_then(|index| position(index, size)) {
                Some(index) => to.push(index),
                None => all_known = false,
            }
        }
        to.extend_from_slice(rest);
        all_known = all_known && put(&mut elems, offset(&data.sizes, &to), updates.at(at));
    })?;
    if all_known {
        cx.set_content(0, elems);
    }
    Ok(())
}
