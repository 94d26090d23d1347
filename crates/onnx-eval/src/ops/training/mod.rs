//! Steps of training, and previews.

mod flex_attention;
mod optimizers;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] =
    &[flex_attention::KERNELS, optimizers::ADAGRAD, optimizers::ADAM, optimizers::MOMENTUM];
