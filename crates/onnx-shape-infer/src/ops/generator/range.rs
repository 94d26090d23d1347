//! `Range`: numbers from a start to a limit in equal steps.
//!
//! There are `max(ceil((limit - start)/delta), 0)` of them. Integers may depend on symbols. Floats that are not
//! integers are counted only if the formula gives the same result in single and double precision, because runtimes
//! differ in that. A step of 0 does not define a number of elements: the reference gives 0, and no run succeeds.
//! Operands that are vectors are refused if all three are constant, as by the reference: some runtimes accept a vector
//! of one element.

use onnx_schema::op;
use onnx_types::{Dim, ElemType};

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::family::arithmetic::fit;
use crate::fault::{BAD_VALUE, TYPES_DIFFER, WRONG_RANK};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::RANGE, &[since(11, range)]).values(&[since(11, values)]);

fn range(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_shape(0, [Dim::Unknown]);
    check(cx)?;
    let [start, limit, delta] = [0, 1, 2].map(|index| single(cx, index));
    let (start, limit, delta) = (start?, limit?, delta?);
    let elem = cx.elem(0)?;
    if [1, 2].iter().any(|&index| cx.elem(index).is_ok_and(|other| other != elem)) {
        return Err(cx.fail(&TYPES_DIFFER, "start, limit and step must have the same type"));
    }
    if delta.to_f64() == Some(0.0) {
        return Err(cx.fail(&BAD_VALUE, "the step is 0"));
    }
    let count = match (start, limit, delta) {
        (Elem::Int(start), Elem::Int(limit), Elem::Int(delta)) => {
            let distance = cx.dims().sub(limit, start);
            let steps = cx.dims().ceil_div(distance, delta);
            cx.max(steps, Dim::Known(0))
        }
        _ => count_floats(elem, start, limit, delta).map_or(Dim::Unknown, Dim::Known),
    };
    cx.set_shape(0, [count]);
    Ok(())
}

fn check(cx: &mut Cx<'_, '_>) -> Outcome {
    let ranks: Option<[usize; 3]> = match [0, 1, 2].map(|index| cx.constant(index)) {
        [Some(start), Some(limit), Some(delta)] => Some([start, limit, delta].map(|one| one.dims().len())),
        _ => None,
    };
    if ranks.is_some_and(|ranks| ranks != [0; 3]) {
        return Err(cx.fail(&WRONG_RANK, "start, limit and step must be scalars"));
    }
    Ok(())
}

/// The one element of an input.
fn single(cx: &mut Cx<'_, '_>, index: usize) -> Outcome<Elem> {
    match cx.content(index).as_deref() {
        Some(&[Elem::Unknown]) => Err(Stop::Unknown),
        Some(&[elem]) => Ok(elem),
        _ => Err(Stop::Unknown),
    }
}

/// How many steps fit, if all ways to compute that agree.
fn count_floats(elem: ElemType, start: Elem, limit: Elem, delta: Elem) -> Option<i64> {
    let (start, limit, delta) = (start.to_f64()?, limit.to_f64()?, delta.to_f64()?);
    let double = ((limit - start) / delta).ceil();
    let agree = match elem {
        ElemType::Double => true,
        ElemType::Float => {
            let distance = limit as f32 - start as f32;
            let single = (distance / delta as f32).ceil();
            [(f64::from(distance) / delta).ceil(), f64::from(single)].iter().all(|&other| other == double)
        }
        _ => false,
    };
    let count = double.max(0.0);
    (agree && delta != 0.0 && double.is_finite() && count < 1e15).then_some(count as i64)
}

/// Integers are followed; floats that are none are left out, as runtimes differ in adding them up. Some add the
/// step again and again, and others multiply it, so nothing is known of floats from where either way rounds.
fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let Some(&[Dim::Known(count)]) = cx.output_ty(0).dims() else { return Err(Stop::Unknown) };
    let (start, delta) = (single(cx, 0)?.dim(), single(cx, 2)?.dim());
    let elem = cx.elem(0)?;
    if count > i64::try_from(cx.content_limit()).unwrap_or(i64::MAX) {
        return Err(Stop::Unknown);
    }
    let mut is_exact = true;
    let elems: Vec<Elem> = (0..count)
        .map(|step| {
            if !is_exact {
                return Elem::Unknown;
            }
            let distance = cx.dims().mul(delta, Dim::Known(step));
            let value = cx.dims().add(start, distance);
            let value = fit(cx, elem, Elem::int(value));
            let holds_both = value != Elem::Unknown && fit(cx, elem, Elem::int(distance)) != Elem::Unknown;
            is_exact = holds_both || !elem.is_float();
            if is_exact { value } else { Elem::Unknown }
        })
        .collect();
    cx.set_content(0, elems);
    Ok(())
}
