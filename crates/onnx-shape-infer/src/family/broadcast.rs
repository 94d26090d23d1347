//! Operators whose inputs broadcast to one shape.

use crate::content::{Content, Elem};
use crate::cx::{Cx, Outcome, Stop};
use crate::family::layout::{each, sizes};
use crate::registry::{Row, since};
use crate::ty::Dims;

/// The rows of an operator of two inputs whose second is laid along given axes of the first until version 6, and which
/// broadcasts from version 7 on.
pub(crate) const LAID: &[Row] = &[since(1, super::elementwise::like_first), since(7, all)];

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
    let is_single = second.iter().all(|&dim| dim == onnx_types::Dim::Known(1));
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
fn strides(dims: &[onnx_types::Dim], rank: usize) -> Option<Vec<usize>> {
    let mut strides = vec![0; rank];
    let mut step = 1_usize;
    for (stride, dim) in strides.iter_mut().rev().zip(dims.iter().rev()) {
        let size = usize::try_from(dim.known()?).ok()?;
        *stride = if size == 1 { 0 } else { step };
        step = step.checked_mul(size)?;
    }
    Some(strides)
}
