//! Elementwise operators.

pub(super) mod cast;
pub(super) mod celu;
pub(super) mod clip;
pub(super) mod gelu;
pub(super) mod softmax;
