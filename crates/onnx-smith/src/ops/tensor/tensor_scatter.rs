//! Recipe of `TensorScatter`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::TENSOR_SCATTER], tensor_scatter)];

fn tensor_scatter(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(2, 4)?;
    let axis = draft.smith.choices.between(1, dims.len().saturating_sub(1));
    let whole = dims.get(axis)?.known().filter(|&size| size > 0)?;
    let part = draft.smith.choices.int(1, whole);
    let update: Vec<Dim> =
        dims.iter().enumerate().map(|(at, &dim)| if at == axis { Dim::Known(part) } else { dim }).collect();
    draft.shaped(&update)?;
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    if draft.wants(40) {
        let batch = usize::try_from(dims.first()?.known()?).ok()?;
        draft.vector(&vec![0; batch])?;
    }
    Some(())
}
