//! Data with indices that point into it.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use crate::draft::Draft;

/// Data of which every axis has an element.
pub(crate) fn data(draft: &mut Draft<'_, '_>, most: usize) -> Option<Vec<Dim>> {
    draft.operand(
        |dims| !dims.is_empty() && dims.len() <= most && dims.iter().all(|dim| dim.known() != Some(0)),
        |smith| {
            let rank = smith.choices.between(1, most);
            let dims = smith.dims(rank);
            dims.into_iter().map(|dim| if dim == Dim::Known(0) { Dim::Known(2) } else { dim }).collect()
        },
    )
}

/// Sets the axis to one of the data's, counted from the front.
pub(crate) fn choose_axis(draft: &mut Draft<'_, '_>, rank: usize) -> Option<usize> {
    let axis = draft.smith.choices.below(rank);
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    Some(axis)
}

pub(crate) fn places(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = data(draft, 3)?;
    let depth = draft.smith.choices.between(1, dims.len());
    let rows = draft.smith.choices.int(1, 3);
    let width = i64::try_from(depth).ok()?;
    // Each place once, so that the result does not depend on the order; sizes may be 1, so there is but one place.
    let rows = if draft.schema.op() == op::SCATTER_ND { 1 } else { rows };
    let zeros = vec![0; usize::try_from(rows * width).ok()?];
    draft.constant(&[rows, width], &zeros)?;
    draft.leave(&[attr::BATCH_DIMS]);
    if draft.schema.op() == op::SCATTER_ND {
        draft.reduce_only_numbers();
        let updates: Vec<Dim> =
            std::iter::once(Dim::Known(rows)).chain(dims.iter().skip(depth).copied()).collect();
        draft.shaped(&updates)?;
    }
    Some(())
}

impl Draft<'_, '_> {
    /// Omits the reduction if the elements are not numbers.
    pub(crate) fn reduce_only_numbers(&mut self) {
        let elem = self.ty(0).map_or(ElemType::Undefined, |ty| ty.elem());
        if !matches!(elem, ElemType::Float | ElemType::Double | ElemType::Int32 | ElemType::Int64) {
            self.leave(&[attr::REDUCTION]);
        }
    }
}
