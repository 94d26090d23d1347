//! Arithmetic, element by element, and what else is mathematics.

pub(super) mod binary;
mod bit_cast;
pub(super) mod cast;
mod clip;
pub(super) mod cumulative;
mod prelu;
pub(super) mod softmax;
mod swiglu;
pub(super) mod unary;
pub(super) mod variadic;

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[bit_cast::RULES, clip::RULES, prelu::RULES, swiglu::RULES];
