//! `Gather`: along one axis, the slices that the indices name; the shape of the indices replaces the axis.
//!
//! Known indices outside a known size are a fault, as in the reference.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::family::layout::{Sizes, Small, fill, position};
use crate::fault::{BAD_VALUE, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(op::GATHER, &[since(1, gather)]).values(&[since(1, values)]);

fn gather(cx: &mut Cx<'_, '_>) -> Outcome {
    let data = cx.shape(0)?;
    if data.is_empty() {
        return Err(cx.fail(&WRONG_RANK, "a scalar has no axis to gather along"));
    }
    let axis = cx.int_or(attr::AXIS, 0)?;
    let axis = cx.axis(axis, data.len())?;
    let (before, rest) = data.split_at(axis);
    if let (Some(&Dim::Known(size)), Some(indices)) = (rest.first(), cx.content(1)) {
        let outside = |index: &i64| *index < size.saturating_neg() || *index >= size;
        if let Some(index) = indices.iter().filter_map(|index| index.known()).find(outside) {
            return Err(cx.fail(&BAD_VALUE, format_args!("index {index} is outside an axis of size {size}")));
        }
    }
    let indices = cx.shape(1)?;
    let after = rest.iter().skip(1);
    let dims: Dims = before.iter().chain(&indices).chain(after).copied().collect();
    cx.set_dims(0, dims);
    Ok(())
}

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let (data, indices) = (Small::of(cx, 0)?, Small::of(cx, 1)?);
    let axis = cx.int_or(attr::AXIS, 0)?;
    let axis = cx.axis(axis, data.sizes.len())?;
    let size = data.sizes.get(axis).copied().unwrap_or(0);
    let behind = axis.saturating_add(indices.sizes.len());
    fill(cx, 0, |at| {
        let inner = at.get(axis..behind).unwrap_or_default();
        let Some(index) = indices.at(inner).known().and_then(|index| position(index, size)) else {
            return Elem::Unknown;
        };
        let (before, after) = (at.iter().take(axis), at.iter().skip(behind));
        let from: Sizes = before.chain([&index]).chain(after).copied().collect();
        data.at(&from)
    })
}
