//! Recipe of `STFT`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::STFT], short_fourier)];

fn short_fourier(draft: &mut Draft<'_, '_>) -> Option<()> {
    let length = draft.smith.choices.int(6, 10);
    let batch = *draft.smith.dims(1).first()?;
    draft.shaped(&[batch, Dim::Known(length), Dim::Known(1)])?;
    draft.scalar(2)?;
    draft.skip();
    // The reference takes another default than the schema has.
    let is_onesided = draft.smith.choices.int(0, 1);
    draft.set(attr::ONESIDED, is_onesided);
    draft.scalar(4)
}
