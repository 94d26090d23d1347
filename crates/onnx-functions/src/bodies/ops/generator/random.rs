//! `Bernoulli`: each element `x` becomes 1 with probability `x`, and 0 otherwise: the result is whether a uniform
//! number in [0, 1) is less than `x`.
//!
//! The body of the reference compares in the opposite direction, so that an element becomes 1 with probability `1 - x`.

use onnx_ir::Attribute;
use onnx_schema::{attr, op};

use crate::bodies::draft::{Draft, Made, V};

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (x, elem) = (draft.input(0)?, draft.elem(0)?);
    let to = draft.elem_attribute(attr::DTYPE)?.unwrap_or(elem);
    let mut attributes = vec![
        Attribute::new(attr::DTYPE, i64::from(elem.code())),
        Attribute::new(attr::HIGH, 1.0_f32),
        Attribute::new(attr::LOW, 0.0_f32),
    ];
    if let Some(seed) = draft.optional_float(attr::SEED)? {
        attributes.push(Attribute::new(attr::SEED, seed));
    }
    let random = draft.op(op::RANDOM_UNIFORM_LIKE, &[x], attributes)?;
    let is_one = draft.less(random, x)?;
    Ok(vec![draft.cast_to(is_one, to)?])
}
