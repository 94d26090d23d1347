//! The operators of training and the preview domains.

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[];
