//! `GatherND`: the last axis of the indices holds coordinates of slices. From version 12 on the first `batch_dims` axes of
//! both tensors go together.
//!
//! How many coordinates a slice has must be known for the rank of the output to be. The sizes of axes that go together are
//! equal in every valid run; the reference takes those of the indices and does not compare them, nor is it a fault here.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::family::layout::{Sizes, Small, fill, position};
use crate::fault::{BAD_ATTRIBUTE, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules =
    infer(op::GATHER_ND, &[since(11, |cx| gather_nd(cx, 0)), since(12, with_batch)])
        .values(&[since(11, |cx| values(cx, 0)), since(12, values_with_batch)]);

fn with_batch(cx: &mut Cx<'_, '_>) -> Outcome {
    let batch = cx.int_or(attr::BATCH_DIMS, 0)?;
    gather_nd(cx, batch)
}

fn values_with_batch(cx: &mut Cx<'_, '_>) -> Outcome {
    let batch = cx.int_or(attr::BATCH_DIMS, 0)?;
    values(cx, batch)
}

fn gather_nd(cx: &mut Cx<'_, '_>, batch: i64) -> Outcome {
    let (data, indices) = (cx.shape(0)?, cx.shape(1)?);
    let Some((&depth, outer)) = indices.split_last().filter(|_| !data.is_empty()) else {
        return Err(cx.fail(&WRONG_RANK, "neither the data nor the indices may be a scalar"));
    };
    let Ok(batch) = usize::try_from(batch) else {
        return Err(cx.fail(&BAD_ATTRIBUTE, format_args!("`batch_dims` is {batch}")));
    };
    let depth = usize::try_from(depth.known().ok_or(Stop::Unknown)?).map_err(|_| Stop::Unknown)?;
    let behind = batch.saturating_add(depth);
    let Some(inner) = data.get(behind..) else {
        let rank = data.len();
        return Err(cx.fail(
            &WRONG_RANK,
            format_args!("{depth} coordinates behind {batch} batch axes are more than the rank {rank}"),
        ));
    };
    let mut dims = Dims::from_slice(outer);
    for (dim, &other) in dims.iter_mut().zip(&data).take(batch) {
        if let Dim::Known(_) = other {
            *dim = cx.same(*dim, other, "the sizes of a batch axis")?;
        }
    }
    dims.extend_from_slice(inner);
    cx.set_dims(0, dims);
    Ok(())
}

fn values(cx: &mut Cx<'_, '_>, batch: i64) -> Outcome {
    let (data, indices) = (Small::of(cx, 0)?, Small::of(cx, 1)?);
    let batch = usize::try_from(batch).map_err(|_| Stop::Unknown)?;
    let (&depth, outer) = indices.sizes.split_last().ok_or(Stop::Unknown)?;
    let outer = outer.len();
    fill(cx, 0, |at| {
        let mut from: Sizes = at.iter().take(batch).copied().collect();
        let mut place: Sizes = at.iter().take(outer).copied().collect();
        place.push(0);
        for nth in 0..depth {
            if let Some(last) = place.last_mut() {
                *last = nth;
            }
            let size = data.sizes.get(batch.saturating_add(nth)).copied().unwrap_or(0);
            match indices.at(&place).known().and_then(|index| position(index, size)) {
                Some(index) => from.push(index),
                None => return Elem::Unknown,
            }
        }
        from.extend(at.iter().skip(outer).copied());
        data.at(&from)
    })
}
