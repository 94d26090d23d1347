//! Recipe of `Scatter` and `ScatterElements`.

use onnx_schema::op;
use onnx_types::Dim;

use crate::draft::Draft;
use crate::family::indices::{choose_axis, data};
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::SCATTER, op::SCATTER_ELEMENTS], scatter_elements)];

fn scatter_elements(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = data(draft, 3)?;
    choose_axis(draft, dims.len())?;
    let ones = vec![1; dims.len()];
    draft.constant(&ones, &[0])?;
    draft.reduce_only_numbers();
    draft.shaped(&vec![Dim::Known(1); dims.len()])
}
