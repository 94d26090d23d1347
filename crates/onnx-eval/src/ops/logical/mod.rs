//! Comparison, logic and bits, element by element.

pub(super) mod bits;
mod choose;
pub(super) mod compare;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] = &[choose::KERNELS];
