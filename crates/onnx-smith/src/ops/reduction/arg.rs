//! Recipe of `ArgMax` and `ArgMin`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::ARG_MAX, op::ARG_MIN], arg)];

fn arg(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.operand(
        |dims| !dims.is_empty() && dims.iter().all(|dim| dim.known().is_some_and(|size| size > 0)),
        |smith| (0..smith.choices.between(1, 3)).map(|_| Dim::Known(smith.choices.int(1, 4))).collect(),
    )?;
    let axis = draft.axis()?;
    draft.set(attr::AXIS, axis);
    Some(())
}
