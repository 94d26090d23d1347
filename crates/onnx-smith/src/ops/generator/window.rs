//! Recipe of `BlackmanWindow`, `HammingWindow` and `HannWindow`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] =
    &[row(&[op::BLACKMAN_WINDOW, op::HAMMING_WINDOW, op::HANN_WINDOW], window)];

fn window(draft: &mut Draft<'_, '_>) -> Option<()> {
    let size = draft.smith.choices.int(1, 8);
    draft.scalar(size)
}
