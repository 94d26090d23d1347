//! `SequenceAt`: one element of a sequence. Its own type is known where the elements and the index are. If the index depends on
//! sizes and is 0 or 1, each size is a selection between the sizes of the first two elements.
//! The size of a part of a tensor follows from its index.

use onnx_schema::op;
use onnx_types::Dim;

use super::element;
use crate::cx::{Cx, Outcome};
use crate::engine::control::Known;
use crate::facts::Relation;
use crate::registry::{OpRules, infer, since};
use crate::sequence::{Members, place};
use crate::ty::{Ty, at};

pub(super) const RULES: OpRules = infer(op::SEQUENCE_AT, &[since(11, rule)]).values(&[since(11, values)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let element = element(cx, 0)?;
    if element != Ty::Unknown {
        cx.set_ty(0, element);
    }
    part(cx);
    if let Some(known) = chosen(cx).filter(|known| !known.ty.is_unknown()) {
        cx.set_ty(0, known.ty);
    }
    Ok(())
}

/// Sets the size along the axis that a tensor was cut along, if the index of the part is a number.
fn part(cx: &mut Cx<'_, '_>) {
    let Some(members) = cx.members(0) else { return };
    let Members::Parts(parts) = &*members else { return };
    let (Ok(Dim::Known(index)), Some(part)) = (cx.scalar(1), parts.part) else { return };
    let (whole, part) = (at(&parts.whole, parts.axis), Dim::Known(part));
    // In a valid run, the sequence has at least this number of parts.
    let needed = if index < 0 { index.checked_neg() } else { index.checked_add(1) };
    let Some(needed) = needed.filter(|_| parts.keeps_axis && !parts.count.is_unknown()) else { return };
    if cx.dims_le(Dim::Known(needed), parts.count) == Some(false) {
        return;
    }
    let before = if index < 0 { cx.dims().add(parts.count, Dim::Known(index)) } else { Dim::Known(index) };
    let before = cx.dims().mul(before, part);
    let rest = cx.dims().sub(whole, before);
    let size = match index {
        -1 => rest,
        ..-1 => part,
        0.. => cx.min(part, rest),
    };
    if size.is_unknown() {
        return;
    }
    cx.prove(Relation::AtMost(Dim::Known(needed), parts.count));
    let mut dims = parts.whole.clone();
    if let Some(dim) = dims.get_mut(parts.axis) {
        *dim = size;
    }
    cx.set_dims(0, dims);
}

/// The elements of the result, if the element of the sequence is a small tensor.
fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Some(content) = chosen(cx).and_then(|known| known.content) {
        cx.set_content(0, content.iter().copied());
    }
    Ok(())
}

/// The element that the index chooses, or what is known of it if it is the first or the second one.
fn chosen(cx: &mut Cx<'_, '_>) -> Option<Known> {
    let members = cx.members(0)?;
    let Members::Listed(list) = &*members else { return None };
    let index = cx.scalar(1).ok()?;
    if let Some(index) = index.known() {
        return place(index, list.len(), list.len()).and_then(|at| list.get(at)).cloned();
    }
    let [first, second, ..] = list.as_slice() else { return None };
    let is_one_of_two = cx.is_size(index) && cx.dims_le(index, Dim::Known(1)) == Some(true);
    let (Ty::Tensor(elem, Some(a)), Ty::Tensor(_, Some(b))) = (&first.ty, &second.ty) else { return None };
    if !is_one_of_two || a.len() != b.len() {
        return None;
    }
    let dims = b.iter().zip(a).map(|(&second, &first)| cx.dims().select(index, second, first)).collect();
    Some(Known { ty: Ty::Tensor(*elem, Some(dims)), content: None })
}
