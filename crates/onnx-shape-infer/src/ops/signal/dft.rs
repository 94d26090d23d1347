//! `DFT`: a transform along one axis of `[…, 1]` (real) or `[…, 2]` (complex).
//!
//! The axis is an attribute in version 17 and an input, -2 when missing, from 20 on. Its size becomes `dft_length`; one side
//! of a real signal has `n//2 + 1` elements of `n`, and one side of `n` complex elements without a length came from
//! `2*(n - 1)`. Where the axis is not known but the whole signal goes in and comes out, the shape is that of the input.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::family::window::not_negative;
use crate::fault::{AXIS_OUT_OF_RANGE, BAD_VALUE, SIZES_DIFFER, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(op::DFT, &[since(17, by_attribute), since(20, by_input)]);

fn by_attribute(cx: &mut Cx<'_, '_>) -> Outcome {
    let axis = cx.int_or(attr::AXIS, 1)?;
    transform(cx, Some(axis))
}

fn by_input(cx: &mut Cx<'_, '_>) -> Outcome {
    let axis = if cx.has_input(2) {
        scalar_rank(cx, 2, "axis")?;
        cx.scalar(2).ok().and_then(Dim::known)
    } else {
        Some(-2)
    };
    transform(cx, axis)
}

/// Checks an input that must be a single number without dimensions. As in the reference, it is checked only if it is
/// known: runtimes also accept one element with a dimension.
pub(super) fn scalar_rank(cx: &mut Cx<'_, '_>, input: usize, name: &str) -> Outcome {
    match cx.rank(input) {
        Ok(rank) if rank != 0 && cx.content(input).is_some() => {
            Err(cx.fail(&WRONG_RANK, format_args!("`{name}` has rank {rank} where a scalar is needed")))
        }
        _ => Ok(()),
    }
}

/// Checks the size of the last axis of a signal.
pub(super) fn parts_of_numbers(cx: &mut Cx<'_, '_>, size: Option<i64>) -> Outcome {
    match size {
        Some(size) if !(1..=2).contains(&size) => Err(cx.fail(
            &SIZES_DIFFER,
            format_args!(
                "the last axis has the size {size}, where 1 is that of real and 2 of complex numbers"
            ),
        )),
        _ => Ok(()),
    }
}

fn transform(cx: &mut Cx<'_, '_>, axis: Option<i64>) -> Outcome {
    let one_sided = cx.int_or(attr::ONESIDED, 0)? != 0;
    let inverse = cx.int_or(attr::INVERSE, 0)? != 0;
    let mut dims = cx.shape_of_min_rank(0, 2)?;
    let rank = dims.len();
    let real = inverse && one_sided;
    let parts = dims.last_mut().ok_or(Stop::Unknown)?;
    let given = parts.known();
    let wrong = one_sided && parts.known() == Some(if inverse { 1 } else { 2 });
    *parts = Dim::Known(if real { 1 } else { 2 });
    if wrong {
        return Err(cx.fail(&SIZES_DIFFER, "`onesided` takes a real input, and with `inverse` a complex one"));
    }
    parts_of_numbers(cx, given)?;
    scalar_rank(cx, 1, "dft_length")?;
    let Some(axis) = axis else {
        // Any axis but the last may change, unless all of the signal goes in and comes out.
        if one_sided || cx.has_input(1) {
            dims.iter_mut().rev().skip(1).for_each(|size| *size = Dim::Unknown);
        }
        cx.set_dims(0, dims);
        return Ok(());
    };
    let at = cx.axis(axis, rank)?;
    if at.saturating_add(1) >= rank {
        return Err(cx.fail(&AXIS_OUT_OF_RANGE, format_args!("axis {axis} is that of the parts of a number")));
    }
    along(cx, &mut dims, at, one_sided, inverse)?;
    cx.set_dims(0, dims);
    Ok(())
}

/// Sets the size of the transformed axis.
fn along(cx: &mut Cx<'_, '_>, dims: &mut Dims, axis: usize, one_sided: bool, inverse: bool) -> Outcome {
    let size = dims.get_mut(axis).ok_or(Stop::Unknown)?;
    let given = cx.has_input(1);
    let mut length = if given { cx.scalar(1).unwrap_or(Dim::Unknown) } else { *size };
    if let Dim::Known(number) = length
        && given
        && number < 1
    {
        return Err(cx.fail(&BAD_VALUE, format_args!("`dft_length` is {number}, which is not positive")));
    }
    if one_sided && inverse && !given {
        let less = cx.dims().sub(length, Dim::Known(1));
        length = cx.dims().mul(less, Dim::Known(2));
    } else if one_sided && !inverse {
        let half = cx.dims().floor_div(length, Dim::Known(2));
        length = cx.dims().add(half, Dim::Known(1));
    }
    *size = not_negative(cx, length)?;
    Ok(())
}
