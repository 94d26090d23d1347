//! `ConvTranspose`: `[N, C, spatial…]` and weights `[C, M/group, kernel…]` give `[N, M, spatial…]`.
//!
//! A size is `s*(H-1) + output_padding + d*(k-1) + 1 - pads`, or what `output_shape` says. Padding that is both given and
//! computed is a fault, as in the reference. Where an output padding is neither less than
//! the stride nor less than the dilation, the channels do not fit the weights, or a size is negative, it is a fault that the
//! reference accepts.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use super::conv::{group, in_groups, kernel, operands, with_bias};
use crate::cx::{Cx, Outcome};
use crate::family::window::{Windows, ints_of};
use crate::fault::BAD_ATTRIBUTE;
use crate::registry::{OpRules, infer, since};
use crate::ty::{Dims, at};

pub(super) const RULES: OpRules =
    infer(op::CONV_TRANSPOSE, &[since(1, |cx| transpose(cx, false)), since(11, |cx| transpose(cx, true))]);

/// `bounded`: the text bounds what is added.
fn transpose(cx: &mut Cx<'_, '_>, bounded: bool) -> Outcome {
    let (input, weights) = operands(cx, 1)?;
    let kernel = kernel(cx, &weights)?;
    let windows = Windows::read(cx, &kernel, true)?;
    if windows.pads_twice() {
        return Err(cx.fail(&BAD_ATTRIBUTE, "attributes `pads` and `auto_pad` exclude each other"));
    }
    let group = group(cx)?;
    let given = cx.same(at(&input, 1), at(&weights, 0), "the channels of the input and of the weights")?;
    in_groups(cx, given, group, "input channels")?;
    let channels = cx.dims().mul(at(&weights, 1), group);
    if channels.is_unknown() && at(&weights, 1).known().is_some() {
        return Err(cx.fail(&BAD_ATTRIBUTE, "all groups have more output channels than can be counted"));
    }
    let channels = with_bias(cx, 2, channels)?;
    let added = ints_of(cx, attr::OUTPUT_PADDING, kernel.len(), 0, 0)?;
    if bounded {
        windows.check_added(cx, &added)?;
    }
    let spatial: Dims = if cx.ints(attr::OUTPUT_SHAPE)?.is_some() {
        let sizes = ints_of(cx, attr::OUTPUT_SHAPE, kernel.len(), 0, 0)?;
        sizes.iter().map(|&size| Dim::Known(size)).collect()
    } else {
        windows.transpose(cx, input.get(2..).unwrap_or_default(), &added)?
    };
    cx.set_shape(0, [at(&input, 0), channels].into_iter().chain(spatial));
    Ok(())
}
