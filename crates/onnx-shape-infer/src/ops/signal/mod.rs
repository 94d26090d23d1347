//! Signals, images and text.

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[];
