//! Operators on the internal layouts that move elements: reordering, and those that exchange space and channels.
//!
//! Blocks of channels (`nchwc`) have 8 or 16 channels, depending on the processor, so the channels after `ReorderInput` are
//! known only if they fill whole blocks of 16. `Resize` on `nhwc` has its scales and sizes in the order of its axes, so it is
//! inferred as the standard operator.

use onnx_schema::onnxruntime::{nchwc, nhwc};
use onnx_schema::{attr, domain, op};
use onnx_types::Dim;

use super::nn::Axes;
use super::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome, Stop};
use crate::ty::{Dims, at};

pub(super) const RULES: &[OpRules] = &[
    infer(nchwc::REORDER_INPUT, &[since(1, reorder_input)]),
    infer(nchwc::REORDER_OUTPUT, &[since(1, reorder_output)]),
    infer(nchwc::UPSAMPLE, &[since(1, upsample)]),
    infer(nhwc::DEPTH_TO_SPACE, &[since(1, |cx| blocks(cx, true))]),
    infer(nhwc::GRID_SAMPLE, &[since(16, sample)]),
    infer(
        nhwc::RESIZE,
        &[
            since(11, |cx| cx.infer_as(domain::ONNX, op::RESIZE, 11)),
            since(13, |cx| cx.infer_as(domain::ONNX, op::RESIZE, 13)),
            since(18, |cx| cx.infer_as(domain::ONNX, op::RESIZE, 18)),
            since(19, |cx| cx.infer_as(domain::ONNX, op::RESIZE, 19)),
        ],
    ),
    infer(nhwc::SPACE_TO_DEPTH, &[since(1, |cx| blocks(cx, false))]),
];

/// The number of channels that fills whole blocks, whatever their size.
const LARGEST_BLOCK: i64 = 16;

fn reorder_input(cx: &mut Cx<'_, '_>) -> Outcome {
    let axes = Axes::of_attribute(cx)?;
    let mut dims = axes.read(cx.shape(0)?)?;
    if let Some(channels) = dims.get_mut(1)
        && !cx.dims().divides(LARGEST_BLOCK, *channels)
    {
        *channels = Dim::Unknown;
    }
    cx.set_dims(0, dims);
    Ok(())
}

fn reorder_output(cx: &mut Cx<'_, '_>) -> Outcome {
    let channels = cx.int_or("channels", 0)?;
    let mut dims = cx.shape_of_min_rank(0, 3)?;
    if let Some(slot) = dims.get_mut(1) {
        *slot = Dim::Known(channels);
    }
    let axes = Axes::of_attribute(cx)?;
    cx.set_dims(0, axes.write(dims));
    Ok(())
}

fn upsample(cx: &mut Cx<'_, '_>) -> Outcome {
    let scales = cx.ints("scales")?.ok_or(Stop::Unknown)?;
    let mut dims = cx.shape(0)?;
    if scales.len() != dims.len() {
        return Err(Stop::Unknown);
    }
    for (dim, &scale) in dims.iter_mut().zip(scales) {
        *dim = if scale > 0 { cx.product_of_sizes(&[*dim, Dim::Known(scale)])? } else { Dim::Unknown };
    }
    cx.set_dims(0, dims);
    Ok(())
}

fn blocks(cx: &mut Cx<'_, '_>, to_space: bool) -> Outcome {
    let block = cx.int_or(attr::BLOCKSIZE, 0)?;
    if !(1..=1 << 20).contains(&block) {
        return Err(Stop::Unknown);
    }
    let input = cx.shape_of_rank(0, 4)?;
    let (side, area) = (Dim::Known(block), Dim::Known(block.saturating_mul(block)));
    let [batch, height, width, channels] = [0, 1, 2, 3].map(|axis| at(&input, axis));
    let dims: [Dim; 4] = if to_space {
        let channels = cx.dims().floor_div(channels, area);
        [batch, cx.product_of_sizes(&[height, side])?, cx.product_of_sizes(&[width, side])?, channels]
    } else {
        let (height, width) = (cx.dims().floor_div(height, side), cx.dims().floor_div(width, side));
        [batch, height, width, cx.product_of_sizes(&[channels, area])?]
    };
    cx.set_shape(0, dims);
    Ok(())
}

/// The image has its channels last; the grid is as for the standard operator.
fn sample(cx: &mut Cx<'_, '_>) -> Outcome {
    let (input, grid) = (cx.shape(0)?, cx.shape(1)?);
    if input.len() != grid.len() || input.len() < 3 {
        return Err(Stop::Unknown);
    }
    let spatial = grid.get(1..grid.len().saturating_sub(1)).unwrap_or_default();
    let channels = at(&input, input.len().saturating_sub(1));
    let dims: Dims = [at(&input, 0)].into_iter().chain(spatial.iter().copied()).chain([channels]).collect();
    cx.set_dims(0, dims);
    Ok(())
}
