//! Arithmetic, element by element, and what else is mathematics.

pub(super) mod binary;
mod bit_cast;
pub(crate) mod cast;
mod clip;
pub(super) mod cumulative;
mod prelu;
pub(super) mod softmax;
mod swiglu;
pub(super) mod unary;
pub(super) mod variadic;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] =
    &[bit_cast::KERNELS, clip::KERNELS, prelu::KERNELS, swiglu::KERNELS];
