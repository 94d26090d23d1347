//! Pools: with a mask, quantized, and in the internal layouts.
//!
//! Whether a last window that begins in the padding counts when the number is rounded up is left open, as for the standard
//! operators before version 22.

use onnx_schema::attr;
use onnx_schema::onnxruntime::{microsoft, nchwc, nhwc};
use onnx_types::Dim;

use super::Axes;
use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome, Stop};
use crate::family::window::{Rounding, Windows, ints_of};
use crate::ty::{Dims, at};

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::MAXPOOL_WITH_MASK, &[since(1, |cx| pool(cx, Axes::ChannelsFirst, false))]),
    infer(microsoft::NHWC_MAX_POOL, &[since(1, |cx| pool(cx, Axes::ChannelsLast, true))]),
    infer(microsoft::Q_LINEAR_AVERAGE_POOL, &[since(1, quantized)]),
    infer(microsoft::Q_LINEAR_GLOBAL_AVERAGE_POOL, &[since(1, quantized_global)]),
    infer(nchwc::AVERAGE_POOL, &[since(1, |cx| pool(cx, Axes::ChannelsFirst, true))]),
    infer(nchwc::GLOBAL_AVERAGE_POOL, &[since(1, |cx| global(cx, Axes::ChannelsFirst))]),
    infer(nchwc::GLOBAL_MAX_POOL, &[since(1, |cx| global(cx, Axes::ChannelsFirst))]),
    infer(nchwc::MAX_POOL, &[since(1, |cx| pool(cx, Axes::ChannelsFirst, true))]),
    infer(
        nhwc::AVERAGE_POOL,
        &[
            since(7, |cx| pool(cx, Axes::ChannelsLast, false)),
            since(19, |cx| pool(cx, Axes::ChannelsLast, true)),
        ],
    ),
    infer(nhwc::GLOBAL_AVERAGE_POOL, &[since(1, |cx| global(cx, Axes::ChannelsLast))]),
    infer(nhwc::GLOBAL_LP_POOL, &[since(2, |cx| global(cx, Axes::ChannelsLast))]),
    infer(nhwc::GLOBAL_MAX_POOL, &[since(1, |cx| global(cx, Axes::ChannelsLast))]),
    infer(
        nhwc::LP_POOL,
        &[
            since(11, |cx| pool(cx, Axes::ChannelsLast, false)),
            since(18, |cx| pool(cx, Axes::ChannelsLast, true)),
        ],
    ),
    infer(
        nhwc::MAX_POOL,
        &[
            since(1, |cx| pool(cx, Axes::ChannelsLast, false)),
            since(10, |cx| pool(cx, Axes::ChannelsLast, true)),
        ],
    ),
    infer(nhwc::MAX_UNPOOL, &[since(9, unpool)]),
    infer(nhwc::Q_LINEAR_AVERAGE_POOL, &[since(1, quantized_last)]),
];

fn quantized(cx: &mut Cx<'_, '_>) -> Outcome {
    let axes = Axes::of_attribute(cx)?;
    pool(cx, axes, false)
}

fn pool(cx: &mut Cx<'_, '_>, axes: Axes, dilates: bool) -> Outcome {
    let input = axes.read(cx.shape(0)?)?;
    let count = input.len().saturating_sub(2);
    if cx.ints(attr::KERNEL_SHAPE)?.is_none() {
        return Err(Stop::Unknown);
    }
    let kernel = ints_of(cx, attr::KERNEL_SHAPE, count, 1, 1)?;
    let kernel: Dims = kernel.iter().map(|&size| Dim::Known(size)).collect();
    let windows = Windows::read(cx, &kernel, dilates)?;
    let rounding = if cx.int_or(attr::CEIL_MODE, 0)? == 0 { Rounding::Down } else { Rounding::Up };
    let spatial = windows.pool(cx, input.get(2..).unwrap_or_default(), rounding)?;
    let dims = [at(&input, 0), at(&input, 1)].into_iter().chain(spatial).collect();
    let mut dims = axes.write(dims);
    cx.name_sizes(0, &mut dims);
    cx.set_shape(1, dims.iter().copied());
    cx.set_dims(0, dims);
    Ok(())
}

fn quantized_global(cx: &mut Cx<'_, '_>) -> Outcome {
    let axes = Axes::of_attribute(cx)?;
    global(cx, axes)
}

fn global(cx: &mut Cx<'_, '_>, axes: Axes) -> Outcome {
    let mut dims = axes.read(cx.shape(0)?)?;
    dims.get_mut(2..).unwrap_or_default().fill(Dim::Known(1));
    cx.set_dims(0, axes.write(dims));
    Ok(())
}

/// What `channels_last` means in a layout that has the channels last already is not documented.
fn quantized_last(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.flag("channels_last")? { Err(Stop::Unknown) } else { pool(cx, Axes::ChannelsLast, false) }
}

/// Attributes do not tell the sizes of what was pooled where windows did not fill the axes, and what onnxruntime infers for
/// the channels contradicts the layout.
fn unpool(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape(0)?;
    dims.get_mut(1..).unwrap_or_default().fill(Dim::Unknown);
    cx.set_dims(0, dims);
    Ok(())
}
