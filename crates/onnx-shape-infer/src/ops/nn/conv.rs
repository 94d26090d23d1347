//! `Conv`, `ConvInteger` and `QLinearConv`: `[N, C, spatial…]` and weights `[M, C/group, kernel…]` give `[N, M, spatial…]`.
//!
//! The rank follows from either of the two, and the sizes of the kernel from the weights where `kernel_shape` is missing. It
//! is a fault when the two contradict each other, when the channels of the input or of the result do not fit the weights and
//! `group`, or when a size is negative; the reference accepts all three, and gives negative sizes.

use onnx_schema::{attr, op};
use onnx_types::Dim;
use smallvec::SmallVec;

use crate::cx::{Cx, Outcome, Stop};
use crate::family::window::{Windows, ints_of};
use crate::fault::{BAD_ATTRIBUTE, SIZES_DIFFER, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::{Dims, at};

pub(super) const CONV: OpRules = infer(op::CONV, &[since(1, |cx| convolve(cx, 1, 2))]);
pub(super) const CONV_INTEGER: OpRules = infer(op::CONV_INTEGER, &[since(10, |cx| convolve(cx, 1, 4))]);
pub(super) const Q_LINEAR_CONV: OpRules = infer(op::Q_LINEAR_CONV, &[since(10, |cx| convolve(cx, 3, 8))]);

/// The input and the weights of a convolution: both with the same number of dimensions, at least three.
///
/// # Errors
///
/// [`Stop::Unknown`] when the rank of neither is known, and a finding when the ranks do not fit.
pub(super) fn operands(cx: &mut Cx<'_, '_>, weights: usize) -> Outcome<(Dims, Dims)> {
    let (input, weights) = match (cx.shape(0), cx.shape(weights)) {
        (Ok(input), Ok(weights)) => (input, weights),
        (Ok(input), Err(_)) => {
            let weights = Dims::from_elem(Dim::Unknown, input.len());
            (input, weights)
        }
        (Err(_), Ok(weights)) => (Dims::from_elem(Dim::Unknown, weights.len()), weights),
        (Err(stop), Err(_)) => return Err(stop),
    };
    let (rank, other) = (input.len(), weights.len());
    if rank < 3 {
        return Err(
            cx.fail(&WRONG_RANK, format_args!("the input has rank {rank} where at least 3 is needed"))
        );
    }
    if rank != other {
        return Err(
            cx.fail(&WRONG_RANK, format_args!("the input has rank {rank} and the weights have rank {other}"))
        );
    }
    Ok((input, weights))
}

/// The sizes of the kernel, by the attribute and by the weights.
///
/// # Errors
///
/// With a finding when they contradict each other, or the attribute is not valid.
pub(super) fn kernel(cx: &mut Cx<'_, '_>, weights: &[Dim]) -> Outcome<Dims> {
    let spatial = weights.get(2..).ok_or(Stop::Unknown)?;
    if cx.ints(attr::KERNEL_SHAPE)?.is_none() {
        return Ok(Dims::from_slice(spatial));
    }
    let sizes: SmallVec<[i64; 6]> = ints_of(cx, attr::KERNEL_SHAPE, spatial.len(), 1, 1)?;
    sizes
        .iter()
        .zip(spatial)
        .map(|(&size, &dim)| cx.same(Dim::Known(size), dim, "a size of the kernel and of the weights"))
        .collect()
}

/// The number of groups.
///
/// # Errors
///
/// With a finding when it is not positive.
pub(super) fn group(cx: &mut Cx<'_, '_>) -> Outcome<Dim> {
    let group = cx.int_or(attr::GROUP, 1)?;
    if group < 1 {
        return Err(cx.fail(
            &BAD_ATTRIBUTE,
            format_args!("attribute `group` is {group}, but not less than 1 is needed"),
        ));
    }
    Ok(Dim::Known(group))
}

/// The channels must be a multiple of the number of groups. `what` names them: "input channels".
///
/// # Errors
///
/// With a finding when both are numbers and they are not.
pub(super) fn in_groups(cx: &mut Cx<'_, '_>, channels: Dim, group: Dim, what: &str) -> Outcome {
    match (channels, group) {
        (Dim::Known(channels), Dim::Known(group)) if channels.checked_rem(group) != Some(0) => {
            let message = format_args!("{channels} {what} are not a multiple of {group} groups");
            Err(cx.fail(&SIZES_DIFFER, message))
        }
        _ => Ok(()),
    }
}

/// The one size of the bias, which must be the number of output channels; the better known of the two.
///
/// # Errors
///
/// With a finding when they differ.
pub(super) fn with_bias(cx: &mut Cx<'_, '_>, bias: usize, channels: Dim) -> Outcome<Dim> {
    match cx.shape(bias).as_deref() {
        Ok(&[size]) => cx.same(channels, size, "the sizes of the bias and of the output channels"),
        Ok(dims) => {
            let rank = dims.len();
            Err(cx.fail(&WRONG_RANK, format_args!("the bias has rank {rank} where 1 is needed")))
        }
        Err(_) => Ok(channels),
    }
}

fn convolve(cx: &mut Cx<'_, '_>, weights: usize, bias: usize) -> Outcome {
    let dims = result(cx, weights, bias)?;
    cx.set_dims(0, dims);
    Ok(())
}

/// The shape that a convolution gives, by which inputs are the weights and the bias.
///
/// # Errors
///
/// [`Stop::Unknown`] when no rank is known, and a finding when the node has no valid run.
pub(super) fn result(cx: &mut Cx<'_, '_>, weights: usize, bias: usize) -> Outcome<Dims> {
    let (input, weights) = operands(cx, weights)?;
    let kernel = kernel(cx, &weights)?;
    let windows = Windows::read(cx, &kernel, true)?;
    let group = group(cx)?;
    let channels = cx.dims().mul(at(&weights, 1), group);
    cx.same(at(&input, 1), channels, "the channels of the input and of the weights")?;
    let channels = with_bias(cx, bias, at(&weights, 0))?;
    in_groups(cx, channels, group, "output channels")?;
    let spatial = windows.convolve(cx, input.get(2..).unwrap_or_default())?;
    Ok([at(&input, 0), channels].into_iter().chain(spatial).collect())
}
