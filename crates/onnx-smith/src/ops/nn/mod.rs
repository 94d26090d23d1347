//! Layers of neural networks.

mod attention;
mod batch_normalization;
mod causal_conv_with_state;
mod conv;
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

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] = &[
    attention::RECIPES,
    batch_normalization::RECIPES,
    causal_conv_with_state::RECIPES,
    conv::RECIPES,
    conv_transpose::RECIPES,
    deform_conv::RECIPES,
    global_pool::RECIPES,
    layer_normalization::RECIPES,
    linear_attention::RECIPES,
    loss::RECIPES,
    max_roi_pool::RECIPES,
    max_unpool::RECIPES,
    non_max_suppression::RECIPES,
    normalization::RECIPES,
    pool::RECIPES,
    roi_align::RECIPES,
    rotary_embedding::RECIPES,
];
