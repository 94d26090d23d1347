//! Recipe of `CausalConvWithState`.

use onnx_schema::op;
use onnx_types::Dim;

use crate::draft::Draft;
use crate::family::image::{image, weights};
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::CAUSAL_CONV_WITH_STATE], causal_convolution)];

fn causal_convolution(draft: &mut Draft<'_, '_>) -> Option<()> {
    let image = image(draft, 1, 1)?;
    let kernel = image.kernel(draft);
    let size = kernel.first().copied()?;
    weights(draft, [image.channels, 1], &kernel)?;
    if draft.wants(40) {
        draft.shaped(&[Dim::Known(image.channels)])?;
        if size > 1 && draft.wants(40) {
            draft.shaped(&[*image.dims.first()?, Dim::Known(image.channels), Dim::Known(size - 1)])?;
        }
    }
    Some(())
}
