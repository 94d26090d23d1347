//! Numbers as small integers with a scale and a zero point.

pub(crate) mod dynamic_quantize_linear;
pub(crate) mod linear;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] =
    &[dynamic_quantize_linear::KERNELS, linear::DEQUANTIZE, linear::QUANTIZE];
