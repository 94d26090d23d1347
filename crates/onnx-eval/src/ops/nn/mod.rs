//! Layers of neural networks.

mod attention;
mod batch_normalization;
mod causal_conv_with_state;
pub(crate) mod conv;
mod conv_transpose;
mod deform_conv;
mod global_pool;
mod layer_normalization;
mod linear_attention;
mod loss;
mod max_roi_pool;
mod max_unpool;
mod non_max_suppression;
mod normalization;
mod pool;
mod roi_align;
mod rotary_embedding;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    attention::KERNELS,
    batch_normalization::KERNELS,
    causal_conv_with_state::KERNELS,
    conv::CONV,
    conv::CONV_INTEGER,
    conv::Q_LINEAR_CONV,
    conv_transpose::KERNELS,
    deform_conv::KERNELS,
    global_pool::GLOBAL_AVERAGE_POOL,
    global_pool::GLOBAL_LP_POOL,
    global_pool::GLOBAL_MAX_POOL,
    layer_normalization::KERNELS,
    linear_attention::KERNELS,
    loss::NEGATIVE_LOG_LIKELIHOOD_LOSS,
    loss::SOFTMAX_CROSS_ENTROPY_LOSS,
    max_roi_pool::KERNELS,
    max_unpool::KERNELS,
    non_max_suppression::KERNELS,
    normalization::GROUP_NORMALIZATION,
    normalization::INSTANCE_NORMALIZATION,
    normalization::LP_NORMALIZATION,
    normalization::LRN,
    normalization::MEAN_VARIANCE_NORMALIZATION,
    normalization::RMS_NORMALIZATION,
    pool::AVERAGE_POOL,
    pool::LP_POOL,
    pool::MAX_POOL,
    roi_align::KERNELS,
    rotary_embedding::KERNELS,
];
