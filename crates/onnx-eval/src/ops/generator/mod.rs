//! Operators that make tensors out of few inputs or none.

mod constant;
mod constant_of_shape;
mod eye_like;
pub(super) mod mersenne;
pub(super) mod random;
mod range;
pub(super) mod window;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] =
    &[constant::KERNELS, constant_of_shape::KERNELS, eye_like::KERNELS, range::KERNELS];
