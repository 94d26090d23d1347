//! Comparison, logic and bits, element by element.

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[];
