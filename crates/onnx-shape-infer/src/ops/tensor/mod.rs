//! Operators that move, join and cut tensors.

mod concat;
mod reshape;
mod shape;

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[concat::RULES, reshape::RULES, shape::RULES];
