//! Operators on quantized tensors.

pub(super) mod elementwise;
pub(super) mod linear;
pub(super) mod order;
