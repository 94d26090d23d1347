//! Products of matrices, and what is made of them.

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[];
