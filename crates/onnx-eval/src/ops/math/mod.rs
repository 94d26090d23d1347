//! Arithmetic, element by element, and what else is mathematics.

pub(super) mod binary;
pub(super) mod cast;
mod clip;
pub(super) mod cumulative;
mod prelu;
pub(super) mod softmax;
pub(super) mod unary;
pub(super) mod variadic;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] = &[clip::KERNELS, prelu::KERNELS];
