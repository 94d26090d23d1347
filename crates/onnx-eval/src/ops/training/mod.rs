//! Steps of training, and previews.

mod derivatives;
mod flex_attention;
mod gradient;
mod optimizers;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    flex_attention::KERNELS,
    gradient::KERNELS,
    optimizers::ADAGRAD,
    optimizers::ADAM,
    optimizers::MOMENTUM,
];
