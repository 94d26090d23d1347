//! `GatherElements`: for each index the element at the same place but on one axis; the output has the shape of the indices.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::family::layout::{Sizes, Small, fill, position};
use crate::fault::SIZES_DIFFER;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::GATHER_ELEMENTS, &[since(11, gather)]).values(&[since(11, values)]);

fn gather(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.same_rank(0, 1)?;
    if let (Ok(data), Ok(indices)) = (cx.shape(0), cx.shape(1)) {
        let axis = cx.int_or(attr::AXIS, 0)?;
        let axis = cx.axis(axis, data.len())?;
        let is_empty = indices.iter().any(|&size| cx.dims_le(Dim::Known(1), size) != Some(true));
        for (at, (&of, &size)) in data.iter().zip(&indices).enumerate() {
            if at != axis && !is_empty && cx.dims_le(size, of) == Some(false) {
                let message = format_args!("the indices have more elements along axis {at} than the data");
                return Err(cx.fail(&SIZES_DIFFER, message));
            }
        }
    }
    cx.copy_shape(1, 0)
}

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let (data, indices) = (Small::of(cx, 0)?, Small::of(cx, 1)?);
    let axis = cx.int_or(attr::AXIS, 0)?;
    let axis = cx.axis(axis, data.sizes.len())?;
    let size = data.sizes.get(axis).copied().unwrap_or(0);
    fill(cx, 0, |at| {
        let mut from = Sizes::from_slice(at);
        let index = indices.at(at).known().and_then(|index| position(index, size));
        match (index, from.get_mut(axis)) {
            (Some(index), Some(slot)) => *slot = index,
            _ => return Elem::Unknown,
        }
        data.at(&from)
    })
}
