//! Operators whose inputs broadcast to one shape.

use onnx_schema::attr;
use onnx_types::Dim;

use crate::content::{Content, Elem};
use crate::cx::{Cx, Outcome, Stop};
use crate::family::layout::{each, sizes};
use crate::fault::NO_BROADCAST;
use crate::registry::{Row, since};
use crate::ty::Dims;

/// The rows of an operator of two inputs whose second is laid along given axes of the first until version 6, and which
/// broadcasts from version 7 on.
pub(crate) const LAID: &[Row] = &[since(1, laid), since(7, all)];

/// The second of two inputs is laid along the first one, whose shape stays. Without `broadcast` both have one shape. With it,
/// the second one has one element, or the sizes of the first one from `axis` on, which are the last ones by default.
fn laid(cx: &mut Cx<'_, '_>) -> Outcome {
    if let (Ok(whole), Ok(part)) = (cx.shape(0), cx.shape(1)) {
        fits(cx, &whole, &part)?;
    }
    super::elementwise::like_first(cx)
}

fn fits(cx: &mut Cx<'_, '_>, whole: &[Dim], part: &[Dim]) -> Outcome {
    let (rank, inner) = (whole.len(), part.len());
    let is_broadcast = cx.flag(attr::BROADCAST)?;
    if !is_broadcast && rank != inner || rank < inner {
        let reason = if is_broadcast { "" } else { ", and `broadcast` is not set" };
        return Err(
            cx.fail(&NO_BROADCAST, format_args!("the operands have ranks {rank} and {inner}{reason}"))
        );
    }
    // One element has any rank, and what is not known may be one.
    if is_broadcast && part.iter().all(|dim| dim.known().is_none_or(|size| size == 1)) {
        return Ok(());
    }
    let last = rank.saturating_sub(inner);
    let start = match cx.int(attr::AXIS)? {
        Some(axis) if is_broadcast => cx.axis(axis, rank)?,
        _ => last,
    };
    if start > last {
        let message = format_args!("{inner} axes do not fit into rank {rank} from axis {start} on");
        return Err(cx.fail(&NO_BROADCAST, message));
    }
    for (&whole, &part) in whole.iter().skip(start).zip(part) {
        if let (Dim::Known(whole), Dim::Known(part)) = (whole, part)
            && whole != part
            && !(is_broadcast && part == 1)
        {
            let reason = if is_broadcast { "do not broadcast" } else { "differ, and `broadcast` is not set" };
            return Err(cx.fail(&NO_BROADCAST, format_args!("sizes {whole} and {part} {reason}")));
        }
    }
    Ok(())
}

/// The first output has the shape that all inputs broadcast to.
pub(crate) fn all(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Some(widest) = cx.widest_input() {
        return cx.copy_shape(widest, 0);
    }
    let mut dims = cx.shape(0)?;
    for index in 1..cx.input_count() {
        let other = cx.shape(index)?;
        dims = cx.broadcast(&dims, &other)?;
    }
    cx.set_dims(0, dims);
    Ok(())
}

/// Continues only if old and new rules broadcast the second of two inputs to the first in the same way: it has one
/// element, or the same shape.
pub(crate) fn aligned(cx: &Cx<'_, '_>) -> Outcome {
    let (first, second) = (cx.shape(0)?, cx.shape(1)?);
    let is_single = second.iter().all(|&dim| dim == Dim::Known(1));
    if is_single || first == second { Ok(()) } else { Err(Stop::Unknown) }
}

/// The elements of the inputs that each element of the first output, whose shape is known, is computed from. `None` if
/// the elements of a required input are unknown.
pub(crate) fn zip(
    cx: &mut Cx<'_, '_>,
    inputs: &[usize],
    mut join: impl FnMut(&mut Cx<'_, '_>, &[Elem]) -> Elem,
) -> Outcome {
    let out: Dims = cx.output_ty(0).dims().map(Dims::from_slice).ok_or(Stop::Unknown)?;
    let mut sources: Vec<(Option<Content>, Vec<usize>)> = Vec::with_capacity(inputs.len());
    for &index in inputs {
        let content = cx.content(index);
        let strides = match &content {
            Some(_) => strides(&cx.shape(index)?, out.len()).ok_or(Stop::Unknown)?,
            None => vec![0; out.len()],
        };
        sources.push((content, strides));
    }
    if sources.iter().all(|(content, _)| content.is_none()) {
        return Err(Stop::Unknown);
    }
    let mut elems = Vec::new();
    let mut joined = Vec::with_capacity(sources.len());
    each(cx.content_limit(), &sizes(&out)?, |at| {
        joined.clear();
        for (content, strides) in &sources {
            // The place of an element that an input has, where anything is known of its elements.
            let steps = at.iter().zip(strides).map(|(at, stride)| at.saturating_mul(*stride));
            let place = steps.fold(0, usize::saturating_add);
            joined.push(content.as_ref().and_then(|content| content.get(place)).copied().unwrap_or_default());
        }
        elems.push(join(cx, &joined));
    })?;
    cx.set_content(0, elems);
    Ok(())
}

/// By how many elements each axis of the result steps in an input: none along axes that it is repeated along.
fn strides(dims: &[Dim], rank: usize) -> Option<Vec<usize>> {
    let mut strides = vec![0; rank];
    let mut step = 1_usize;
    for (stride, dim) in strides.iter_mut().rev().zip(dims.iter().rev()) {
        let size = usize::try_from(dim.known()?).ok()?;
        *stride = if size == 1 { 0 } else { step };
        step = step.checked_mul(size)?;
    }
    Some(strides)
}
