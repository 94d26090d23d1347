//! Layers of neural networks.

pub(super) mod convolution;
pub(super) mod normalization;
pub(super) mod pool;
