//! `SplitToSequence`: a tensor cut along an axis, into parts of one size, of given sizes, or of size 1.
//!
//! The last of parts of one size may be smaller, so their size is known only if it divides that of the axis. Parts of size
//! 1 lose the axis if `keepdims` is 0, which has no effect when sizes are given.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use super::set_sequence;
use crate::cx::{Cx, Outcome, Stop};
use crate::engine::control::Known;
use crate::fault::{BAD_VALUE, SIZES_DIFFER};
use crate::registry::{OpRules, infer, since};
use crate::sequence::{Members, Parts};
use crate::ty::{Dims, Ty};

pub(super) const RULES: OpRules = infer(op::SPLIT_TO_SEQUENCE, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = cx.elem(0)?;
    set_sequence(cx, &Ty::Tensor(elem, None));
    let mut dims = cx.shape(0)?;
    let axis = cx.int_or(attr::AXIS, 0)?;
    let axis = cx.axis(axis, dims.len())?;
    let size = dims.get(axis).copied().unwrap_or_default();
    let whole = dims.clone();
    let (mut sizes, mut keeps_axis) = (None, true);
    if cx.has_input(1) {
        let part = part(cx, size)?;
        if let Some(dim) = dims.get_mut(axis) {
            *dim = part;
        }
        sizes = parts(cx, size);
    } else if cx.int_or(attr::KEEPDIMS, 1)? == 0 {
        dims.remove(axis);
        keeps_axis = false;
    } else if let Some(dim) = dims.get_mut(axis) {
        *dim = Dim::Known(1);
    }
    set_sequence(cx, &Ty::Tensor(elem, Some(dims)));
    let count = match (&sizes, cx.has_input(1)) {
        (Some(sizes), _) => i64::try_from(sizes.len()).map_or(Dim::Unknown, Dim::Known),
        (None, false) => size,
        (None, true) => count(cx, size),
    };
    let part = match cx.scalar(1) {
        Ok(Dim::Known(part @ 1..)) if cx.rank(1) == Ok(0) => Some(part),
        _ => None,
    };
    let mut sizes = sizes.unwrap_or_default();
    sizes.retain(|size| cx.is_size(*size));
    if keeps_axis && count.known().is_some_and(|count| usize::try_from(count) == Ok(sizes.len())) {
        let list = sizes.iter().map(|&size| {
            let mut dims = whole.clone();
            if let Some(dim) = dims.get_mut(axis) {
                *dim = size;
            }
            Known { ty: Ty::Tensor(elem, Some(dims)), content: None }
        });
        let list = list.collect();
        cx.set_members(0, Members::Listed(list));
    } else {
        cx.set_members(0, Members::Parts(Parts { whole, axis, keeps_axis, count, part }));
    }
    Ok(())
}

/// The sizes of all parts, where their number is known.
fn parts(cx: &mut Cx<'_, '_>, size: Dim) -> Option<Dims> {
    let sizes = cx.elements(1).ok()??;
    if cx.rank(1).ok()? == 1 {
        return Some(sizes);
    }
    let (&[Dim::Known(part)], Dim::Known(mut left)) = (sizes.as_slice(), size) else { return None };
    let mut sizes = Dims::new();
    while left > 0 && part > 0 && sizes.len() < MAX_PARTS {
        sizes.push(Dim::Known(part.min(left)));
        left = left.checked_sub(part)?;
    }
    (left <= 0).then_some(sizes)
}

/// How many parts of one size there are.
fn count(cx: &mut Cx<'_, '_>, size: Dim) -> Dim {
    match cx.scalar(1) {
        Ok(part @ Dim::Known(1..)) if cx.rank(1) == Ok(0) => cx.dims().ceil_div(size, part),
        _ => Dim::Unknown,
    }
}

/// More parts than this are not listed one by one.
const MAX_PARTS: usize = 32;

/// The size that all parts have.
fn part(cx: &mut Cx<'_, '_>, size: Dim) -> Outcome<Dim> {
    let Ok(sizes) = cx.numbers(1) else { return Ok(Dim::Unknown) };
    if cx.rank(1) == Ok(0) {
        let part = sizes.first().copied().ok_or(Stop::Unknown)?;
        if part <= 0 {
            return Err(cx.fail(&BAD_VALUE, format_args!("parts of size {part} are asked for")));
        }
        return Ok(match size {
            Dim::Known(size) if size.checked_rem(part) == Some(0) => Dim::Known(part),
            Dim::Known(_) => Dim::Unknown,
            size if cx.state.exprs.divides(part, size) => Dim::Known(part),
            _ => Dim::Unknown,
        });
    }
    let sum = sizes.iter().try_fold(0_i64, |sum, &part| sum.checked_add(part));
    if let (Some(sum), Dim::Known(size)) = (sum, size)
        && sum != size
    {
        return Err(
            cx.fail(&SIZES_DIFFER, format_args!("the parts have {sum} places together and the axis {size}"))
        );
    }
    Ok(match sizes.split_first() {
        Some((&first, rest)) if first >= 0 && rest.iter().all(|&other| other == first) => Dim::Known(first),
        _ => Dim::Unknown,
    })
}
