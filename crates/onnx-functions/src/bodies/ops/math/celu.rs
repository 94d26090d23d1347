//! `Celu`: `alpha * Elu (x / alpha)`, which is `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`.
//!
//! `alpha` is a constant of rank 0. That of the reference has rank 1, which changes the rank of a result of rank 0.

use onnx_ir::Attribute;
use onnx_schema::{attr, op};

use crate::bodies::draft::{Draft, Made, V};

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (x, elem) = (draft.input(0)?, draft.elem(0)?);
    let alpha = draft.float(attr::ALPHA)?;
    let alpha = draft.number(elem, f64::from(alpha))?;
    let scaled = draft.div(x, alpha)?;
    let elu = draft.op(op::ELU, &[scaled], vec![Attribute::new(attr::ALPHA, 1.0_f32)])?;
    Ok(vec![draft.mul(alpha, elu)?])
}
