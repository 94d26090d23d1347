//! Operators that make tensors out of few inputs or none.

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[];
