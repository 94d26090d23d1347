//! `ReduceL1` … `ReduceSumSquare`: many elements become one along axes, which an attribute names in older versions and an
//! input in newer ones. Without axes all are meant, or none if the node says so.
//!
//! An axis named twice counts once, as in the reference. An axis outside the tensor is a fault at every version; the
//! reference passes over it before version 11. Where the axes are known only at run time, the rank still follows from
//! `keepdims`, or from their being one; the reference knows nothing then.
//!
//! onnxruntime up to version 1.31 does not count negative axes of a tensor without elements from the end. If results must
//! hold there, a guard states that the tensor has elements.
//!
//! Sums, products, least and greatest elements of small tensors are followed where all become one. Floats are, as long as
//! they are integers and no order of joining them rounds: runtimes differ in that order.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};
use smallvec::SmallVec;

use crate::content::Elem;
use crate::cx::{Cx, Ints, Outcome, Param, Stop};
use crate::facts::Relation;
use crate::family::arithmetic::{Op, exact_up_to, fit, join};
use crate::family::element::{ZERO, abs};
use crate::registry::{OpRules, Row, infer, since};

const FROM_18: &[Row] = &[since(1, by_attribute), since(18, by_input)];

pub(in crate::ops) const RULES: &[OpRules] = &[
    infer(op::REDUCE_L1, FROM_18),
    infer(op::REDUCE_L2, FROM_18),
    infer(op::REDUCE_LOG_SUM, FROM_18),
    infer(op::REDUCE_LOG_SUM_EXP, FROM_18),
    infer(op::REDUCE_MAX, FROM_18).values(&[since(1, |cx| values(cx, Op::Max, None))]),
    infer(op::REDUCE_MEAN, FROM_18),
    infer(op::REDUCE_MIN, FROM_18).values(&[since(1, |cx| values(cx, Op::Min, None))]),
    infer(op::REDUCE_PROD, FROM_18).values(&[since(1, |cx| values(cx, Op::Mul, Some(1)))]),
    infer(op::REDUCE_SUM, &[since(1, by_attribute), since(13, by_input)])
        .values(&[since(1, |cx| values(cx, Op::Add, Some(0)))]),
    infer(op::REDUCE_SUM_SQUARE, FROM_18),
];

fn by_attribute(cx: &mut Cx<'_, '_>) -> Outcome {
    reduce(cx, Param::Attr(attr::AXES))
}

fn by_input(cx: &mut Cx<'_, '_>) -> Outcome {
    reduce(cx, Param::Input(1))
}

fn reduce(cx: &mut Cx<'_, '_>, axes: Param) -> Outcome {
    let axes = cx.param(axes)?;
    let dims = cx.shape(0)?;
    let reduced = reduced(cx, &axes, dims.len())?;
    let keep = super::keeps_axes(cx)?;
    let Some(reduced) = reduced else {
        let is_one = cx.shape(1).is_ok_and(|shape| *shape == [Dim::Known(1)]);
        let rank = match dims.len().checked_sub(1) {
            _ if keep => dims.len(),
            Some(rank) if is_one => rank,
            _ => return Err(Stop::Unknown),
        };
        cx.set_shape(0, std::iter::repeat_n(Dim::Unknown, rank));
        return Ok(());
    };
    if let Ints::Known(axes) = &axes
        && axes.iter().any(|&axis| axis < 0)
        && cx.for_onnxruntime()
    {
        not_empty(cx, &dims)?;
    }
    let dims = dims.into_iter().zip(reduced).filter_map(|(dim, reduced)| match (reduced, keep) {
        (false, _) => Some(dim),
        (true, true) => Some(Dim::Known(1)),
        (true, false) => None,
    });
    let dims: SmallVec<[Dim; 6]> = dims.collect();
    cx.set_dims(0, dims);
    Ok(())
}

