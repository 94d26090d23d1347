//! Numbers as small integers with a scale and a zero point.

mod dynamic_quantize_linear;
pub(super) mod linear;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] =
    &[dynamic_quantize_linear::KERNELS, linear::DEQUANTIZE, linear::QUANTIZE];
