//! Layers of neural networks.

mod batch_normalization;
mod conv;
mod global_pool;
mod layer_normalization;
mod normalization;
mod pool;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    batch_normalization::KERNELS,
    conv::CONV,
    global_pool::GLOBAL_AVERAGE_POOL,
    global_pool::GLOBAL_LP_POOL,
    global_pool::GLOBAL_MAX_POOL,
    layer_normalization::KERNELS,
    normalization::GROUP_NORMALIZATION,
    normalization::INSTANCE_NORMALIZATION,
    normalization::LP_NORMALIZATION,
    normalization::LRN,
    normalization::MEAN_VARIANCE_NORMALIZATION,
    normalization::RMS_NORMALIZATION,
    pool::AVERAGE_POOL,
    pool::LP_POOL,
    pool::MAX_POOL,
];
