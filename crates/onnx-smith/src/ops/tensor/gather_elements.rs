//! Recipe of `GatherElements`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::family::indices::{choose_axis, data};
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::GATHER_ELEMENTS], gather_elements)];

fn gather_elements(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = data(draft, 3)?;
    choose_axis(draft, dims.len())?;
    let sizes: Option<Vec<i64>> = dims.iter().map(|dim| dim.known()).collect();
    let count = usize::try_from(sizes.as_ref()?.iter().product::<i64>()).ok().filter(|&count| count < 512)?;
    draft.constant(&sizes?, &vec![0; count])
}
