//! Operators that keep, cut, unfold or fill.
//!
//! `Pad` takes its padding also as a matrix of one row, and `Range` its bounds also as tensors of one element, which the
//! standard operators do not.

use onnx_schema::onnxruntime::{default, microsoft};
use onnx_schema::{domain, op};
use onnx_types::{Dim, ElemType};

use super::super::like_first;
use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome, Stop};
use crate::family::elementwise;

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(default::DYNAMIC_SLICE, &[since(1, |cx| cx.infer_as(domain::ONNX, op::SLICE, 10))]),
    infer(default::GIVEN_TENSOR_FILL, &[since(1, fill)]),
    infer(microsoft::EXPAND_DIMS, &[since(1, expand)]).values(&[since(1, elementwise::keep_elements)]),
    infer(microsoft::INVERSE, &[since(1, like_first)]),
    infer(microsoft::PAD, &[since(1, pad)]),
    infer(microsoft::RANGE, &[since(1, range)]),
    infer(microsoft::TRILU, &[since(1, like_first)]),
    infer(microsoft::UNFOLD_TENSOR, &[since(1, unfold)]),
    infer(microsoft::UNIQUE, &[since(1, unique)]),
];

fn fill(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.has_input(0) || cx.ints("extra_shape")?.is_some() {
        return Err(Stop::Unknown);
    }
    let shape = cx.ints("shape")?.ok_or(Stop::Unknown)?;
    cx.set_shape(0, shape.iter().map(|&size| if size >= 0 { Dim::Known(size) } else { Dim::Unknown }));
    Ok(())
}

/// An axis of size 1 is inserted at the place that input `axis` says.
fn expand(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape(0)?;
    let rank = dims.len().saturating_add(1);
    match cx.scalar(1)?.known() {
        Some(axis) => {
            let axis = cx.axis(axis, rank)?;
            dims.insert(axis, Dim::Known(1));
        }
        None => dims = crate::ty::Dims::from_elem(Dim::Unknown, rank),
    }
    cx.set_dims(0, dims);
    Ok(())
}

fn pad(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.rank(1) == Ok(1) {
        return cx.infer_as(domain::ONNX, op::PAD, 11);
    }
    let rank = cx.rank(0)?;
    cx.set_shape(0, std::iter::repeat_n(Dim::Unknown, rank));
    Ok(())
}

fn range(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_shape(0, [Dim::Unknown]);
    if !matches!(cx.elem(0), Ok(ElemType::Int64 | ElemType::Int32 | ElemType::Int16)) {
        return Ok(());
    }
    let step = if cx.has_input(2) { cx.scalar(2)?.known().ok_or(Stop::Unknown)? } else { 1 };
    let (start, limit) = (cx.scalar(0)?, cx.scalar(1)?);
    if step < 1 {
        return Ok(());
    }
    let span = cx.dims().sub(limit, start);
    let count = cx.dims().ceil_div(span, Dim::Known(step));
    let count = cx.max(count, Dim::Known(0));
    cx.set_shape(0, [count]);
    Ok(())
}

/// Windows of `size` elements, `step` apart, of one axis; the elements of a window are an axis behind all others.
fn unfold(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape_of_min_rank(0, 1)?;
    let axis = cx.int_or("dim", -1)?;
    let axis = cx.axis(axis, dims.len())?;
    let (size, step) = (cx.int("size")?.ok_or(Stop::Unknown)?, cx.int_or("step", 1)?);
    if size < 1 || step < 1 {
        return Err(Stop::Unknown);
    }
    if let Some(slot) = dims.get_mut(axis) {
        let room = cx.dims().sub(*slot, Dim::Known(size));
        let steps = cx.dims().floor_div(room, Dim::Known(step));
        *slot = cx.dims().add(steps, Dim::Known(1));
    }
    dims.push(Dim::Known(size));
    cx.set_dims(0, dims);
    Ok(())
}

/// The distinct elements and their counts are as many as there are distinct ones.
fn unique(cx: &mut Cx<'_, '_>) -> Outcome {
    let dims = cx.shape_of_rank(0, 1)?;
    let most = dims.first().copied().unwrap_or_default();
    let count = cx.size_at_most(0, 0, most);
    cx.set_shape(0, [count]);
    cx.set_dims(1, dims);
    cx.set_shape(2, [count]);
    Ok(())
}
