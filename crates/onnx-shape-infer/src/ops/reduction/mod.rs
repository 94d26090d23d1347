//! Reductions along axes.

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[];
