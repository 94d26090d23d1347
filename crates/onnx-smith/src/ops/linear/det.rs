//! Recipe of `Det`.

use onnx_schema::op;
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::DET], determinant)];

fn determinant(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.operand(
        |dims| {
            dims.len() >= 2
                && dims.last() == dims.get(dims.len() - 2)
                && dims.iter().all(|dim| dim.known().is_some())
        },
        |smith| {
            let front = smith.choices.below(2);
            let mut dims = smith.dims(front);
            let size = Dim::Known(smith.choices.int(1, 4));
            dims.extend([size, size]);
            dims
        },
    )?;
    Some(())
}
