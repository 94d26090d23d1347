//! Operators that make tensors out of few inputs or none.

mod constant;
mod constant_of_shape;
mod eye_like;
pub(super) mod random;
mod range;
pub(super) mod window;

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] =
    &[constant::RULES, constant_of_shape::RULES, eye_like::RULES, range::RULES];
