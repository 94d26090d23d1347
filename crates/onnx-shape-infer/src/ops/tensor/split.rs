//! `Split`: an axis in as many parts as there are outputs.
//!
//! The sizes of the parts are an attribute until version 11 (or an input, at version 1) and an input from version 13 on.
//! Without them the parts are equal until version 17, which proves that their number divides the size. From version 18
//! on `num_outputs` specifies the number of parts, and the last one takes the rest: that the other parts leave a rest
//! is assumed, with a guard, because runtimes disagree otherwise, and the reference computes a negative size. Sizes
//! together with `num_outputs` are a contradiction there. Version 1 has no default for the axis, so only the rank is
//! known without one.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Param, Stop};
use crate::facts::Relation;
use crate::family::layout::{Sizes, Small, fill};
use crate::fault::{BAD_ATTRIBUTE, BAD_VALUE, MISSING, SIZES_DIFFER};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(
    op::SPLIT,
    &[
        since(1, oldest),
        since(2, |cx| split(cx, Param::Attr(attr::SPLIT), even)),
        since(13, |cx| split(cx, Param::Input(1), even)),
        since(18, newest),
    ],
)
.values(&[since(1, values)]);

/// What the parts are when their sizes are not given.
type Otherwise = fn(&mut Cx<'_, '_>, Dim) -> Outcome<Dims>;

fn oldest(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.int(attr::AXIS)?.is_none() {
        let rank = cx.rank(0)?;
        for output in 0..cx.output_count() {
            cx.set_shape(output, Dims::from_elem(Dim::Unknown, rank));
        }
        return Ok(());
    }
    let sizes = if cx.has_input(1) { Param::Input(1) } else { Param::Attr(attr::SPLIT) };
    split(cx, sizes, even)
}

/// The number of parts is given by the sizes or by `num_outputs`. The reference compares the number with that of the outputs
/// only when it runs the node.
fn newest(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Some(count) = cx.int(attr::NUM_OUTPUTS)? {
        if cx.has_input(1) {
            let message = "`num_outputs` is given together with the sizes of the parts";
            return Err(cx.fail_structure(&BAD_ATTRIBUTE, message));
        }
        if count < 1 {
            return Err(cx.fail_structure(&BAD_ATTRIBUTE, format_args!("`num_outputs` is {count}")));
        }
        let outputs = cx.output_count();
        if usize::try_from(count) != Ok(outputs) {
            let message = format_args!("`num_outputs` is {count}, and the number of outputs is {outputs}");
            return Err(cx.fail_structure(&BAD_ATTRIBUTE, message));
        }
    } else if !cx.has_input(1) {
        return Err(cx.fail(&MISSING, "neither sizes of parts nor `num_outputs` are given"));
    }
    split(cx, Param::Input(1), by_count)
}

fn split(cx: &mut Cx<'_, '_>, sizes: Param, otherwise: Otherwise) -> Outcome {
    if cx.output_count() == 0 {
        return Err(cx.fail(&MISSING, "an output is missing"));
    }
    let given = given(cx, sizes)?;
    let mut dims = cx.shape(0)?;
    let axis = cx.int_or(attr::AXIS, 0)?;
    let axis = cx.axis(axis, dims.len())?;
    let Some(&dim) = dims.get(axis) else { return Err(Stop::Unknown) };
    let parts = match given {
        Some(mut parts) => {
            complete(cx, &mut parts, dim)?;
            parts
        }
        None => otherwise(cx, dim)?,
    };
    for output in 0..cx.output_count() {
        let size = match parts.get(output) {
            Some(&Dim::Unknown) | None => cx.size_at_most(output, axis, dim),
            Some(&size) => size,
        };
        if let Some(slot) = dims.get_mut(axis) {
            *slot = size;
        }
        cx.set_shape(output, dims.iter().copied());
    }
    Ok(())
}

