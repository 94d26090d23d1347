//! `Celu`: `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`, which is `alpha * Elu (x / alpha)` for a positive `alpha`.
//!
//! `alpha` is a constant of rank 0. This body is used in place of those of the reference, of which that of version 28
//! does not depend on the node. Those use `Elu` for a negative `alpha`, too, for which it computes something else, and
//! that of version 12 has a constant of rank 1, which changes the rank of a result of rank 0.

use onnx_ir::Attribute;
use onnx_schema::{attr, op};

use crate::bodies::draft::{Draft, Made, V};

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (x, elem) = (draft.input(0)?, draft.elem(0)?);
    let value = draft.float(attr::ALPHA)?;
    let alpha = draft.number(elem, f64::from(value))?;
    let scaled = draft.div(x, alpha)?;
    if value > 0.0 {
        let elu = draft.op(op::ELU, &[scaled], vec![Attribute::new(attr::ALPHA, 1.0_f32)])?;
        return Ok(vec![draft.mul(alpha, elu)?]);
    }
    let (zero, one) = (draft.number(elem, 0.0)?, draft.number(elem, 1.0)?);
    let power = draft.exp(scaled)?;
    let rest = draft.sub(power, one)?;
    let bent = draft.mul(alpha, rest)?;
    let low = draft.op(op::MIN, &[zero, bent], Vec::new())?;
    let high = draft.maximum(zero, x)?;
    Ok(vec![draft.add(high, low)?])
}
