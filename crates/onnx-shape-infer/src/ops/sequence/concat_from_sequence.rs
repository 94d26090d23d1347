//! `ConcatFromSequence`: the elements of a sequence along an axis, or along a new one.
//!
//! The sizes of the other axes are those of each element. The size of the axis is known if the elements are known
//! individually, or are the parts of a tensor that was split along this axis: their concatenation is the tensor.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use super::element;
use crate::cx::{Cx, Outcome, Stop};
use crate::engine::control::Known;
use crate::fault::{BAD_ATTRIBUTE, MISSING};
use crate::registry::{OpRules, infer, since};
use crate::sequence::Members;
use crate::ty::{Dims, at};

pub(super) const RULES: OpRules = infer(op::CONCAT_FROM_SEQUENCE, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let element = element(cx, 0)?;
    if let Some(elem) = element.elem() {
        cx.set_elem(0, elem);
    }
    let Some(axis) = cx.int(attr::AXIS)? else {
        return Err(cx.fail(&MISSING, "attribute `axis` is missing"));
    };
    let is_new = match cx.int_or(attr::NEW_AXIS, 0)? {
        0 => false,
        1 => true,
        _ => return Err(cx.fail(&BAD_ATTRIBUTE, "attribute `new_axis` is neither 0 nor 1")),
    };
    let members = cx.members(0);
    let members = members.as_deref();
    if let Some(Members::Listed(list)) = members
        && let Some(shapes) = shapes(list)
    {
        let dims = if is_new { stacked(cx, &shapes, axis)? } else { joined(cx, &shapes, axis)? };
        cx.set_dims(0, dims);
        return Ok(());
    }
    let mut dims: Dims = element.dims().ok_or(Stop::Unknown)?.into();
    let count = members.map_or(Dim::Unknown, Members::count);
    if is_new {
        let axis = cx.axis(axis, dims.len().saturating_add(1))?;
        dims.insert(axis, count);
    } else {
        let axis = cx.axis(axis, dims.len())?;
        let size = match members {
            Some(Members::Parts(parts)) if parts.keeps_axis && parts.axis == axis => at(&parts.whole, axis),
            _ => cx.dims().mul(at(&dims, axis), count),
        };
        if let Some(dim) = dims.get_mut(axis) {
            *dim = size;
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}

/// The shapes of all elements, if there are any and all are known.
fn shapes(list: &[Known]) -> Option<Vec<&[Dim]>> {
    let shapes: Vec<&[Dim]> = list.iter().map(|known| known.ty.dims()).collect::<Option<_>>()?;
    let rank = shapes.first()?.len();
    // No run joins tensors of different ranks.
    shapes.iter().all(|shape| shape.len() == rank).then_some(shapes)
}

/// The elements one behind the other.
fn joined(cx: &mut Cx<'_, '_>, shapes: &[&[Dim]], axis: i64) -> Outcome<Dims> {
    let mut dims = same(cx, shapes, Some(axis))?;
    let axis = cx.axis(axis, dims.len())?;
    let sizes: Dims = shapes.iter().map(|shape| at(shape, axis)).collect();
    let sum = cx.sum_of_sizes(&sizes)?;
    if let Some(dim) = dims.get_mut(axis) {
        *dim = sum;
    }
    Ok(dims)
}

/// The elements along a new axis.
fn stacked(cx: &mut Cx<'_, '_>, shapes: &[&[Dim]], axis: i64) -> Outcome<Dims> {
    let mut dims = same(cx, shapes, None)?;
    let axis = cx.axis(axis, dims.len().saturating_add(1))?;
    dims.insert(axis, i64::try_from(shapes.len()).map_or(Dim::Unknown, Dim::Known));
    Ok(dims)
}

/// The sizes that all elements must have, except along one axis.
fn same(cx: &mut Cx<'_, '_>, shapes: &[&[Dim]], but: Option<i64>) -> Outcome<Dims> {
    let (first, rest) = shapes.split_first().ok_or(Stop::Unknown)?;
    let but = but.map(|axis| cx.axis(axis, first.len())).transpose()?;
    let mut dims = Dims::from_slice(first);
    for shape in rest {
        for (axis, (dim, &other)) in dims.iter_mut().zip(shape.iter()).enumerate() {
            if Some(axis) != but {
                *dim = cx.same(*dim, other, "the sizes of elements that are joined")?;
            }
        }
    }
    Ok(dims)
}
