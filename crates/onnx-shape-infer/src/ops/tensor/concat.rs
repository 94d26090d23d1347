//! `Concat`: tensors one after another along an axis; all other sizes must be the same.
//!
//! Until version 3 the axis may be left out and is 1 then.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::family::layout::{Sizes, Small, fill};
use crate::fault::{MISSING, WRONG_RANK};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::CONCAT, &[since(1, |cx| concat(cx, Some(1))), since(4, |cx| concat(cx, None))])
        .values(&[since(1, values)]);

fn concat(cx: &mut Cx<'_, '_>, default: Option<i64>) -> Outcome {
    let Some(axis) = cx.int(attr::AXIS)?.or(default) else {
        return Err(cx.fail(&MISSING, "attribute `axis` is missing"));
    };
    let mut dims = cx.shape(0)?;
    let axis = cx.axis(axis, dims.len())?;
    // One sum of all parts: a sum for each of thousands would be as many expressions.
    let mut parts: Vec<Dim> = dims.get(axis).copied().into_iter().collect();
    for index in 1..cx.input_count() {
        let other = cx.shape(index)?;
        if other.len() != dims.len() {
            let (found, rank) = (other.len(), dims.len());
            return Err(cx.fail(
                &WRONG_RANK,
                format_args!("input {index} has rank {found} and those before it {rank}"),
            ));
        }
        for (at, (dim, size)) in dims.iter_mut().zip(other).enumerate() {
            if at == axis {
                parts.push(size);
            } else {
                *dim = cx.same(*dim, size, "the sizes of the other axes")?;
            }
        }
    }
    let sum = cx.sum_of_sizes(&parts)?;
    if let Some(dim) = dims.get_mut(axis) {
        *dim = sum;
    }
    cx.set_dims(0, dims);
    Ok(())
}

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let axis = cx.int(attr::AXIS)?.unwrap_or(1);
    let rank = cx.rank(0)?;
    let axis = cx.axis(axis, rank)?;
    let mut parts = Vec::with_capacity(cx.input_count());
    for index in 0..cx.input_count() {
        parts.push(Small::any(cx, index)?);
    }
    fill(cx, 0, |at| {
        let mut from = Sizes::from_slice(at);
        let Some(left) = from.get_mut(axis) else { return Elem::Unknown };
        for (nth, part) in parts.iter().enumerate() {
            let size = part.sizes.get(axis).copied().unwrap_or(0);
            match left.checked_sub(size) {
                Some(rest) => *left = rest,
                None => return parts.get(nth).map_or(Elem::Unknown, |part| part.at(&from)),
            }
        }
        Elem::Unknown
    })
}
