//! `OneHot`: for each index a vector of off values with one on value, along a new axis.
//!
//! Faults are a depth that is negative, not one number or a matrix, values that are not a pair, indices without an
//! axis, and an axis outside the output. As in the reference, the number in a depth that is computed at run time is not
//! checked.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::family::layout::{Small, fill, position};
use crate::fault::{BAD_VALUE, SIZES_DIFFER, WRONG_RANK};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::ONE_HOT, &[since(9, of_positions), since(11, one_hot)]).values(&[since(9, values)]);

/// Before version 11, indices do not count from the end.
fn of_positions(cx: &mut Cx<'_, '_>) -> Outcome {
    let indices = cx.content(0);
    let negative =
        indices.iter().flat_map(|all| all.iter()).filter_map(|index| index.to_f64()).find(|&at| at < 0.0);
    if let Some(index) = negative {
        let message = format_args!("the index {index} is negative, which is not allowed before version 11");
        return Err(cx.fail(&BAD_VALUE, message));
    }
    one_hot(cx)
}

fn one_hot(cx: &mut Cx<'_, '_>) -> Outcome {
    check(cx)?;
    let mut dims = cx.shape(0)?;
    if dims.is_empty() {
        return Err(cx.fail(&WRONG_RANK, "the indices have no axis"));
    }
    let axis = cx.int_or(attr::AXIS, -1)?;
    let axis = cx.axis(axis, dims.len().saturating_add(1))?;
    let depth = match cx.scalar(1).unwrap_or_default() {
        Dim::Known(depth) if depth < 0 => {
            return Err(cx.fail(&BAD_VALUE, format_args!("the depth is {depth}")));
        }
        depth if cx.is_size(depth) => depth,
        _ => Dim::Unknown,
    };
    dims.insert(axis, depth);
    cx.set_dims(0, dims);
    Ok(())
}

fn check(cx: &mut Cx<'_, '_>) -> Outcome {
    match cx.shape(1).as_deref() {
        Ok([] | [Dim::Known(1)]) | Err(_) => {}
        Ok([Dim::Known(count)]) => {
            return Err(cx.fail(&SIZES_DIFFER, format_args!("there are {count} depths where 1 is needed")));
        }
        Ok([_]) => {}
        Ok(_) => return Err(cx.fail(&WRONG_RANK, "the depth must be one number")),
    }
    match cx.shape(2).as_deref() {
        Ok([Dim::Known(2)]) | Err(_) => Ok(()),
        Ok([Dim::Known(count)]) => {
            Err(cx.fail(&SIZES_DIFFER, format_args!("there are {count} values where 2 are needed")))
        }
        Ok([_]) => Ok(()),
        Ok(_) => Err(cx.fail(&WRONG_RANK, "the values must be a vector")),
    }
}

/// An index outside the depth produces only off values.
fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let (indices, values) = (Small::of(cx, 0)?, Small::of(cx, 2)?);
    let axis = cx.int_or(attr::AXIS, -1)?;
    let axis = cx.axis(axis, indices.sizes.len().saturating_add(1))?;
    let depth = cx.output_ty(0).dims().and_then(|dims| dims.get(axis)?.known());
    let depth = depth.and_then(|depth| usize::try_from(depth).ok()).unwrap_or(0);
    fill(cx, 0, |at| {
        let from: crate::family::layout::Sizes =
            at.iter().take(axis).chain(at.iter().skip(axis.saturating_add(1))).copied().collect();
        match (indices.at(&from).known(), at.get(axis)) {
            (Some(index), Some(&at)) => values.nth(usize::from(position(index, depth) == Some(at))),
            _ => Elem::Unknown,
        }
    })
}
