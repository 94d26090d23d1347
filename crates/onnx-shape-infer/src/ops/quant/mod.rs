//! Quantization and what works on quantized tensors.

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[];
