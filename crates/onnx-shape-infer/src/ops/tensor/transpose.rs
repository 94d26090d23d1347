//! `Transpose`: the axes in another order, the reverse one by default.
//!
//! An order that does not name each axis once is a fault; the reference passes over one that names too few.

use onnx_schema::{attr, op};
use smallvec::SmallVec;

use crate::cx::{Cx, Outcome, Stop};
use crate::family::layout::{Sizes, Small, fill};
use crate::fault::BAD_ATTRIBUTE;
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(op::TRANSPOSE, &[since(1, transpose)]).values(&[since(1, values)]);

fn transpose(cx: &mut Cx<'_, '_>) -> Outcome {
    let dims = cx.shape(0)?;
    let order = order(cx, dims.len())?;
    let moved: Dims = order.iter().filter_map(|&axis| dims.get(axis).copied()).collect();
    cx.set_shape(0, moved);
    Ok(())
}

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let data = Small::of(cx, 0)?;
    let order = order(cx, data.sizes.len())?;
    let mut from = Sizes::from_elem(0, order.len());
    fill(cx, 0, |at| {
        for (&axis, &at) in order.iter().zip(at) {
            if let Some(slot) = from.get_mut(axis) {
                *slot = at;
            }
        }
        data.at(&from)
    })
}

/// The axes of the input in the order of the output.
fn order(cx: &mut Cx<'_, '_>, rank: usize) -> Outcome<Sizes> {
    let Some(perm) = cx.ints(attr::PERM)? else { return Ok((0..rank).rev().collect()) };
    let mut seen: SmallVec<[bool; 8]> = SmallVec::from_elem(false, rank);
    let order: Option<Sizes> = perm
        .iter()
        .map(|&axis| {
            let axis = usize::try_from(axis).ok()?;
            let slot = seen.get_mut(axis)?;
            (!std::mem::replace(slot, true)).then_some(axis)
        })
        .collect();
    match order.filter(|order| order.len() == rank) {
        Some(order) => Ok(order),
        None => Err(wrong_order(cx, perm, rank)),
    }
}

fn wrong_order(cx: &mut Cx<'_, '_>, perm: &[i64], rank: usize) -> Stop {
    let shown = perm.get(..perm.len().min(16)).unwrap_or(perm);
    cx.fail(&BAD_ATTRIBUTE, format_args!("{shown:?} is not a permutation of the {rank} axes"))
}
