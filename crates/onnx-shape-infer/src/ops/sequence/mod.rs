//! Sequences and optional values.

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[];
