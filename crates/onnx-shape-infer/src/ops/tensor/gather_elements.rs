//! `GatherElements`: for each index the element at the same place but on one axis; the output has the shape of the indices.

use onnx_schema::{attr, op};

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::family::layout::{Sizes, Small, fill, position};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::GATHER_ELEMENTS, &[since(11, |cx| cx.copy_shape(1, 0))]).values(&[since(11, values)]);

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
