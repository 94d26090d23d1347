//! Convolutions: with an activation, quantized, transposed, and in the internal layouts.
//!
//! The channels of the result are the first size of the weights, in every layout. In blocks of channels (`nchwc`), the
//! weights are padded to whole blocks and the input of the first convolution is not, so the channels of the two are not
//! compared there.

use onnx_schema::onnxruntime::{microsoft, nchwc, nhwc};
use onnx_schema::{attr, domain, op};
use onnx_types::Dim;

use super::Axes;
use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome, Stop};
use crate::family::window::{Windows, ints_of};
use crate::ty::{Dims, at};

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::CONV_TRANSPOSE_WITH_DYNAMIC_PADS, &[since(1, with_dynamic_pads)]),
    infer(microsoft::FUSED_CONV, &[since(1, |cx| cx.infer_as(domain::ONNX, op::CONV, 11))]),
    infer(microsoft::NHWC_CONV, &[since(1, |cx| convolve(cx, Axes::ChannelsLast, 1))]),
    infer(microsoft::NHWC_FUSED_CONV, &[since(1, |cx| convolve(cx, Axes::ChannelsLast, 1))]),
    infer(microsoft::Q_LINEAR_CONV, &[since(1, quantized)]),
    infer(nchwc::CONV, &[since(1, |cx| convolve(cx, Axes::ChannelsFirst, 1))]),
    infer(nhwc::CONV, &[since(1, |cx| convolve(cx, Axes::ChannelsLast, 1))]),
    infer(nhwc::CONV_TRANSPOSE, &[since(1, |cx| transpose(cx, 1))]),
    infer(nhwc::Q_LINEAR_CONV, &[since(10, |cx| convolve(cx, Axes::ChannelsLast, 3))]),
    infer(nhwc::Q_LINEAR_CONV_TRANSPOSE, &[since(1, |cx| transpose(cx, 3))]),
];

fn quantized(cx: &mut Cx<'_, '_>) -> Outcome {
    let axes = Axes::of_attribute(cx)?;
    convolve(cx, axes, 3)
}

/// The sizes of the kernel: those of the weights, or of the attribute where the weights do not tell.
fn kernel(cx: &mut Cx<'_, '_>, weights: &[Dim]) -> Outcome<Dims> {
    let spatial = weights.get(2..).ok_or(Stop::Unknown)?;
    if cx.ints(attr::KERNEL_SHAPE)?.is_none() {
        return Ok(Dims::from_slice(spatial));
    }
    let sizes = ints_of(cx, attr::KERNEL_SHAPE, spatial.len(), 1, 1)?;
    Ok(sizes.iter().map(|&size| Dim::Known(size)).collect())
}

fn operands(cx: &mut Cx<'_, '_>, axes: Axes, weights: usize) -> Outcome<(Dims, Dims)> {
    let input = axes.read(cx.shape(0)?)?;
    let weights = cx.shape(weights).unwrap_or_else(|_| Dims::from_elem(Dim::Unknown, input.len()));
    if weights.len() == input.len() { Ok((input, weights)) } else { Err(Stop::Unknown) }
}

fn convolve(cx: &mut Cx<'_, '_>, axes: Axes, weights: usize) -> Outcome {
    let (input, weights) = operands(cx, axes, weights)?;
    let kernel = kernel(cx, &weights)?;
    let windows = Windows::read(cx, &kernel, true)?;
    let spatial = windows.convolve(cx, input.get(2..).unwrap_or_default())?;
    let dims = [at(&input, 0), at(&weights, 0)].into_iter().chain(spatial).collect();
    cx.set_dims(0, axes.write(dims));
    Ok(())
}

fn transpose(cx: &mut Cx<'_, '_>, weights: usize) -> Outcome {
    let (input, weights) = operands(cx, Axes::ChannelsLast, weights)?;
    let kernel = kernel(cx, &weights)?;
    let windows = Windows::read(cx, &kernel, true)?;
    let added = ints_of(cx, attr::OUTPUT_PADDING, kernel.len(), 0, 0)?;
    let spatial: Dims = if cx.ints(attr::OUTPUT_SHAPE)?.is_some() || windows.pads_twice() {
        Dims::from_elem(Dim::Unknown, kernel.len())
    } else {
        windows.transpose(cx, input.get(2..).unwrap_or_default(), &added)?
    };
    let channels = group_channels(cx, &weights)?;
    let dims = [at(&input, 0), channels].into_iter().chain(spatial).collect();
    cx.set_dims(0, Axes::ChannelsLast.write(dims));
    Ok(())
}

fn group_channels(cx: &mut Cx<'_, '_>, weights: &[Dim]) -> Outcome<Dim> {
    let group = cx.int_or(attr::GROUP, 1)?;
    if group < 1 {
        return Err(Stop::Unknown);
    }
    Ok(cx.dims().mul(at(weights, 1), Dim::Known(group)))
}

/// The padding is an input: the sizes without it, less what it cuts off at both ends of each axis.
fn with_dynamic_pads(cx: &mut Cx<'_, '_>) -> Outcome {
    let (input, weights) = operands(cx, Axes::ChannelsFirst, 1)?;
    let kernel = kernel(cx, &weights)?;
    let windows = Windows::read(cx, &kernel, true)?;
    let channels = group_channels(cx, &weights)?;
    let count = kernel.len();
    let mut dims: Dims = [at(&input, 0), channels].into_iter().collect();
    dims.resize(count.saturating_add(2), Dim::Unknown);
    let is_given = matches!(cx.text(attr::AUTO_PAD)?, None | Some("" | "NOTSET"));
    let pads = if cx.has_input(2) {
        cx.elements(2)?
    } else {
        Some(Dims::from_elem(Dim::Known(0), count.saturating_mul(2)))
    };
    if let Some(pads) = pads
        && is_given
        && pads.len() == count.saturating_mul(2)
    {
        let added = ints_of(cx, attr::OUTPUT_PADDING, count, 0, 0)?;
        let full = windows.transpose(cx, input.get(2..).unwrap_or_default(), &added)?;
        for (axis, (slot, size)) in dims.iter_mut().skip(2).zip(full).enumerate() {
            let cut = cx.dims().add(at(&pads, axis), at(&pads, axis.saturating_add(count)));
            let size = cx.dims().sub(size, cut);
            // A negative size has no run.
            *slot = if cx.is_size(size) { size } else { Dim::Unknown };
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}
