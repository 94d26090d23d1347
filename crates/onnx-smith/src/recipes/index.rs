//! Operators that take elements from places, or put them there.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use super::{Row, row};
use crate::draft::Draft;

pub(super) static ROWS: &[Row] = &[
    row(&[op::GATHER], gather),
    row(&[op::GATHER_ELEMENTS], gather_elements),
    row(&[op::SCATTER, op::SCATTER_ELEMENTS], scatter_elements),
    row(&[op::GATHER_ND, op::SCATTER_ND], places),
    row(&[op::ARRAY_FEATURE_EXTRACTOR], features),
];

/// Data of which every axis has an element.
fn data(draft: &mut Draft<'_, '_>, most: usize) -> Option<Vec<Dim>> {
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
fn choose_axis(draft: &mut Draft<'_, '_>, rank: usize) -> Option<usize> {
    let axis = draft.smith.choices.below(rank);
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    Some(axis)
}

fn gather(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = data(draft, 4)?;
    choose_axis(draft, dims.len())?;
    if draft.smith.choices.chance(50) {
        let count = draft.smith.choices.below(4);
        return draft.vector(&vec![0; count]);
    }
    if draft.smith.choices.chance(50) { draft.scalar(0) } else { draft.constant(&[2, 1], &[0, 0]) }
}

fn gather_elements(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = data(draft, 3)?;
    choose_axis(draft, dims.len())?;
    let sizes: Option<Vec<i64>> = dims.iter().map(|dim| dim.known()).collect();
    let count = usize::try_from(sizes.as_ref()?.iter().product::<i64>()).ok().filter(|&count| count < 512)?;
    draft.constant(&sizes?, &vec![0; count])
}

fn scatter_elements(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = data(draft, 3)?;
    choose_axis(draft, dims.len())?;
    let ones = vec![1; dims.len()];
    draft.constant(&ones, &[0])?;
    draft.reduce_only_numbers();
    draft.shaped(&vec![Dim::Known(1); dims.len()])
}

fn places(draft: &mut Draft<'_, '_>) -> Option<()> {
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

fn features(draft: &mut Draft<'_, '_>) -> Option<()> {
    data(draft, 3)?;
    let count = draft.smith.choices.between(1, 3);
    draft.constant(&[1, i64::try_from(count).ok()?], &vec![0; count])
}

impl Draft<'_, '_> {
    /// Leaves the reduction out where the elements are no numbers.
    fn reduce_only_numbers(&mut self) {
        let elem = self.ty(0).map_or(ElemType::Undefined, |ty| ty.elem());
        if !matches!(elem, ElemType::Float | ElemType::Double | ElemType::Int32 | ElemType::Int64) {
            self.leave(&[attr::REDUCTION]);
        }
    }
}
