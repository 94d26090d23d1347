//! `Celu`: `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`, which is `alpha * Elu (x / alpha)` for a positive `alpha`.
//!
//! `alpha` is a constant of rank 0. This body is used in place of those of the reference, of which that of version 28
//! does not depend on the node. Those use `Elu` for a negative `alpha`, too, for which it computes something else, and
//! that of version 12 has a constant of rank 1, which changes the rank of a result of rank 0. In the body of a function
//! that gives `alpha`, it is the formula for operands of any type.

use onnx_ir::Attribute;
use onnx_schema::{AttrKind, attr, op};

use crate::bodies::draft::{Draft, Made, V};

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    if draft.is_reference(attr::ALPHA) {
        return general(draft);
    }
    let (x, elem) = (draft.input(0)?, draft.elem(0)?);
    let value = draft.float(attr::ALPHA)?;
    let alpha = draft.number(elem, f64::from(value))?;
    if value > 0.0 {
        let scaled = draft.div(x, alpha)?;
        let elu = draft.op(op::ELU, &[scaled], vec![Attribute::new(attr::ALPHA, 1.0_f32)])?;
        return Ok(vec![draft.mul(alpha, elu)?]);
    }
    let (zero, one) = (draft.number(elem, 0.0)?, draft.number(elem, 1.0)?);
    formula(draft, x, [alpha, zero, one])
}

/// The body for an `alpha` and operands that are not known.
fn general(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let x = draft.input(0)?;
    let values = [
        Attribute::reference(attr::VALUE_FLOAT, attr::ALPHA, AttrKind::Float),
        Attribute::new(attr::VALUE_FLOAT, 0.0_f32),
        Attribute::new(attr::VALUE_FLOAT, 1.0_f32),
    ];
    let mut numbers = [x; 3];
    for (number, value) in numbers.iter_mut().zip(values) {
        let constant = draft.op(op::CONSTANT, &[], vec![value])?;
        *number = draft.op(op::CAST_LIKE, &[constant, x], Vec::new())?;
    }
    formula(draft, x, numbers)
}

fn formula(draft: &mut Draft<'_>, x: V, [alpha, zero, one]: [V; 3]) -> Made<Vec<V>> {
    let scaled = draft.div(x, alpha)?;
    let power = draft.exp(scaled)?;
    let rest = draft.sub(power, one)?;
    let bent = draft.mul(alpha, rest)?;
    let low = draft.op(op::MIN, &[zero, bent], Vec::new())?;
    let high = draft.maximum(zero, x)?;
    Ok(vec![draft.add(high, low)?])
}
