//! Steps of training.

mod optimizers;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] =
    &[optimizers::ADAGRAD, optimizers::ADAM, optimizers::MOMENTUM];