/// The sizes of the parts as the node gives them, if it does. There is one for each output.
fn given(cx: &mut Cx<'_, '_>, sizes: Param) -> Outcome<Option<Dims>> {
    let outputs = cx.output_count();
    let parts: Dims = match sizes {
        Param::Attr(name) => match cx.ints(name)? {
            Some(sizes) => sizes.iter().map(|&size| Dim::Known(size)).collect(),
            None => return Ok(None),
        },
        Param::Input(index) if !cx.has_input(index) => return Ok(None),
        Param::Input(index) => match cx.elements(index)? {
            Some(sizes) if sizes.iter().any(|size| !size.is_unknown()) => sizes,
            _ => Dims::from_elem(Dim::Unknown, outputs),
        },
    };
    if parts.len() != outputs {
        let count = parts.len();
        return Err(
            cx.fail(&BAD_VALUE, format_args!("there are sizes for {count} parts and {outputs} outputs"))
        );
    }
    if let Some(size) = parts.iter().filter_map(|part| part.known()).find(|&size| size < 0) {
        return Err(cx.fail(&BAD_VALUE, format_args!("the size of a part is {size}")));
    }
    Ok(Some(parts))
}

/// The parts have the size of the axis together, which tells one that is not known.
fn complete(cx: &mut Cx<'_, '_>, parts: &mut [Dim], dim: Dim) -> Outcome {
    let known: Dims = parts.iter().copied().filter(|part| !part.is_unknown()).collect();
    let sum = cx.dims().sum(&known);
    // The sum of numbers of 64 bits can have more.
    let total = known.iter().try_fold(0_i128, |sum, part| Some(sum.saturating_add(part.known()?.into())));
    let total = total.or_else(|| sum.known().map(i128::from));
    let missing = parts.len().saturating_sub(known.len());
    if let (Some(total), Some(size)) = (total, dim.known().map(i128::from))
        && (total > size || missing == 0 && total != size)
    {
        let message = format_args!("the parts have {total} together and the axis {size}");
        return Err(cx.fail(&SIZES_DIFFER, message));
    }
    match missing {
        0 => {
            cx.same(sum, dim, "the sizes of the axis and of all parts")?;
        }
        1 => {
            let rest = cx.dims().sub(dim, sum);
            if let (true, Some(part)) = (cx.is_size(rest), parts.iter_mut().find(|part| part.is_unknown())) {
                *part = rest;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Parts of equal size.
fn even(cx: &mut Cx<'_, '_>, dim: Dim) -> Outcome<Dims> {
    let outputs = cx.output_count();
    let count = i64::try_from(outputs).unwrap_or(i64::MAX);
    if let Dim::Known(size) = dim
        && count > 0
        && size.checked_rem(count) != Some(0)
    {
        return Err(cx.fail(&BAD_VALUE, format_args!("an axis of {size} has no {count} parts of equal size")));
    }
    let part = cx.dims().exact_div(dim, Dim::Known(count));
    if dim.known().is_none() && count > 1 {
        cx.prove(Relation::Divides(Dim::Known(count), dim));
    }
    Ok(Dims::from_elem(part, outputs))
}

/// Parts of equal size, except the last one, which may be smaller.
fn by_count(cx: &mut Cx<'_, '_>, dim: Dim) -> Outcome<Dims> {
    let outputs = cx.output_count();
    let count = i64::try_from(outputs).unwrap_or(i64::MAX);
    let part = cx.dims().ceil_div(dim, Dim::Known(count));
    let before_last = cx.dims().mul(part, Dim::Known(count.saturating_sub(1)));
    let last = cx.dims().sub(dim, before_last);
    if !cx.is_size(last) {
        if last.known().is_some() || last.is_unknown() {
            return Ok(Dims::new());
        }
        if !cx.may_assume(Relation::AtMost(before_last, dim), "the last part must not be negative") {
            return Ok(Dims::new());
        }
    }
    let last_at = outputs.saturating_sub(1);
    Ok((0..outputs).map(|output| if output == last_at { last } else { part }).collect())
}

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let data = Small::of(cx, 0)?;
    let axis = cx.int_or(attr::AXIS, 0)?;
    let axis = cx.axis(axis, data.sizes.len())?;
    let mut begin = 0_usize;
    for output in 0..cx.output_count() {
        let size = cx.output_ty(output).dims().and_then(|dims| dims.get(axis)?.known());
        let size = usize::try_from(size.ok_or(Stop::Unknown)?).map_err(|_| Stop::Unknown)?;
        fill(cx, output, |at| {
            let mut from = Sizes::from_slice(at);
            if let Some(slot) = from.get_mut(axis) {
                *slot = slot.saturating_add(begin);
            }
            data.at(&from)
        })?;
        begin = begin.saturating_add(size);
    }
    Ok(())
}
