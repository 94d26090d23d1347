//! Quantization and what works on quantized tensors.

mod dynamic_quantize_linear;
mod linear;

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] =
    &[dynamic_quantize_linear::RULES, linear::DEQUANTIZE, linear::QUANTIZE];
