//! Operators of neural networks.

pub(super) mod attention;
pub(super) mod causal_conv_with_state;
pub(super) mod group_normalization;
pub(super) mod heads;
pub(super) mod layer_normalization;
pub(super) mod linear_attention;
pub(super) mod loss;
pub(super) mod rotary_embedding;
