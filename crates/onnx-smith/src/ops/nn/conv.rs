//! Recipes of `Conv`, `ConvInteger` and `QLinearConv`.

use onnx_schema::op;
use onnx_types::Dim;

use crate::draft::Draft;
use crate::family::image::{groups, image, known, weights, window_attributes};
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] =
    &[row(&[op::CONV, op::CONV_INTEGER], convolution), row(&[op::Q_LINEAR_CONV], quantized_convolution)];

fn convolution(draft: &mut Draft<'_, '_>) -> Option<()> {
    let image = image(draft, 1, 3)?;
    let kernel = image.kernel(draft);
    let group = groups(draft, image.channels);
    let maps = group.checked_mul(draft.smith.choices.int(1, 3))?;
    weights(draft, [maps, image.channels.checked_div(group)?], &kernel)?;
    window_attributes(draft, image.axes(), &kernel);
    if draft.wants(40) {
        // A bias, or the zero points of integers.
        let is_integer = draft.schema.op() == op::CONV_INTEGER;
        draft.shaped(&known(if is_integer { &[] } else { std::slice::from_ref(&maps) }))?;
        if is_integer && draft.wants(50) {
            draft.shaped(&[])?;
        }
    }
    Some(())
}

fn quantized_convolution(draft: &mut Draft<'_, '_>) -> Option<()> {
    let image = image(draft, 1, 2)?;
    draft.shaped(&[])?;
    draft.shaped(&[])?;
    let kernel = image.kernel(draft);
    let group = groups(draft, image.channels);
    let maps = group.checked_mul(draft.smith.choices.int(1, 3))?;
    weights(draft, [maps, image.channels.checked_div(group)?], &kernel)?;
    for _ in 0..4 {
        draft.shaped(&[])?;
    }
    window_attributes(draft, image.axes(), &kernel);
    if draft.wants(40) {
        draft.shaped(&[Dim::Known(maps)])?;
    }
    Some(())
}
