//! Layers of neural networks.

mod batch_normalization;
mod conv;
mod conv_transpose;
mod global_pool;
mod layer_normalization;
mod loss;
mod normalization;
mod pool;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    batch_normalization::KERNELS,
    conv::CONV,
    conv::CONV_INTEGER,
    conv::Q_LINEAR_CONV,
    conv_transpose::KERNELS,
    global_pool::GLOBAL_AVERAGE_POOL,
    global_pool::GLOBAL_LP_POOL,
    global_pool::GLOBAL_MAX_POOL,
    layer_normalization::KERNELS,
    loss::NEGATIVE_LOG_LIKELIHOOD_LOSS,
    loss::SOFTMAX_CROSS_ENTROPY_LOSS,
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
