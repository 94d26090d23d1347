//! `TopK`: the `k` largest or smallest elements along an axis and their indices; `k` is an attribute until version 9 and an
//! input from version 10 on.
//!
//! A `k` that is computed from sizes is followed; the reference follows only constants. That there are so many elements is
//! proved by the node's being valid. A number larger than the axis is a fault at version 1, too.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::facts::Relation;
use crate::fault::{BAD_ATTRIBUTE, BAD_VALUE, WRONG_RANK};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::TOP_K, &[since(1, |cx| top_k(cx, by_attribute)), since(10, |cx| top_k(cx, by_input))]);

fn by_attribute(cx: &mut Cx<'_, '_>) -> Outcome<Dim> {
    match cx.int(attr::K)? {
        Some(k) if k > 0 => Ok(Dim::Known(k)),
        k => Err(cx.fail(&BAD_ATTRIBUTE, format_args!("`k` is {}", k.unwrap_or(0)))),
    }
}

fn by_input(cx: &mut Cx<'_, '_>) -> Outcome<Dim> {
    if let Ok(shape) = cx.shape(1)
        && (shape.len() != 1
            || cx.dims_eq(shape.first().copied().unwrap_or_default(), Dim::Known(1)) == Some(false))
    {
        return Err(cx.fail(&WRONG_RANK, "`K` must be a vector of one number"));
    }
    Ok(match cx.scalar(1).unwrap_or_default() {
        Dim::Known(..0) => Dim::Unknown,
        k => {
            if !k.is_unknown() && !cx.is_size(k) {
                cx.prove(Relation::AtMost(Dim::Known(0), k));
            }
            k
        }
    })
}

fn top_k(cx: &mut Cx<'_, '_>, read: fn(&mut Cx<'_, '_>) -> Outcome<Dim>) -> Outcome {
    let mut dims = cx.shape(0)?;
    let axis = cx.int_or(attr::AXIS, -1)?;
    let axis = cx.axis(axis, dims.len())?;
    let k = read(cx)?;
    let Some(&dim) = dims.get(axis) else { return Err(Stop::Unknown) };
    if let (Dim::Known(k), Dim::Known(size)) = (k, dim)
        && k > size
    {
        return Err(cx.fail(&BAD_VALUE, format_args!("{k} of {size} elements are wanted")));
    }
    let size = if k.is_unknown() {
        match (0..2).find(|&output| cx.has_output(output)) {
            Some(output) => cx.size_at_most(output, axis, dim),
            None => k,
        }
    } else {
        if cx.dims_le(k, dim) != Some(true) {
            cx.prove(Relation::AtMost(k, dim));
        }
        k
    };
    if let Some(slot) = dims.get_mut(axis) {
        *slot = size;
    }
    for output in 0..2 {
        cx.set_shape(output, dims.iter().copied());
    }
    Ok(())
}
