//! Quantization.

pub(super) mod linear;
