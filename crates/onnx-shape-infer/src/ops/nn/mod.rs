//! Layers of neural networks.

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[];
