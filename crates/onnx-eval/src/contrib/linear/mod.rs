//! Products of matrices.

pub(super) mod block_quantized;
pub(super) mod product;
