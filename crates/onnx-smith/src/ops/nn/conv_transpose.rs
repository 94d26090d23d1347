//! Recipe of `ConvTranspose`.

use onnx_schema::op;
use onnx_types::Dim;

use crate::draft::Draft;
use crate::family::image::{groups, image, weights, window_attributes};
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::CONV_TRANSPOSE], transposed_convolution)];

fn transposed_convolution(draft: &mut Draft<'_, '_>) -> Option<()> {
    let image = image(draft, 1, 3)?;
    let kernel = image.kernel(draft);
    let group = groups(draft, image.channels);
    let maps = draft.smith.choices.int(1, 3);
    weights(draft, [image.channels, maps], &kernel)?;
    window_attributes(draft, image.axes(), &kernel);
    if draft.wants(40) {
        draft.shaped(&[Dim::Known(maps.checked_mul(group)?)])?;
    }
    Some(())
}
