//! Recipe of `CumSum` and `CumProd`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::CUM_SUM, op::CUM_PROD], cumulative)];

fn cumulative(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axis = i64::try_from(draft.smith.choices.below(dims.len())).ok()?;
    draft.scalar(axis)
}
