//! `Range`: `start + i * delta` for each index below `(limit - start) / delta`, rounded up.
//!
//! The number of elements of floats is computed in `double`, and of integers exactly; elements of 16-bit floats are
//! computed in the `stash_type`. This body is used in place of those of the reference, of which that of version 11 does
//! not depend on the node. Those compute the number of elements in `float`, whose quotients are wrong beyond 2²⁴ and
//! near whole numbers, accumulate rounding errors by adding `delta` repeatedly in a `Loop`, and do not determine the
//! type of an empty result.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::bodies::draft::{Draft, Made, V};

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (start, limit, delta) = (draft.input(0)?, draft.input(1)?, draft.input(2)?);
    let elem = draft.elem(0)?;
    let count = if elem.is_float() {
        let [start, limit, delta] = in_type(draft, [start, limit, delta], elem, ElemType::Double)?;
        let distance = draft.sub(limit, start)?;
        let count = draft.div(distance, delta)?;
        let count = draft.ceil(count)?;
        let zero = draft.number(ElemType::Double, 0.0)?;
        let count = draft.maximum(count, zero)?;
        draft.cast_to(count, ElemType::Int64)?
    } else {
        let operands = in_type(draft, [start, limit, delta], elem, ElemType::Int64)?;
        whole_count(draft, operands)?
    };
    // Runtimes and the bodies of other operators also have operands of one element and rank 1: `AffineGrid` has.
    let one = draft.ints(&[1])?;
    let count = draft.op(op::RESHAPE, &[count, one], Vec::new())?;
    let places = draft.places(count)?;
    let stash = match elem {
        ElemType::Float16 | ElemType::Bfloat16 => {
            draft.elem_attribute(attr::STASH_TYPE)?.unwrap_or(ElemType::Float)
        }
        // Before version 14, arithmetic does not have all types of integers; the products are equal modulo their size.
        _ if !draft.allows(op::MUL, 0, elem) => ElemType::Int64,
        _ => elem,
    };
    let places = draft.cast(places, ElemType::Int64, stash)?;
    let [start, _, delta] = in_type(draft, [start, limit, delta], elem, stash)?;
    let steps = draft.mul(places, delta)?;
    let elements = draft.add(start, steps)?;
    Ok(vec![draft.cast(elements, stash, elem)?])
}

fn in_type(draft: &mut Draft<'_>, operands: [V; 3], from: ElemType, to: ElemType) -> Made<[V; 3]> {
    let [start, limit, delta] = operands;
    Ok([draft.cast(start, from, to)?, draft.cast(limit, from, to)?, draft.cast(delta, from, to)?])
}

/// The quotient of integers rounded up, at least 0. `Div` rounds toward 0, so 1 is added where a rest has the sign of the step.
fn whole_count(draft: &mut Draft<'_>, [start, limit, delta]: [V; 3]) -> Made {
    let distance = draft.sub(limit, start)?;
    let quotient = draft.div(distance, delta)?;
    let whole = draft.mul(quotient, delta)?;
    let rest = draft.sub(distance, whole)?;
    let zero = draft.int64(0)?;
    let (up, forward) = (draft.less(zero, rest)?, draft.less(zero, delta)?);
    let same = draft.op(op::XOR, &[up, forward], Vec::new())?;
    let same = draft.not(same)?;
    let is_exact = draft.equal(rest, zero)?;
    let has_rest = draft.not(is_exact)?;
    let is_short = draft.and(same, has_rest)?;
    let one = draft.cast_to(is_short, ElemType::Int64)?;
    let count = draft.add(quotient, one)?;
    let is_none = draft.less(count, zero)?;
    draft.select(is_none, zero, count)
}
