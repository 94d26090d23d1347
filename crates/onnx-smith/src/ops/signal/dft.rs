//! Recipe of `DFT`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::DFT], fourier)];

/// A signal with one number, or a real and an imaginary part, for each moment.
fn fourier(draft: &mut Draft<'_, '_>) -> Option<()> {
    let parts = draft.smith.choices.int(1, 2);
    draft.operand(
        |dims| {
            dims.len() >= 3 && dims.last() == Some(&Dim::Known(parts)) && dims.get(1) != Some(&Dim::Known(0))
        },
        |smith| {
            let mut dims = smith.dims(1);
            dims.push(Dim::Known(smith.choices.int(2, 6)));
            dims.push(Dim::Known(parts));
            dims
        },
    )?;
    draft.leave(&[attr::AXIS, attr::ONESIDED, attr::INVERSE]);
    if parts == 1 && draft.smith.choices.chance(40) {
        draft.set(attr::ONESIDED, 1_i64);
    } else if draft.smith.choices.chance(30) && parts == 2 {
        draft.set(attr::INVERSE, 1_i64);
    }
    if draft.since() < 20 {
        draft.set(attr::AXIS, 1_i64);
        return Some(());
    }
    draft.skip();
    draft.scalar(1)
}
