//! Comparison, logic and bits, element by element.

pub(super) mod bits;
mod choose;
pub(super) mod compare;

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[choose::RULES];
