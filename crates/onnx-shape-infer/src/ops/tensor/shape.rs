//! `Shape`: the sizes of a tensor as a vector, from version 15 on cut by `start` and `end`.
//!
//! Both are clamped to the rank, as the specification says; a rank that is not known leaves the length unknown.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::SHAPE, &[since(1, |cx| shape(cx, all)), since(15, |cx| shape(cx, cut))])
        .values(&[since(1, |cx| values(cx, all)), since(15, |cx| values(cx, cut))]);

/// The first axis that is given, and the first one after them that is not.
type Range = fn(&mut Cx<'_, '_>) -> Outcome<(usize, usize)>;

fn shape(cx: &mut Cx<'_, '_>, range: Range) -> Outcome {
    cx.set_shape(0, [Dim::Unknown]);
    let (start, end) = range(cx)?;
    cx.set_shape(0, [Dim::Known(end.saturating_sub(start) as i64)]);
    Ok(())
}

fn values(cx: &mut Cx<'_, '_>, range: Range) -> Outcome {
    let (start, end) = range(cx)?;
    let dims = cx.shape(0)?;
    cx.set_content(0, dims.iter().skip(start).take(end.saturating_sub(start)).map(|&dim| Elem::int(dim)));
    Ok(())
}

fn all(cx: &mut Cx<'_, '_>) -> Outcome<(usize, usize)> {
    Ok((0, cx.rank(0)?))
}

fn cut(cx: &mut Cx<'_, '_>) -> Outcome<(usize, usize)> {
    let rank = cx.rank(0)?;
    let start = cx.int(attr::START)?.map_or(0, |axis| clamp(axis, rank));
    let end = cx.int(attr::END)?.map_or(rank, |axis| clamp(axis, rank));
    Ok((start, end))
}

fn clamp(axis: i64, rank: usize) -> usize {
    let signed = i64::try_from(rank).unwrap_or(i64::MAX);
    let counted = if axis < 0 { axis.saturating_add(signed) } else { axis };
    usize::try_from(counted.clamp(0, signed)).unwrap_or(rank)
}