/// Assumes that the input has elements: some versions of onnxruntime do not count negative axes from the end otherwise.
fn not_empty(cx: &mut Cx<'_, '_>, dims: &[Dim]) -> Outcome {
    for &dim in dims {
        match cx.dims_le(Dim::Known(1), dim) {
            Some(true) => {}
            Some(false) => return Err(Stop::Unknown),
            None if dim.is_unknown() => return Err(Stop::Unknown),
            None => cx.assume(
                Relation::AtMost(Dim::Known(1), dim),
                "onnxruntime misreads negative axes of empty tensors",
            ),
        }
    }
    Ok(())
}

/// For each axis whether it is reduced; `None` if that is known only at run time.
fn reduced(cx: &mut Cx<'_, '_>, axes: &Ints, rank: usize) -> Outcome<Option<SmallVec<[bool; 8]>>> {
    let none: &[i64] = &[];
    let axes = match axes {
        Ints::Unknown => {
            // A vector without elements is known whatever it is made of.
            let is_empty = cx.shape(1).is_ok_and(|shape| *shape == [Dim::Known(0)]);
            if !is_empty {
                return Ok(None);
            }
            none
        }
        Ints::Absent => none,
        Ints::Known(axes) => axes,
    };
    let is_noop = cx.flag(attr::NOOP_WITH_EMPTY_AXES)?;
    let mut reduced = SmallVec::from_elem(axes.is_empty() && !is_noop, rank);
    for &axis in axes {
        let axis = cx.axis(axis, rank)?;
        if let Some(slot) = reduced.get_mut(axis) {
            *slot = true;
        }
    }
    Ok(Some(reduced))
}

fn values(cx: &mut Cx<'_, '_>, op: Op, neutral: Option<i64>) -> Outcome {
    let content = cx.content(0).ok_or(Stop::Unknown)?;
    let rank = cx.rank(0)?;
    let elem = cx.elem(0)?;
    let is_input = cx.schema.is_some_and(|schema| schema.inputs().len() > 1);
    let axes = cx.param(if is_input { Param::Input(1) } else { Param::Attr(attr::AXES) })?;
    let reduced = reduced(cx, &axes, rank)?.ok_or(Stop::Unknown)?;
    if !reduced.iter().any(|&reduced| reduced) {
        // Nothing is joined; a square or a norm of each element is not among the operations here.
        cx.share_content(0, content);
        return Ok(());
    }
    if reduced.contains(&false) {
        return Err(Stop::Unknown);
    }
    let mut elems = content.iter().map(|&value| match value {
        Elem::Int(_) => value,
        _ => Elem::Unknown,
    });
    let first = match neutral {
        Some(neutral) => Elem::Int(Dim::Known(neutral)),
        None => elems.next().ok_or(Stop::Unknown)?,
    };
    let joined = elems.fold(first, |so_far, value| join(cx, elem, op, so_far, value));
    if joined != Elem::Unknown && !is_exact_in_any_order(cx, elem, op, &content) {
        return Err(Stop::Unknown);
    }
    cx.set_content(0, [joined]);
    Ok(())
}

/// Returns `true` if the result for `elems`, which are integers, does not depend on the order of the operations. For
/// floats this holds if no intermediate result is rounded: if the sum of the absolute values, or the product of all
/// elements except the zeros, is in the range that contains every integer. (A product without its zeros may be
/// infinite, and infinity times zero is NaN.)
fn is_exact_in_any_order(cx: &mut Cx<'_, '_>, elem: ElemType, op: Op, elems: &[Elem]) -> bool {
    let Some(limit) = exact_up_to(elem) else { return true };
    if !matches!(op, Op::Add | Op::Mul) {
        return true;
    }
    // Integers of 64 bits are not rounded on the way.
    let exact = ElemType::Int64;
    let mut all = Elem::Int(Dim::Known(i64::from(op == Op::Mul)));
    for &value in elems.iter().filter(|&&value| value != ZERO) {
        let value = if op == Op::Add { abs(cx, exact, value) } else { value };
        all = join(cx, exact, op, all, value);
    }
    match all.dim() {
        Dim::Known(all) => all.unsigned_abs() <= limit.unsigned_abs(),
        _ => fit(cx, elem, all) != Elem::Unknown,
    }
}
